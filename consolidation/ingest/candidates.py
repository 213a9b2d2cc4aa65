"""Candidates for memories, and the check of those that a model states.

These are the two checks of any draft, except that a memory may omit anything: a program looks up
values and names, and a model checks texts that are not verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal

import numpy as np

from slowwave.consolidation.model.answer_forms import StatedMemory
from slowwave.consolidation.model.objections import plain
from slowwave.consolidation.model.prompts import DraftToCheck
from slowwave.consolidation.proposals import Source, Usage
from slowwave.consolidation.text.invisible import find_invisible
from slowwave.consolidation.text.tokens import is_relative, split_sentences
from slowwave.consolidation.writing.draft_check import find_text_faults
from slowwave.store.intake import KeptMessage
from slowwave.store.records import UNDATED

from .options import ReadingOptions
from .parts import Part, PlacedMessage

# The limits of a memory's length, in characters.
MIN_LENGTH, MAX_LENGTH = 10, 500
# The day before a text whose meaning depends on it.
_DATE_MARK = re.compile(r"\[\d{4}-\d{2}-\d{2}\] ")
# Only the quoted sentences of a longer message are shown, with this many around them.
_MAX_CHARACTERS = 1_500
_AROUND = 2
# A shorter quote is found as whole words only: "uv" is within many.
_MIN_PIECE = 6
_WHITESPACE = re.compile(r"\s+")
_MAX_TAGS = 5


@dataclass(frozen=True, kw_only=True)
class CitedMessage(PlacedMessage):
    """A message, and the quotes of it that support a memory."""

    quotes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """A text to remember."""

    content: str
    kind: str
    importance: int
    tags: tuple[str, ...] = ()
    cited: tuple[CitedMessage, ...] = ()
    subject: str = ""
    # Why it is not remembered; None if it is.
    why: str | None = None
    # What a model must confirm; None if the text is verbatim.
    draft: DraftToCheck | None = field(default=None, compare=False)


@dataclass(frozen=True)
class PartReading:
    """A part of a conversation, and what to remember of it."""

    part: Part
    # An unread part stays queued in the file; `queued`: without a model. `planned`: in a dry run.
    state: Literal["read", "failed", "skipped", "queued", "planned"] = "read"
    candidates: tuple[Candidate, ...] = ()
    # Why the model chose them; empty if it does not say.
    reasoning: str = ""
    # An unreadable answer, which is kept.
    raw: str | None = None
    why: str | None = None
    usage: Usage = field(default_factory=Usage)
    # The estimated tokens of a planned question.
    tokens: int = 0


def messages_behind(
    cited: Iterable[CitedMessage], conversation: str, model: str | None
) -> tuple[KeptMessage, ...]:
    """Return the cited messages as the file keeps them, each once."""
    # A long message may be cited in several pieces.
    by_message = (list(pieces) for _, pieces in groupby(cited, key=lambda piece: piece.chain))
    return tuple(
        KeptMessage(
            chain=pieces[0].chain,
            conversation=conversation,
            place=pieces[0].place,
            role=pieces[0].role,
            speaker=pieces[0].speaker,
            said_at=pieces[0].said_at,
            content="\n[...]\n".join(dict.fromkeys(piece.text for piece in pieces)),
            quotes=tuple(dict.fromkeys(quote for piece in pieces for quote in piece.quotes)),
            model=model,
        )
        for pieces in by_message
    )


def latest_moment(messages: Iterable[PlacedMessage]) -> str | None:
    """Return the time of the last message; None if none has one."""
    return max(filter(None, (message.said_at for message in messages)), default=None)


def _with_day(text: str, moment: str | None) -> str:
    """Return a text with its day in front if its meaning depends on the day.

    moment: None if unknown: no day is better than a wrong one.
    """
    if moment is None or _DATE_MARK.match(text) or not is_relative(text):
        return text
    return f"[{moment[:10]}] {text}"


def within_limits(
    candidates: Sequence[Candidate], options: ReadingOptions
) -> tuple[Candidate, ...]:
    """Return the candidates; those beyond the limits are not remembered."""
    min_importance, limit = options.min_importance, options.max_facts
    important = [
        candidate
        for candidate in candidates
        if candidate.why is None and candidate.importance >= min_importance
    ]
    best = sorted(important, key=lambda candidate: -candidate.importance)[:limit]

    def limited(candidate: Candidate) -> Candidate:
        if candidate.why is not None or candidate in best:
            return candidate
        why = f"only the {limit} most important memories of a part are kept"
        if candidate.importance < min_importance:
            why = f"its importance is {candidate.importance}, but must be at least {min_importance}"
        return replace(candidate, why=why)

    return tuple(map(limited, candidates))


def check_stated(stated: StatedMemory, part: Part) -> Candidate:
    """Return a stated memory as a candidate, with its faults or what a model must confirm."""
    cited = tuple(_cited(stated.quotes, part))
    content = _with_day(_WHITESPACE.sub(" ", stated.content.strip()), latest_moment(cited))
    tags = tuple(filter(None, dict.fromkeys(tag.strip() for tag in stated.tags)))[:_MAX_TAGS]
    subject = stated.subject.strip()
    candidate = Candidate(content, stated.kind, stated.importance, tags, cited, subject)
    if fault := _fault_of_form(stated, candidate):
        return replace(candidate, why=fault)
    sources = [_source(number, message) for number, message in enumerate(cited)]
    if faults := find_text_faults(content, sources):
        return replace(candidate, why="; ".join(faults))
    if any(plain(content).strip(".") in plain(source.text) for source in sources):
        return candidate
    return replace(candidate, draft=DraftToCheck("merge", sources, content))


def _fault_of_form(stated: StatedMemory, candidate: Candidate) -> str | None:
    length = len(candidate.content)
    if not MIN_LENGTH <= length <= MAX_LENGTH:
        return f"it has {length} characters, not {MIN_LENGTH} to {MAX_LENGTH}"
    if not 1 <= stated.importance <= 5:
        return f"its importance is {stated.importance}, not 1 to 5"
    if not candidate.cited:
        return "it quotes no message"
    # All text of it that is kept.
    text = "\n".join([_WHITESPACE.sub(" ", stated.content), stated.subject, *stated.tags])
    if hidden := find_invisible(text, [message.text for message in candidate.cited]):
        return f"it has an invisible character: {hidden}"
    return None


def _cited(quotes: Sequence[str], part: Part) -> Iterator[CitedMessage]:
    """Yield the messages that contain a quote."""
    quoted = {quote: words for quote in quotes if (words := plain(quote).strip(" .\"'"))}
    for message in part.new:
        text = plain(message.text)
        own = tuple(quote for quote, words in quoted.items() if _is_quoted(words, text))
        if own:
            yield CitedMessage(**vars(message), quotes=own)


def _is_quoted(words: str, text: str) -> bool:
    if len(words) >= _MIN_PIECE:
        return words in text
    return re.search(rf"(?<![a-z0-9]){re.escape(words)}(?![a-z0-9])", text) is not None


def _source(number: int, message: CitedMessage) -> Source:
    """Return a message as a source, with its speaker, and without a vector."""
    text = f"{message.sender}: {_near_quotes(message.text, message.quotes)}"
    vector = np.zeros(1, dtype=np.float32)
    return Source(f"q{number}", text, message.said_at or UNDATED, vector)


def _near_quotes(text: str, quotes: Sequence[str]) -> str:
    """Return a text; of a long one, the sentences around the quotes."""
    if len(text) <= _MAX_CHARACTERS:
        return text
    sentences = split_sentences(text)
    words = list(map(plain, quotes))
    places = {
        place + step
        for place, sentence in enumerate(map(plain, sentences))
        if any(word in sentence or sentence in word for word in words)
        for step in range(-_AROUND, _AROUND + 1)
    }
    excerpt = " ".join(sentence for place, sentence in enumerate(sentences) if place in places)
    return excerpt or text[:_MAX_CHARACTERS]
