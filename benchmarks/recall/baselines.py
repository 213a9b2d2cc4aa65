"""Baselines on the same memories: vectors only, BM25 only, and reciprocal rank fusion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from slowwave.consolidation.evaluation.measures import LOOKED_AT, MeasuredHit, Measures, measure
from slowwave.consolidation.evaluation.questions import RecallQuestion
from slowwave.consolidation.recall.index import RecallIndex
from slowwave.consolidation.recall.search import words_of

# The constant of Cormack, Clarke and Büttcher (2009).
_RANK_CONSTANT = 60


class Baselines:
    """Plain searches of a file without superseded memories."""

    def __init__(self, index: RecallIndex) -> None:
        self._index = index
        self._tenants = np.array([memory.tenant for memory in index.memories])

    def by_vectors(self, question: RecallQuestion) -> list[int]:
        """Return the positions of memories, ordered by cosine similarity to the question."""
        return self._best(self._cosines(question), self._allowed(question))

    def by_words(self, question: RecallQuestion) -> list[int]:
        """Return the positions of memories with a word of the question, ordered by BM25."""
        scores = self._word_scores(question)
        return self._best(scores, self._allowed(question) & (scores > 0))

    def by_ranks(self, question: RecallQuestion) -> list[int]:
        """Return the positions of memories, ordered by the sum of 1 / (60 + rank) in both."""
        allowed, words = self._allowed(question), self._word_scores(question)
        total = np.zeros(len(allowed))
        for scores, ranked in ((self._cosines(question), allowed), (words, allowed & (words > 0))):
            order = np.array(self._best(scores, ranked, len(allowed)), dtype=np.intp)
            total[order] += 1.0 / (_RANK_CONSTANT + 1 + np.arange(len(order)))
        return self._best(total, allowed)

    def measure(
        self, questions: Iterable[RecallQuestion], search: Callable[[RecallQuestion], Sequence[int]]
    ) -> list[Measures]:
        """Measure a search."""
        return [
            measure(self._hits(question, search(question)), set(question.evidence_ids))
            for question in questions
        ]

    def _hits(self, question: RecallQuestion, positions: Iterable[int]) -> list[MeasuredHit]:
        memories = [self._index.memories[position] for position in positions]
        evidence = frozenset(question.evidence_ids)
        return [
            MeasuredHit(memory.content, evidence & {memory.id}, memory.id in question.stale_ids)
            for memory in memories
        ]

    def _allowed(self, question: RecallQuestion) -> NDArray[np.bool_]:
        if question.tenant is None:
            return np.ones(len(self._tenants), dtype=bool)
        allowed: NDArray[np.bool_] = self._tenants == question.tenant
        return allowed

    def _cosines(self, question: RecallQuestion) -> NDArray[np.float32]:
        vector = self._index.embedder.encode([question.question])[0]
        cosines: NDArray[np.float32] = (self._index.vectors @ vector)[self._index.rows]
        return cosines

    def _word_scores(self, question: RecallQuestion) -> NDArray[np.float32]:
        scores = np.zeros(len(self._tenants), dtype=np.float32)
        rows, values = self._index.words.scores(words_of(question.question))
        scores[rows] = values
        return scores

    @staticmethod
    def _best(
        scores: NDArray[np.floating], allowed: NDArray[np.bool_], limit: int = LOOKED_AT
    ) -> list[int]:
        positions = np.flatnonzero(allowed)
        # Stable: ties are in the order of the file.
        order = np.argsort(-scores[positions], kind="stable")[:limit]
        return [int(position) for position in positions[order]]
