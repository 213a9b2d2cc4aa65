"""What a plan depends on besides the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowwave.consolidation.proposals import OPERATIONS, Operation


@dataclass(frozen=True)
class PlanOptions:
    """What a plan depends on besides the file."""

    # The writer's name and the hash of its instructions per operation: part of every key.
    writer: str
    prompt_hashes: Mapping[Operation, str]
    # Whether the writer needs no model, so that the plan can show what it will write.
    extractive: bool
    only: frozenset[Operation] = frozenset(OPERATIONS)
    include_protected: bool = False
    # The keys of decisions that stand.
    remembered: frozenset[str] = frozenset()
