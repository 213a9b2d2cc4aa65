"""Whether what a model wants to remember is said by the messages that it quotes.

The same check as of any draft, but that a memory may leave out what it likes. Values, names,
denials and who does what must be as they were said. What is not word for word is left to a second
opinion: a memory may be put together wrongly from the very words of one message ("Marit approves
changes" of "Marit is on leave, so Farid approves changes"), and no rule sees all of that. Nor does
the network clear a new word: it took "likes long summaries" for said by "I like short summaries".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slowwave.consolidation.model.answer_forms import StatedMemory
from slowwave.consolidation.model.prompts import SentenceToJudge
from slowwave.consolidation.proposals import Claim, Draft, Source
from slowwave.consolidation.text.injection import commands
from slowwave.consolidation.text.invisible import find_invisible
from slowwave.consolidation.text.reading import read
from slowwave.consolidation.verification.content_words import (
    is_verbatim,
    without_days,
    words_beyond,
)
from slowwave.consolidation.verification.verify import find_invented

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
# What joins words to an identifier.
_JOINING = re.compile(r"[_/.-]")


@dataclass(frozen=True)
class Doubted:
    """What is to be remembered if a second opinion is that the messages say it."""

    candidate: Candidate
    item: SentenceToJudge
    why: str


def checked(stated: StatedMemory, part: Part) -> Candidate | Doubted | TurnedDown:
    """Return what a model wants to remember as a candidate, or why it is none or in doubt.

    Raises `EmbedderError` if the packaged network is damaged.
    """
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
    sources = [_source(number, one) for number, one in enumerate(citations)]
    ids = tuple(one.id for one in sources)
    draft = Draft(tuple(Claim(sentence, ids) for sentence in read(content).sentences))
    faults = find_invented(draft, sources)
    hard = "; ".join(one.why for one in faults if not one.soft)
    if hard:
        return TurnedDown(content, hard)
    tags = tuple(dict.fromkeys(one.strip() for one in stated.tags if one.strip()))[:_MOST_TAGS]
    candidate = Candidate(
        content, stated.kind, stated.importance, tags, citations, stated.subject.strip()
    )
    said = tuple(_as_said(one) for one in citations)
    if is_verbatim(content, said):
        return candidate
    item = SentenceToJudge(without_days(content), said, _new_words(content, said))
    return Doubted(candidate, item, _doubt(item, [one.why for one in faults]))


def _new_words(content: str, texts: Sequence[str]) -> tuple[str, ...]:
    # "customs_queue" says customs and queue, too.
    return words_beyond(content, [*texts, *(_JOINING.sub(" ", one) for one in texts)])


def _doubt(item: SentenceToJudge, faults: Sequence[str]) -> str:
    if faults:
        return "; ".join(faults)
    if item.words:
        return f"says '{item.words[0]}', which no message that it quotes says"
    return "no message that it quotes says it in these words"


def _written(stated: StatedMemory) -> str:
    """Return all that is kept of what a model wants to remember."""
    return "\n".join([_BLANKS.sub(" ", stated.content), stated.subject, *stated.tags])


def _out_of_form(stated: StatedMemory, content: str) -> str | None:
    if not SHORTEST <= len(content) <= LONGEST:
        return f"it has {len(content)} characters, and not {SHORTEST} to {LONGEST}"
    if not 1 <= stated.importance <= 5:
        return f"its importance is {stated.importance}, and not 1 to 5"
    if commands(content):
        return "it gives orders to its reader"
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


def _source(number: int, one: Citation) -> Source:
    """Return a message as what a claim may cite: what was said, and who wants it so."""
    message = one.said.message
    text = _as_said(one) if message.speaker else _near_quotes(message.text, one.quotes)
    if message.role == "user" and any(read(each).normative for each in read(text).sentences):
        text = f"{text}\nThe user wants it so."
    return Source(f"m{number}", text, message.said_at or "", _no_vector())


def _as_said(one: Citation) -> str:
    """Return a message with who says it, as a second opinion is to know."""
    return f"{shown_as(one.said)}: {_near_quotes(one.said.message.text, one.quotes)}"


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
