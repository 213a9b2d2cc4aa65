"""Parts of conversations that wait in the file for a model, with all that it takes to read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from slowwave.store.conversations.messages import Message
from slowwave.store.errors import UnusableFile
from slowwave.store.intake import WaitingPart

from .options import DEFAULT_DAYS, MAX_FACTS, MOST_DAYS, IngestOptions
from .parts import Part, Said


class _KeptOptions(BaseModel):
    """What of the options decides how a part is read; rows of before they were kept have none."""

    model_config = ConfigDict(extra="ignore", strict=True)

    again: bool = False
    distill: bool = False
    max_facts: int = Field(MAX_FACTS, ge=1)
    min_importance: int = Field(IngestOptions.min_importance, ge=1, le=5)
    days: dict[str, Annotated[int, Field(ge=1, le=MOST_DAYS)] | None] = Field(
        default_factory=lambda: dict(DEFAULT_DAYS)
    )
    instructions: str = ""
    source: str | None = None


def as_waiting(part: Part) -> dict[str, object]:
    """Return a part as what waits in the file: its messages, and how they are to be read."""
    options = _KeptOptions.model_validate(asdict(part.options))
    return {
        "format": part.format,
        "session": part.session,
        "said": [
            {"place": one.place, "chain": one.chain, "is_new": one.is_new} | vars(one.message)
            for one in part.said
        ],
        "options": options.model_dump(),
    }


def waiting_parts(
    waiting: Sequence[WaitingPart],
    options: IngestOptions,
    known: Callable[[Sequence[str]], frozenset[str]],
) -> list[Part]:
    """Return what waited in the file as parts, each read as was asked for first.

    Numbers are below nothing; what waits of a conversation that is to be distilled has one number.
    What was read since is only shown before the rest; where nothing else is left, there is no part.
    known: returns those of some hashes that were read. Raises `UnusableFile`.
    """
    numbers: dict[str, int] = {}
    parts = []
    for one in waiting:
        part = waiting_part(one, options, known)
        together = part.conversation if part.options.distill else one.id
        number = numbers.setdefault(together, -1 - len(numbers))
        if part.new:
            parts.append(replace(part, number=number))
    return parts


def _nothing(chains: Sequence[str]) -> frozenset[str]:
    return frozenset()


def waiting_part(
    one: WaitingPart,
    options: IngestOptions,
    known: Callable[[Sequence[str]], frozenset[str]] = _nothing,
) -> Part:
    """Return what waits in a row as a part, read as was asked for first.

    known: as in `waiting_parts`; without it, all that came to wait is new. Raises `UnusableFile`.
    """
    stated = one.content.get("said")
    values = [value for value in stated if isinstance(value, dict)] if stated else []
    read_as = replace(options, **_kept_options(one))
    read = known([str(value.get("chain")) for value in values])
    said = tuple(_said(value, frozenset() if read_as.again else read) for value in values)
    session = one.content.get("session")
    return Part(
        one.conversation,
        str(one.content.get("format", "")),
        session if isinstance(session, str) else None,
        said,
        read_as,
        one.id,
    )


def _kept_options(one: WaitingPart) -> dict[str, Any]:
    """Return how a part was to be read when it came. Raises `UnusableFile`."""
    try:
        return _KeptOptions.model_validate(one.content.get("options", {})).model_dump()
    except ValidationError as error:
        raise UnusableFile(
            f"The file is damaged: how {one.conversation} is to be read, which waits for a model, "
            "cannot be read.",
            f"It stands in waiting_messages, id {one.id}.",
        ) from error


def _said(value: Mapping[str, object], read: frozenset[str]) -> Said:
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
    return Said(place if isinstance(place, int) else 0, chain, message, is_new)
