"""Options for reading a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Days until a memory of each kind expires.
DEFAULT_DAYS: dict[str, int | None] = {
    "instruction": 365,
    "preference": 180,
    "fact": 90,
    "context": 30,
}
# Beyond this, years have more than four digits.
MAX_DAYS = 365 * 1_000
MAX_FACTS = 10
# For a whole session that is distilled.
MAX_FACTS_DISTILLED = 3


@dataclass(frozen=True)
class IngestOptions:
    """Options for reading a conversation."""

    tenant: str = "default"
    # How many messages at the end of a new conversation are read.
    lookback: int = 8
    # Read all unread messages.
    whole: bool = False
    # Read all messages, and keep at most `max_facts` of the whole conversation.
    distill: bool = False
    # Read messages again that were read before.
    again: bool = False
    # The maximum number of memories per part, or per distilled conversation.
    max_facts: int = MAX_FACTS
    min_importance: int = 2
    # Days until expiry by kind; None never expires.
    days: Mapping[str, int | None] = field(default_factory=lambda: dict(DEFAULT_DAYS))
    # The user's instructions, placed before the prompt.
    instructions: str = ""
    # The source of the memories; None is the format's name.
    source: str | None = None
    # The tenants whose memories are counted; () is `tenant`.
    counted: tuple[str, ...] = ()
    # Ask the model in a dry run, too.
    ask: bool = False
    # All options as given, for the record of the run.
    shown: Mapping[str, Any] = field(default_factory=dict)
