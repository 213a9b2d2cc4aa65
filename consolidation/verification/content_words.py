"""Whether each content word of a claim stands in a source that it cites.

A word that none of them has is a fault, with one exception: where it takes the place of a word that
the claim has not ("reached" for "grew"), and the network of `entailment.py` finds the statement
entailed all the same. What is only added never passes: "any important customer" for "any customer".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

from slowwave.consolidation.comparison.entailment import Entailment
from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.dates import DATE_MARK
from slowwave.consolidation.text.english import is_english
from slowwave.consolidation.text.lexicon import word_set
from slowwave.consolidation.text.reading import read
from slowwave.consolidation.text.statements import Statement, Thing
from slowwave.consolidation.text.stem_matching import is_known
from slowwave.consolidation.text.tokens import Token, stem, stems_of
from slowwave.consolidation.thresholds import TOLD_IN_MORE_WORDS, TOLD_IN_OTHER_WORDS

from .alignment import ClaimStatement, carrying, unknown
from .closed_classes import new_closed_words

# Who tells it may be said in other words: "Marta reminded me" is "Marta noted".
_TELLING = word_set(
    "say said tell told note mention remind express stress explain describe report state add "
    "remark point feel discuss"
)
_ENDS = ".!?"


def is_verbatim(text: str, others: Sequence[str]) -> bool:
    """Whether one of some texts has a text word for word."""
    return any(without_days(text).rstrip(_ENDS) in without_days(other) for other in others)


def without_days(text: str) -> str:
    """Return a text without the days on which its sentences were said."""
    return DATE_MARK.sub("", text).strip()


def words_beyond(text: str, others: Sequence[str]) -> tuple[str, ...]:
    """Return the content words of a text that none of some others has in any form.

    What only announces a memory ("user mentioned") is left out.
    """
    reading = read(text)
    missing = reading.stem_set - frozenset().union(*(read(one).stem_set for one in others))
    spelled = {
        part: token.text for token in reversed(reading.plain) for part in stems_of(token.bare)
    }
    found = dict.fromkeys(spelled.get(one, one) for one in reading.stems if one in missing)
    # "i.e." and "2 h" come as letters, which are no words.
    words = (one for one in found if len(one) > 1 or one.isupper())
    return tuple(one for one in words if one.casefold() not in lexicon.ANNOUNCING)


def new_words(stated: ClaimStatement, spare: int, everything: frozenset[str]) -> Iterator[Token]:
    """Yield the words of a statement that no source cited for it has.

    spare: how many words of those sources its claim has not, whose place they may take.
    everything: the words of all sources of the draft.
    """
    known = frozenset().union(*(one.keys for one in stated.cited))
    new = [one for one in unknown(stated.statement.things, known) if one.key not in _telling()]
    if not new:
        return
    added = [one for one in new if _is_added(one, stated) or is_hard(one.token, stated)]
    if not added and (_is_elsewhere(new, everything) or _is_entailed(stated, len(new) <= spare)):
        return
    yield from (thing.token for thing in added or new)


def is_hard(token: Token, stated: ClaimStatement) -> bool:
    """Whether nothing clears a new word: a name, or what `turns` what is said."""
    return token.bare in stated.statement.reading.names or turns(token, stated)


def turns(token: Token, stated: ClaimStatement) -> bool:
    """Whether a new word says how much or often, a denial, or an opposite.

    "Failed" stands for no "passed".
    """
    if token.text in new_closed_words(stated):
        return True
    if token.bare in lexicon.DENIALS:
        return not any(one.reading.negators or one.reading.denials for one in stated.cited)
    words = frozenset().union(*(one.reading.words for one in stated.cited))
    return any(token.bare in line and line & words for line in lexicon.EXCLUSIVE)


def _is_added(thing: Thing, stated: ClaimStatement) -> bool:
    """Whether the words before and behind a word stand side by side in a source."""
    tokens = stated.statement.reading.tokens
    at = next(at for at, token in enumerate(tokens) if token.start == thing.token.start)
    if not 0 < at < len(tokens) - 1:
        return False
    sides = _form(tokens[at - 1]), _form(tokens[at + 1])
    return any(sides in _neighbours(one) for one in stated.cited)


def _neighbours(statement: Statement) -> set[tuple[str, str]]:
    return {(_form(one), _form(two)) for one, two in pairwise(statement.reading.tokens)}


def _form(token: Token) -> str:
    return "a" if token.lower in ("a", "an", "the") else stem(token.bare)


def _is_elsewhere(new: Sequence[Thing], everything: frozenset[str]) -> bool:
    """Whether a source that is not cited has the only new word: "the dog" before its name."""
    return len(new) == 1 and is_known(new[0].key, everything)


def _is_entailed(stated: ClaimStatement, replacing: bool) -> bool:
    """Whether the network finds a statement entailed by one of its sources, or by all together."""
    if not is_english(stated.statement.reading):
        return False
    least = TOLD_IN_OTHER_WORDS if replacing else TOLD_IN_MORE_WORDS
    return likelihood_of_support(stated.statement.text, stated.texts) >= least


def likelihood_of_support(said: str, premises: Sequence[str]) -> float:
    """Return how likely the network finds it that some texts, one or all together, say it.

    Raises `EmbedderError` if the packaged model is damaged.
    """
    together = [*premises, " ".join(premises)]
    return max(_network().likelihoods((said, premise) for premise in together))


@cache
def _network() -> Entailment:
    return Entailment()


@cache
def _telling() -> frozenset[str]:
    return frozenset(map(stem, _TELLING | lexicon.ANNOUNCING)) | carrying()
