"""Whether what a model wants to remember is said by the messages that it quotes.

The two checks of any draft, but that a memory may leave out what it likes: values and names are
looked up by program, and what is not word for word is read by a model.
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
    LONGEST,
    SHORTEST,
    Candidate,
    Citation,
    TurnedDown,
    latest_moment,
    with_day,
)
from .parts import Part, Said

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A longer message is looked at where it is quoted, with so many sentences before and behind.
_MOST_CHARACTERS = 1_500
_AROUND = 2
# The fewest letters of a quote: "yes" stands everywhere.
_SHORTEST_QUOTE = 6
_BLANKS = re.compile(r"\s+")
_SPELLINGS = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"'})
_MOST_TAGS = 5


@dataclass(frozen=True)
class Doubted:
    """What is to be remembered if a reading finds that the messages say it."""

    candidate: Candidate
    draft: DraftToCheck


def checked(stated: StatedMemory, part: Part) -> Candidate | Doubted | TurnedDown:
    """Return what a model wants to remember as a candidate, or why it is not one or in doubt."""
    citations = tuple(_found(stated.quotes, part))
    content = with_day(_BLANKS.sub(" ", stated.content).strip(), latest_moment(citations))
    why = _out_of_form(stated, content)
    if why is None and not citations:
        why = "it quotes nothing that was said"
    quoted = [one.said.message.text for one in citations]
    if why is None and (hidden := find_invisible(_written(stated), quoted)):
        why = f"it has a character that no reader sees: {hidden}"
    if why is not None:
        return TurnedDown(content, why)
    sources = [_source(number, citation) for number, citation in enumerate(citations)]
    faults = find_text_faults(content, sources)
    if faults:
        return TurnedDown(content, "; ".join(faults))
    tags = tuple(dict.fromkeys(tag.strip() for tag in stated.tags if tag.strip()))[:_MOST_TAGS]
    candidate = Candidate(
        content, stated.kind, stated.importance, tags, citations, stated.subject.strip()
    )
    if any(_plain(content).strip(".") in _plain(source.text) for source in sources):
        return candidate
    return Doubted(candidate, DraftToCheck("merge", sources, content))


def _written(stated: StatedMemory) -> str:
    """Return all that is kept of what a model wants to remember."""
    return "\n".join([_BLANKS.sub(" ", stated.content), stated.subject, *stated.tags])


def _out_of_form(stated: StatedMemory, content: str) -> str | None:
    if not SHORTEST <= len(content) <= LONGEST:
        return f"it has {len(content)} characters, and not {SHORTEST} to {LONGEST}"
    if not 1 <= stated.importance <= 5:
        return f"its importance is {stated.importance}, and not 1 to 5"
    return None


def _found(quotes: Sequence[str], part: Part) -> Iterator[Citation]:
    """Yield the messages in which words stand that are quoted."""
    plain = [(one, _plain(one.message.text)) for one in part.new]
    quoted = {quote: _plain(quote).strip(" .\"'") for quote in quotes}
    for one, text in plain:
        own = tuple(
            quote
            for quote, words in quoted.items()
            if len(words) >= _SHORTEST_QUOTE and words in text
        )
        if own:
            yield Citation(one, own)


def _plain(text: str) -> str:
    return _BLANKS.sub(" ", text.translate(_SPELLINGS)).strip().lower()


def _source(number: int, citation: Citation) -> Source:
    """Return a message as what a memory may cite, with who says it."""
    message = citation.said.message
    text = f"{shown_as(citation.said)}: {_near_quotes(message.text, citation.quotes)}"
    return Source(f"q{number}", text, message.said_at or UNDATED, _no_vector())


def _near_quotes(text: str, quotes: Sequence[str]) -> str:
    """Return a text, or of a long one what stands around the words that are quoted."""
    if len(text) <= _MOST_CHARACTERS:
        return text
    sentences = read(text).sentences
    words = [_plain(one) for one in quotes]
    near = {
        at
        for at, sentence in enumerate(sentences)
        if any(one in _plain(sentence) or _plain(sentence) in one for one in words)
    }
    kept = {at + step for at in near for step in range(-_AROUND, _AROUND + 1)}
    found = " ".join(one for at, one in enumerate(sentences) if at in kept)
    return found or text[:_MOST_CHARACTERS]


def _no_vector() -> NDArray[np.float32]:
    import numpy as np

    return np.zeros(1, dtype=np.float32)


def shown_as(one: Said) -> str:
    """Return who says a message, as a model is told."""
    return one.message.speaker or one.message.role
