"""Options for reading conversations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta

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
class ReadingOptions:
    """How a part of a conversation is read; the file keeps these with a queued part."""

    # Read messages again that were read before.
    again: bool = False
    # Read all messages, and keep at most `max_facts` of the whole conversation.
    distill: bool = False
    # The maximum number of memories per part, or per distilled conversation.
    max_facts: Annotated[int, Meta(ge=1)] = MAX_FACTS
    min_importance: Annotated[int, Meta(ge=1, le=5)] = 2
    # Days until expiry by kind; None never expires.
    days: Mapping[str, Annotated[int, Meta(ge=1, le=MAX_DAYS)] | None] = field(
        default_factory=lambda: dict(DEFAULT_DAYS)
    )
    # The user's instructions, placed before the prompt.
    instructions: str = ""
    # The source of the memories; None is the format's name.
    source: str | None = None


@dataclass(frozen=True)
class IngestOptions(ReadingOptions):
    """Options of an ingest."""

    tenant: str = "default"
    # The conversation whose queued parts are read; None reads those of all.
    conversation: str | None = None
    # How many messages at the end of a new conversation are read.
    lookback: int = 8
    # Read all unread messages.
    whole: bool = False
    # Leave secrets unmasked.
    allow_secrets: bool = False
    # The tenants whose memories are counted; () is `tenant`.
    counted: tuple[str, ...] = ()
    # Ask the model in a dry run, too.
    ask: bool = False
    # All options as given, for the record of the run.
    shown: Mapping[str, Any] = field(default_factory=dict)
