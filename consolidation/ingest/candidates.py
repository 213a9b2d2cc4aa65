"""What may become a memory: a text, and the messages that it rests on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from slowwave.consolidation.facts.reading import read
from slowwave.consolidation.proposals import Usage
from slowwave.store.intake import KeptMessage

from .parts import Part, Said

# The day in front of a text that turns false without it.
_DATE_MARK = re.compile(r"\[\d{4}-\d{2}-\d{2}\] ")
# How long a memory may be, in characters.
SHORTEST, LONGEST = 10, 500


@dataclass(frozen=True)
class Citation:
    """A message, and the words of it that a memory rests on."""

    said: Said
    quotes: tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """A text that is to be remembered."""

    content: str
    kind: str
    importance: int
    tags: tuple[str, ...]
    citations: tuple[Citation, ...]
    subject: str = ""

    def messages(self, part: Part, model: str | None) -> list[KeptMessage]:
        """Return the messages that it rests on, as the file keeps them, each once."""
        by_chain: dict[str, list[Citation]] = {}
        for one in self.citations:
            by_chain.setdefault(one.said.chain, []).append(one)
        return [_kept(several, part, model) for several in by_chain.values()]


def _kept(several: Sequence[Citation], part: Part, model: str | None) -> KeptMessage:
    said, message = several[0].said, several[0].said.message
    # Of a long message the pieces that the words stand in.
    texts = dict.fromkeys(one.said.message.text for one in several)
    return KeptMessage(
        said.chain,
        part.conversation,
        said.place,
        message.role,
        message.speaker,
        message.said_at,
        "\n[...]\n".join(texts),
        tuple(dict.fromkeys(quote for one in several for quote in one.quotes)),
        model,
    )


@dataclass(frozen=True)
class TurnedDown:
    """A text that is not to be remembered, and why."""

    content: str
    why: str


@dataclass(frozen=True)
class PartRead:
    """A part of a conversation, and what was made of it."""

    part: Part
    state: Literal["read", "failed", "skipped", "planned"] = "read"
    candidates: tuple[Candidate, ...] = ()
    turned_down: tuple[TurnedDown, ...] = ()
    # What a model answered that nobody can read: it is kept as it is.
    raw: str | None = None
    why: str | None = None
    usage: Usage = field(default_factory=Usage)


def latest_moment(citations: Iterable[Citation]) -> str | None:
    """Return when the last of some messages was said; None where none of them says."""
    times = [one.said.message.said_at for one in citations]
    return max((one for one in times if one is not None), default=None)


def with_day(text: str, moment: str | None) -> str:
    """Return a text with the day on which it was said, where it turns false without it.

    moment: None where nobody knows when that was: no day is better than a wrong one.
    """
    if moment is None or _DATE_MARK.match(text) or not read(text).deictic:
        return text
    return f"[{moment[:10]}] {text}"
