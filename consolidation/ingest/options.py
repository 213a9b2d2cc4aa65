"""How a conversation is read, and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Days until a memory of each kind expires: what an agent is told to do holds longest.
DEFAULT_DAYS: dict[str, int | None] = {
    "instruction": 365,
    "preference": 180,
    "fact": 90,
    "context": 30,
}
# Later than this no date is written with four figures.
MOST_DAYS = 365 * 1_000
MAX_FACTS = 10
# Of a whole session that is told in a few words.
MAX_FACTS_DISTILLED = 3


@dataclass(frozen=True)
class IngestOptions:
    """How a conversation is read, and what is kept of it."""

    tenant: str = "default"
    # How many messages at the end of a conversation are read that is met for the first time.
    lookback: int = 8
    # Read every message that was not read before.
    whole: bool = False
    # Read every message, and keep of the whole conversation no more than `max_facts`.
    distill: bool = False
    # Read what was read before, too.
    again: bool = False
    # The most memories of one part, or of a conversation that is distilled.
    max_facts: int = MAX_FACTS
    min_importance: int = 2
    # Days by kind; None: it never expires.
    days: Mapping[str, int | None] = field(default_factory=lambda: dict(DEFAULT_DAYS))
    # The user's own, placed before those that a model gets anyway.
    instructions: str = ""
    # Where the memories come from; None: the format's name.
    source: str | None = None
    # Whose memories are counted before and after; none: the tenant's.
    counted: tuple[str, ...] = ()
    # In a dry run: ask the model all the same.
    ask: bool = False
    # All options as given, for the record of the run.
    shown: Mapping[str, Any] = field(default_factory=dict)
