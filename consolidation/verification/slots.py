"""Words of closed classes that a claim may use only where a source that it cites does so, too.

How much, how often, with what exception, how surely, and on which day as seen from when it was
said: none of it may be new. Other words for the same are listed with each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.statements import Statement, is_known
from slowwave.consolidation.text.tokens import stem

from .stance import MOODS
from .telling import Told

_CALENDAR = "|".join(sorted(lexicon.CALENDAR))


class _Slot(NamedTuple):
    """What fills a slot in a claim, and what in a source says the same."""

    said: re.Pattern[str]
    told: re.Pattern[str]


def _slot(said: str, otherwise: str = "") -> _Slot:
    told = f"{said}|{otherwise}" if otherwise else said
    return _Slot(*(re.compile(rf"\b(?:{one})\b", re.IGNORECASE) for one in (said, told)))


_SLOTS = (
    *(_Slot(*MOODS[mood]) for mood in ("usually", "only", "wants to")),
    _slot("always|every time", "every|each|all|any|never|nobody|no|not|must|only|whenever|nothing"),
    _slot("sometimes|occasionally|rarely|seldom|hardly", "few|not|at times|now and then"),
    _slot(
        "except|unless|apart from|other than|excluding|but not",
        "only|if|until|but|barring|without|exclud\\w+|exception|exempt\\w*|besides|aside|provided|"
        "as long as|not|free",
    ),
    _slot("even(?! if| though)", "also|including|too|all|any|at all|whole|both|never"),
    _slot("at least|no less than|or more", "minimum|min|below|under|fewer|less|until|above|from"),
    _slot(
        "at most|(?<!go )(?<!went )up to(?= \\d)|no more than",
        "maximum|max|more|above|over|exceed\\w*|limit\\w*|until",
    ),
    _slot("several|many|numerous", "some|a few|lots?|various|multiple|couple"),
    _slot("yesterday"),
    _slot("tomorrow"),
    _slot("today|tonight", "this (?:morning|evening|afternoon)|now"),
    _slot("recently|lately", "recent|just|last|ago|new(?:ly)?"),
)
_POINTED = re.compile(rf"\b(?:this|next|last) (?:{_CALENDAR})\b", re.IGNORECASE)
# What singles one out among several.
_SINGLING = re.compile(r"[a-z]{3,}est$")


def new_in_slots(told: Told) -> Iterator[str]:
    """Yield the words of a statement that fill a slot as no source cited for it does."""
    said = told.statement.reading.said
    cited = " ".join(one.reading.said for one in told.cited)
    for slot in _SLOTS:
        found = slot.said.search(said)
        if found is not None and not slot.told.search(cited):
            yield found.group()
    for one in _POINTED.findall(said):
        if one.lower() not in cited.lower():
            yield one


def singled_out(source: Statement, known: frozenset[str]) -> Iterator[str]:
    """Yield the words of a source that single one out, and that the draft has not: "youngest"."""
    for token in source.reading.tokens:
        if _is_superlative(token.lower) and not is_known(stem(token.bare), known):
            yield token.text


def _is_superlative(word: str) -> bool:
    """Whether there is a comparative to a word: "younger" to "youngest", none to "test"."""
    import simplemma

    return bool(_SINGLING.fullmatch(word)) and simplemma.is_known(f"{word[:-2]}r", "en")
