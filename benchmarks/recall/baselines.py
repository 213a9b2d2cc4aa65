"""Plain ways to search the same memories: vectors alone, BM25 alone, and their ranks fused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from slowwave.consolidation.evaluation.measures import LOOKED_AT, MeasuredHit, Measures, measure
from slowwave.consolidation.evaluation.questions import RecallQuestion
from slowwave.consolidation.recall.index import RecallIndex
from slowwave.consolidation.recall.search import words_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# What Cormack, Clarke and Büttcher (2009) add to each rank.
_RANK_CONSTANT = 60


class Plain:
    """Searches an index of a file in which nothing was ever superseded."""

    def __init__(self, index: RecallIndex) -> None:
        """Take the index; it has the vectors and the words that the search of slowwave has."""
        import numpy as np

        self._index = index
        self._tenants = np.array([memory.tenant for memory in index.memories])

    def by_vectors(self, question: RecallQuestion) -> list[int]:
        """Return places of memories, by the cosine of their vectors to the question's."""
        return self._best(self._cosines(question), self._allowed(question))

    def by_words(self, question: RecallQuestion) -> list[int]:
        """Return places of memories with one of the question's words, by BM25."""
        scores = self._word_scores(question)
        return self._best(scores, self._allowed(question) & (scores > 0))

    def by_ranks(self, question: RecallQuestion) -> list[int]:
        """Return places of memories by the sum of 1 / (60 + rank) of all ranks in both."""
        import numpy as np

        allowed, words = self._allowed(question), self._word_scores(question)
        total = np.zeros(len(allowed))
        for scores, ranked in (
            (self._cosines(question), allowed),
            (words, allowed & (words > 0)),
        ):
            order = np.array(self._best(scores, ranked, len(allowed)), dtype=np.intp)
            total[order] += 1.0 / (_RANK_CONSTANT + 1 + np.arange(len(order)))
        return self._best(total, allowed)

    def measured(
        self, questions: Iterable[RecallQuestion], search: Callable[[RecallQuestion], Sequence[int]]
    ) -> list[Measures]:
        """Measure one of these ways."""
        return [
            measure(self._answers(question, search(question)), set(question.evidence_ids))
            for question in questions
        ]

    def _answers(self, question: RecallQuestion, places: Iterable[int]) -> list[MeasuredHit]:
        found = [self._index.memories[place] for place in places]
        evidence = frozenset(question.evidence_ids)
        return [
            MeasuredHit(match.content, evidence & {match.id}, match.id in question.stale_ids)
            for match in found
        ]

    def _allowed(self, question: RecallQuestion) -> NDArray[np.bool_]:
        import numpy as np

        if question.tenant is None:
            return np.ones(len(self._tenants), dtype=bool)
        allowed: NDArray[np.bool_] = self._tenants == question.tenant
        return allowed

    def _cosines(self, question: RecallQuestion) -> NDArray[np.float32]:
        asked = self._index.embedder.encode([question.question])[0]
        cosines: NDArray[np.float32] = self._index.vectors @ asked
        return cosines

    def _word_scores(self, question: RecallQuestion) -> NDArray[np.float32]:
        import numpy as np

        scores = np.zeros(len(self._tenants), dtype=np.float32)
        rows, found = self._index.words.scores(words_of(question.question))
        scores[rows] = found
        return scores

    @staticmethod
    def _best(
        scores: NDArray[np.floating], allowed: NDArray[np.bool_], most: int = LOOKED_AT
    ) -> list[int]:
        import numpy as np

        places = np.flatnonzero(allowed)
        # Among equals, the one that comes first in the file.
        order = np.argsort(-scores[places], kind="stable")[:most]
        return [int(place) for place in places[order]]
