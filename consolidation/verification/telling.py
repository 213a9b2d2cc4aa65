"""A draft beside its sources, each cut into statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from slowwave.consolidation.comparison.guards import say_the_same
from slowwave.consolidation.text.statements import Statement, statements_of
from slowwave.consolidation.text.weights import Weights, weights_of

# From more than this share of the things of one of them on, verbs aside, a statement of a draft was
# made from one of a source.
_MADE_FROM = 0.5


@dataclass(frozen=True, eq=False)
class Told:
    """A statement of a draft, with the statements of the sources that it cites."""

    statement: Statement
    cited: tuple[Statement, ...]

    @cached_property
    def word_for_word(self) -> bool:
        """Whether a source says it in these words."""
        return any(_same_words(self.statement, one) for one in self.cited)

    @cached_property
    def made_from(self) -> tuple[Statement, ...]:
        """Give the statements of which it tells a good part."""
        return tuple(one for one in self.cited if _shared(one, self.statement) > _MADE_FROM)


def _same_words(one: Statement, other: Statement) -> bool:
    return one.keys == other.keys and say_the_same(one.reading, other.reading)


def _shared(source: Statement, statement: Statement) -> float:
    """Give the share of the things of either, verbs aside, that the other names, the larger."""
    return max(
        (len(named & other.keys) / len(named))
        for one, other in ((source, statement), (statement, source))
        for named in [{thing.key for thing in one.things if not thing.is_verb} or {""}]
    )


class Telling:
    """What a draft tells, statement by statement, and what its sources do."""

    def __init__(
        self, claims: Sequence[tuple[str, Sequence[str]]], sources: Mapping[str, str]
    ) -> None:
        """Take claims with the ids that they cite, and the texts of the sources by id."""
        self.texts = {source: statements_of(text) for source, text in sources.items()}
        self.sources = tuple(one for text in self.texts.values() for one in text)
        self.weights: Weights = weights_of(tuple(self.texts.values()))
        self.told_by_claim = self._told(claims)
        self.told = tuple(one for told in self.told_by_claim for one in told)
        self.keys = frozenset().union(*(one.statement.keys for one in self.told))

    def has_word_for_word(self, source: Statement) -> bool:
        """Whether the draft says a statement of a source in its words."""
        return any(_same_words(one.statement, source) for one in self.told)

    def _told(self, claims: Sequence[tuple[str, Sequence[str]]]) -> list[list[Told]]:
        found, before = [], ""
        for claim, ids in claims:
            cited = tuple(one for source in ids for one in self.texts[source])
            told = []
            for one in statements_of(claim):
                told.append(Told(replace(one, before=before), cited))
                before = one.text
            found.append(told)
        return found
