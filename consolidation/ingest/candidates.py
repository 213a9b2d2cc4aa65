"""Candidates for memories: a text, and the messages that support it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from slowwave.consolidation.facts.reading import read
from slowwave.consolidation.proposals import Usage
from slowwave.store.intake import KeptMessage

from .parts import Part, PlacedMessage

# The day before a text whose meaning depends on it.
_DATE_MARK = re.compile(r"\[\d{4}-\d{2}-\d{2}\] ")
# The limits of a memory's length, in characters.
MIN_LENGTH, MAX_LENGTH = 10, 500


@dataclass(frozen=True)
class Citation:
    """A message, and the quotes of it that support a memory."""

    said: PlacedMessage
    quotes: tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """A text to remember."""

    content: str
    kind: str
    importance: int
    tags: tuple[str, ...]
    citations: tuple[Citation, ...]
    subject: str = ""

    def messages(self, part: Part, model: str | None) -> list[KeptMessage]:
        """Return its messages as the file keeps them, each once."""
        by_chain: dict[str, list[Citation]] = {}
        for citation in self.citations:
            by_chain.setdefault(citation.said.chain, []).append(citation)
        return [_kept(cited, part, model) for cited in by_chain.values()]


def _kept(citations: Sequence[Citation], part: Part, model: str | None) -> KeptMessage:
    first, message = citations[0].said, citations[0].said.message
    # The pieces of a long message that are quoted.
    texts = dict.fromkeys(citation.said.message.text for citation in citations)
    return KeptMessage(
        first.chain,
        part.conversation,
        first.place,
        message.role,
        message.speaker,
        message.said_at,
        "\n[...]\n".join(texts),
        tuple(dict.fromkeys(quote for citation in citations for quote in citation.quotes)),
        model,
    )


@dataclass(frozen=True)
class RejectedText:
    """A text that is not remembered, and why."""

    content: str
    why: str


@dataclass(frozen=True)
class PartRead:
    """A part of a conversation, and what to remember of it."""

    part: Part
    state: Literal["read", "failed", "skipped", "planned"] = "read"
    candidates: tuple[Candidate, ...] = ()
    turned_down: tuple[RejectedText, ...] = ()
    # An unreadable answer, which is kept.
    raw: str | None = None
    why: str | None = None
    usage: Usage = field(default_factory=Usage)


def latest_moment(citations: Iterable[Citation]) -> str | None:
    """Return the time of the last message; None if none has one."""
    times = [citation.said.message.said_at for citation in citations]
    return max((time for time in times if time is not None), default=None)


def with_day(text: str, moment: str | None) -> str:
    """Return a text with its day in front if its meaning depends on the day.

    moment: None if unknown: no day is better than a wrong one.
    """
    if moment is None or _DATE_MARK.match(text) or not read(text).deictic:
        return text
    return f"[{moment[:10]}] {text}"
