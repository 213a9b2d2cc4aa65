"""Whether a draft tells again what its sources tell: nothing invented, nothing left out.

A draft may use other words, so a word by itself is held against none. What counts is a phrase of
which no word is known on the other side, where no other words are left that could stand for it:
"and opened a ticket" added to what is told in full, or "outside office hours" gone from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from slowwave.consolidation.comparison.normal_form import normal_form
from slowwave.consolidation.text.lexicon import word_set
from slowwave.consolidation.text.statements import Phrase, Statement, Thing, statements_of
from slowwave.consolidation.text.stem_matching import is_known
from slowwave.consolidation.text.tokens import stem
from slowwave.consolidation.text.weights import Weights, weights_of
from slowwave.consolidation.thresholds import (
    AS_LIKE_TO_A_CLAIM,
    MADE_FROM,
    STRANGE_WORDS,
    TOLD_AT_ALL,
)

from .stance import counterparts

# Words with which one says a thing again, and which say nothing of their own: they count things,
# speak of speech, or carry a phrase ("is part of", "the cause is").
_CARRYING = word_set(
    "additional further extra altogether total possible possibility certain word words line "
    "message comment demand ask request part kind sort type cause reason because case fact "
    "way thing amount number respective respectively same new consist include contain still "
    "yet already later then now else also too together each both only just even again "
    "afterwards thereafter due per like time far long back "
    "make take give put set go come show let keep hold provide provided switch "
    "likely probably perhaps possibly maybe presumably"
)


@dataclass(frozen=True, eq=False)
class ClaimStatement:
    """A statement of a draft, with the statements of the sources that it cites."""

    statement: Statement
    cited: tuple[Statement, ...]
    # The place of its claim among the draft's, all things of that, and the texts that it cites.
    claim: int
    claimed: frozenset[str]
    texts: tuple[str, ...]

    @cached_property
    def word_for_word(self) -> bool:
        """Whether a source says it in these words."""
        return any(_same_words(self.statement, one) for one in self.cited)

    @cached_property
    def made_from(self) -> tuple[Statement, ...]:
        """Return the statements of which it tells a good part."""
        return tuple(one for one in self.cited if _shared(one, self.statement) > MADE_FROM)


def _claim_statements(
    claims: Sequence[tuple[str, Sequence[str]]],
    texts: Mapping[str, Sequence[Statement]],
    sources: Mapping[str, str],
) -> Iterator[ClaimStatement]:
    before = ""
    for at, (claim, ids) in enumerate(claims):
        cited = tuple(one for source in ids for one in texts[source])
        claimed = frozenset().union(*(one.keys for one in statements_of(claim)))
        whole = tuple(sources[source] for source in ids)
        for one in statements_of(claim):
            yield ClaimStatement(replace(one, before=before), cited, at, claimed, whole)
            before = one.text


def _same_words(one: Statement, other: Statement) -> bool:
    return one.keys == other.keys and normal_form(one.text) == normal_form(other.text)


def _shared(source: Statement, statement: Statement) -> float:
    """Return the share of the things of either, verbs aside, that the other names, the larger."""
    return max(
        (len(named & other.keys) / len(named))
        for one, other in ((source, statement), (statement, source))
        for named in [{thing.key for thing in one.things if not thing.is_verb} or {""}]
    )


class Alignment:
    """A draft next to its sources, each cut into statements."""

    def __init__(
        self, claims: Sequence[tuple[str, Sequence[str]]], sources: Mapping[str, str]
    ) -> None:
        """Take claims with the ids that they cite, and the texts of the sources by id."""
        self.texts = {source: statements_of(text) for source, text in sources.items()}
        self.sources = tuple(one for text in self.texts.values() for one in text)
        self.weights: Weights = weights_of(tuple(self.texts.values()))
        self.statements = tuple(_claim_statements(claims, self.texts, sources))
        self.keys = frozenset().union(*(one.statement.keys for one in self.statements))
        self.known = frozenset(self.weights)

    def has_word_for_word(self, source: Statement) -> bool:
        """Whether the draft says a statement of a source in its words."""
        return any(_same_words(one.statement, source) for one in self.statements)

    def lost(self, source: Statement) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield what the draft lacks of a statement of a source, and its words.

        Phrases of which it has no word, and statements of which it has hardly any.
        """
        words = tuple(one.token.text for one in unknown(source.things, self.keys))
        if self._best_share(source) < TOLD_AT_ALL:
            yield f"leaves out: {source.text}", words
            return
        phrases = [
            things
            for phrase, things in _unknown_phrases(source, self.keys)
            if len(things) > 1 or (phrase.placing and not things[0].is_verb)
        ]
        strange = len({thing.key for thing in unknown(source.things, self.keys)})
        spare = self._spare_in_draft(source)
        if strange >= spare + STRANGE_WORDS:
            yield f"leaves out much of: {source.text}", words
        if sum(map(len, phrases)) > spare:
            for phrase in phrases:
                spelled = tuple(dict.fromkeys(thing.token.text for thing in phrase))
                yield f"loses '{' '.join(spelled)}' of: {source.text}", spelled

    def _best_share(self, source: Statement) -> float:
        """Return the largest share of its things that one statement of the draft names."""
        return max(
            (
                sum(is_known(key, one.statement.context) for key in source.keys) / len(source.keys)
                for one in self.statements
                if source.keys
            ),
            default=1.0,
        )

    def spare_in_sources(self, stated: ClaimStatement) -> int:
        """Count the words of its sources that its claim has not: others may take their place.

        What other claims say changes nothing of it.
        """
        likest = self._likest(stated)
        return len({thing.key for one in likest for thing in unknown(one.things, stated.claimed)})

    def _spare_in_draft(self, source: Statement) -> int:
        """Count the words of the draft that may stand for those of a source."""
        return len(
            {
                thing.key
                for one in self.statements
                if source in one.cited and source in self._likest(one)
                for thing in unknown(one.statement.things, self.known)
            }
        )

    def _likest(self, stated: ClaimStatement) -> list[Statement]:
        """Return the statements that it cites of which it tells most."""
        return counterparts(stated.statement, stated.cited, self.weights, AS_LIKE_TO_A_CLAIM)


def unknown(things: Iterable[Thing], known: frozenset[str]) -> list[Thing]:
    """Return the things that say something and are not among others, values aside."""
    return [
        thing
        for thing in things
        if not thing.is_value and thing.key not in carrying() and not is_known(thing.key, known)
    ]


def _unknown_phrases(
    statement: Statement, known: frozenset[str]
) -> list[tuple[Phrase, tuple[Thing, ...]]]:
    """Return the phrases of which not one word is known, with their telling words."""
    found = []
    for phrase in statement.phrases:
        telling = tuple(thing for thing in phrase.things if thing.key not in carrying())
        if telling and len(unknown(telling, known)) == len(telling):
            found.append((phrase, telling))
    return found


@cache
def carrying() -> frozenset[str]:
    """Return the stems of the words with which one says a thing again."""
    # Not before it is asked for: the first stem takes a dictionary, and a quiet night has none.
    return frozenset(map(stem, _CARRYING))
