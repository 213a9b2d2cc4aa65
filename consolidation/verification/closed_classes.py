"""Words of closed classes that a claim may use only where a source that it cites does so, too.

How much, how often, with what exception, how surely, and on which day as seen from when it was
said: none of it may be new. Other words for the same are listed with each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.statements import Statement
from slowwave.consolidation.text.stem_matching import is_known
from slowwave.consolidation.text.tokens import stem

from .alignment import ClaimStatement
from .marks import MOODS

_CALENDAR = "|".join(sorted(lexicon.CALENDAR))


class _ClosedClass(NamedTuple):
    """Words of one class in a claim, and the words of a source that say the same."""

    said: re.Pattern[str]
    answered: re.Pattern[str]


def _class(said: str, otherwise: str = "") -> _ClosedClass:
    answered = f"{said}|{otherwise}" if otherwise else said
    return _ClosedClass(*(re.compile(rf"\b(?:{one})\b", re.IGNORECASE) for one in (said, answered)))


_CLASSES = (
    *(_ClosedClass(*MOODS[mood]) for mood in ("usually", "only", "wants to")),
    _class(
        "always|every time", "every|each|all|any|never|nobody|no|not|must|only|whenever|nothing"
    ),
    _class("sometimes|occasionally|rarely|seldom|hardly", "few|not|at times|now and then"),
    _class(
        "except|unless|apart from|other than|excluding|but not",
        "only|if|until|but|barring|without|exclud\\w+|exception|exempt\\w*|besides|aside|provided|"
        "as long as|not|free",
    ),
    _class("even(?! if| though)", "also|including|too|all|any|at all|whole|both|never"),
    _class("at least|no less than|or more", "minimum|min|below|under|fewer|less|until|above|from"),
    _class(
        "at most|(?<!go )(?<!went )up to(?= \\d)|no more than",
        "maximum|max|more|above|over|exceed\\w*|limit\\w*|until",
    ),
    _class("several|many|numerous", "some|a few|lots?|various|multiple|couple"),
    _class("yesterday"),
    _class("tomorrow"),
    _class("today|tonight", "this (?:morning|evening|afternoon)|now"),
    _class("recently|lately", "recent|just|last|ago|new(?:ly)?"),
)
_POINTED = re.compile(rf"\b(?:this|next|last) (?:{_CALENDAR})\b", re.IGNORECASE)
# What singles one out among several.
_SINGLING = re.compile(r"[a-z]{3,}est$")


def new_closed_words(stated: ClaimStatement) -> Iterator[str]:
    """Yield the words of a statement of closed classes that no source cited for it answers."""
    said = stated.statement.reading.said
    cited = " ".join(one.reading.said for one in stated.cited)
    for words in _CLASSES:
        found = words.said.search(said)
        if found is not None and not words.answered.search(cited):
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
