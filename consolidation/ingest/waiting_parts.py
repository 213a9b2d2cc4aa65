"""Convert waiting conversation parts between rows and `Part`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from slowwave.store.conversations.messages import Message
from slowwave.store.errors import UnusableFile
from slowwave.store.intake import WaitingPart

from .options import DEFAULT_DAYS, MAX_DAYS, MAX_FACTS, IngestOptions
from .parts import Part, PlacedMessage


class _KeptOptions(BaseModel):
    """The options that a waiting row keeps; older rows have none."""

    model_config = ConfigDict(extra="ignore", strict=True)

    again: bool = False
    distill: bool = False
    max_facts: int = Field(MAX_FACTS, ge=1)
    min_importance: int = Field(IngestOptions.min_importance, ge=1, le=5)
    days: dict[str, Annotated[int, Field(ge=1, le=MAX_DAYS)] | None] = Field(
        default_factory=lambda: dict(DEFAULT_DAYS)
    )
    instructions: str = ""
    source: str | None = None


def as_waiting(part: Part) -> dict[str, object]:
    """Return the contents of a waiting row: the messages of a part, and its options."""
    options = _KeptOptions.model_validate(asdict(part.options))
    return {
        "format": part.format,
        "session": part.session,
        "said": [
            {"place": placed.place, "chain": placed.chain, "is_new": placed.is_new}
            | vars(placed.message)
            for placed in part.said
        ],
        "options": options.model_dump(),
    }


def waiting_parts(
    waiting: Sequence[WaitingPart],
    options: IngestOptions,
    known: Callable[[Sequence[str]], frozenset[str]],
) -> list[Part]:
    """Return waiting rows as parts with their own options.

    Their numbers are negative, and shared by the parts of a distilled conversation. Messages that
    were read since are context; rows without other messages give no part. known: returns which of
    these hashes were read. Raises `UnusableFile`.
    """
    numbers: dict[str, int] = {}
    parts = []
    for row in waiting:
        part = waiting_part(row, options, known)
        together = part.conversation if part.options.distill else row.id
        number = numbers.setdefault(together, -1 - len(numbers))
        if part.new:
            parts.append(replace(part, number=number))
    return parts


def _nothing(chains: Sequence[str]) -> frozenset[str]:
    return frozenset()


def waiting_part(
    row: WaitingPart,
    options: IngestOptions,
    known: Callable[[Sequence[str]], frozenset[str]] = _nothing,
) -> Part:
    """Return a waiting row as a part with its own options.

    known: as in `waiting_parts`; by default no message was read. Raises `UnusableFile`.
    """
    stated = row.content.get("said")
    values = [value for value in stated if isinstance(value, dict)] if stated else []
    read_as = replace(options, **_kept_options(row))
    read = known([str(value.get("chain")) for value in values])
    messages = tuple(_said(value, frozenset() if read_as.again else read) for value in values)
    session = row.content.get("session")
    return Part(
        row.conversation,
        str(row.content.get("format", "")),
        session if isinstance(session, str) else None,
        messages,
        read_as,
        row.id,
    )


def _kept_options(row: WaitingPart) -> dict[str, Any]:
    """Return the options of a waiting row. Raises `UnusableFile`."""
    try:
        return _KeptOptions.model_validate(row.content.get("options", {})).model_dump()
    except ValidationError as error:
        raise UnusableFile(
            f"The file is damaged: the options of the waiting part of {row.conversation} cannot be "
            "read.",
            f"They are in waiting_messages, id {row.id}.",
        ) from error


def _said(value: Mapping[str, object], read: frozenset[str]) -> PlacedMessage:
    def text(name: str) -> str | None:
        found = value.get(name)
        return found if isinstance(found, str) else None

    place, chain = value.get("place"), text("chain") or ""
    message = Message(
        "assistant" if value.get("role") == "assistant" else "user",
        text("text") or "",
        text("said_at"),
        text("speaker"),
    )
    is_new = bool(value.get("is_new", True)) and chain not in read
    return PlacedMessage(place if isinstance(place, int) else 0, chain, message, is_new)
