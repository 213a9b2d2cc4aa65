"""Check whether the quoted messages support a model's memory.

These are the two checks of any draft, except that a memory may omit anything: a program looks up
values and names, and a model checks texts that are not verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slowwave.consolidation.facts.reading import read
from slowwave.consolidation.model.answer_forms import StatedMemory
from slowwave.consolidation.model.prompts import DraftToCheck
from slowwave.consolidation.proposals import Source
from slowwave.consolidation.text.invisible import find_invisible
from slowwave.consolidation.writing.program_check import find_text_faults
from slowwave.store.records import UNDATED

from .candidates import (
    MAX_LENGTH,
    MIN_LENGTH,
    Candidate,
    Citation,
    RejectedText,
    latest_moment,
    with_day,
)
from .parts import Part, PlacedMessage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Of a longer message only the quoted sentences are shown, with this many around them.
_MAX_CHARACTERS = 1_500
_AROUND = 2
# The minimum length of a quote: "yes" is everywhere.
_MIN_QUOTE = 6
_BLANKS = re.compile(r"\s+")
_SPELLINGS = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"'})
_MAX_TAGS = 5


@dataclass(frozen=True)
class UncheckedCandidate:
    """A candidate that the checking model must confirm."""

    candidate: Candidate
    draft: DraftToCheck


def checked(stated: StatedMemory, part: Part) -> Candidate | UncheckedCandidate | RejectedText:
    """Return a stated memory as a candidate, as unchecked, or as rejected."""
    citations = tuple(_found(stated.quotes, part))
    content = with_day(_BLANKS.sub(" ", stated.content).strip(), latest_moment(citations))
    why = _out_of_form(stated, content)
    if why is None and not citations:
        why = "it quotes no message"
    quoted = [citation.said.message.text for citation in citations]
    if why is None and (hidden := find_invisible(_written(stated), quoted)):
        why = f"it has an invisible character: {hidden}"
    if why is not None:
        return RejectedText(content, why)
    sources = [_source(number, citation) for number, citation in enumerate(citations)]
    faults = find_text_faults(content, sources)
    if faults:
        return RejectedText(content, "; ".join(faults))
    tags = tuple(dict.fromkeys(tag.strip() for tag in stated.tags if tag.strip()))[:_MAX_TAGS]
    candidate = Candidate(
        content, stated.kind, stated.importance, tags, citations, stated.subject.strip()
    )
    if any(_plain(content).strip(".") in _plain(source.text) for source in sources):
        return candidate
    return UncheckedCandidate(candidate, DraftToCheck("merge", sources, content))


def _written(stated: StatedMemory) -> str:
    """Return all text of a stated memory that is kept."""
    return "\n".join([_BLANKS.sub(" ", stated.content), stated.subject, *stated.tags])


def _out_of_form(stated: StatedMemory, content: str) -> str | None:
    if not MIN_LENGTH <= len(content) <= MAX_LENGTH:
        return f"it has {len(content)} characters, not {MIN_LENGTH} to {MAX_LENGTH}"
    if not 1 <= stated.importance <= 5:
        return f"its importance is {stated.importance}, not 1 to 5"
    return None


def _found(quotes: Sequence[str], part: Part) -> Iterator[Citation]:
    """Yield the messages that contain a quote."""
    plain = [(message, _plain(message.message.text)) for message in part.new]
    quoted = {quote: _plain(quote).strip(" .\"'") for quote in quotes}
    for message, text in plain:
        own = tuple(
            quote for quote, words in quoted.items() if len(words) >= _MIN_QUOTE and words in text
        )
        if own:
            yield Citation(message, own)


def _plain(text: str) -> str:
    return _BLANKS.sub(" ", text.translate(_SPELLINGS)).strip().lower()


def _source(number: int, citation: Citation) -> Source:
    """Return a message as a source, with its speaker."""
    message = citation.said.message
    text = f"{speaker_of(citation.said)}: {_near_quotes(message.text, citation.quotes)}"
    return Source(f"q{number}", text, message.said_at or UNDATED, _no_vector())


def _near_quotes(text: str, quotes: Sequence[str]) -> str:
    """Return a text; of a long one, the sentences around the quotes."""
    if len(text) <= _MAX_CHARACTERS:
        return text
    sentences = read(text).sentences
    words = [_plain(quote) for quote in quotes]
    near = {
        at
        for at, sentence in enumerate(sentences)
        if any(word in _plain(sentence) or _plain(sentence) in word for word in words)
    }
    kept = {at + step for at in near for step in range(-_AROUND, _AROUND + 1)}
    found = " ".join(sentence for at, sentence in enumerate(sentences) if at in kept)
    return found or text[:_MAX_CHARACTERS]


def _no_vector() -> NDArray[np.float32]:
    import numpy as np

    return np.zeros(1, dtype=np.float32)


def speaker_of(placed: PlacedMessage) -> str:
    """Return the speaker of a message, as a model is shown."""
    return placed.message.speaker or placed.message.role
