"""A question to hits: vectors and words, fused, in the order that the user wishes.

A *key* is a text that is searched, its *holder* the memory that it leads to, which is handed over;
both are places in `index.memories`, which every array here has in its first dimension.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from slowwave.consolidation.errors import QueryTooLong
from slowwave.consolidation.text.tokens import is_content, tokenise
from slowwave.consolidation.thresholds import (
    AS_RELEVANT,
    RELEVANCE_SHARE,
    VECTOR_SHARE,
    WORDS_FOUND,
)
from slowwave.store.records import MAX_CHARACTERS

from .filter import Filter
from .hit import Hit
from .index import RecallIndex
from .keys import NOWHERE
from .later_values import behind_later_values

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Of so many times the hits wanted those are chosen that repeat each other least.
_POOL = 5
# So many hits at the least are looked at for values that are older than another one's.
_COMPARED = 10


@dataclass(frozen=True)
class Wish:
    """What is asked, and how the answer is to be."""

    text: str
    limit: int = 10
    filter: Filter = field(default_factory=Filter)
    # The moment of which it is asked, as ISO 8601 in UTC; None for now.
    as_of: str | None = None
    # How fast what is old counts less: by exp(-recency x hours); None: age does not count.
    recency: float | None = None
    # Whether hits that repeat each other stand back.
    diverse: bool = False


def search(index: RecallIndex, wish: Wish, now: str) -> list[Hit]:
    """Return the memories that fit a question best, best first, later values before older ones.

    Raises `EmbedderError`.
    """
    # A later value may come behind the older one that the question is worded like.
    more = replace(wish, limit=max(wish.limit, _COMPARED))
    return behind_later_values(ranked(index, more, now), index.disputes)[: wish.limit]


def ranked(index: RecallIndex, wish: Wish, now: str) -> list[Hit]:
    """Return the memories that fit a question best, best first.

    Raises `EmbedderError`, and `QueryTooLong` for a question that is longer than any memory.

    Relevance is `VECTOR_SHARE` of the cosine and the rest of BM25 as a share of the best text's or,
    where that has little of the question, of what a text with `WORDS_FOUND` of it would have. A
    memory is as relevant as the best of its keys.
    """
    import numpy as np

    if len(wish.text) > MAX_CHARACTERS:
        raise QueryTooLong(
            f"The question has {len(wish.text):,} characters; it may have {MAX_CHARACTERS:,}.",
            "Ask for what matters in it.",
        )
    if not index.memories or wish.limit < 1:
        return []
    holders = _allowed(index, wish, now)
    allowed = np.flatnonzero(holders != NOWHERE)
    if not len(allowed):
        return []
    cosines = index.vectors @ index.embedder.encode([wish.text])[0]
    word_scores = np.zeros(len(cosines), dtype=np.float32)
    words = words_of(wish.text)
    rows, scores = index.words.scores(words)
    word_scores[rows] = scores
    full = WORDS_FOUND * index.words.full_score(words)
    best = max(float(word_scores[allowed].max()), full) or 1.0
    relevance = VECTOR_SHARE * cosines + (1.0 - VECTOR_SHARE) * word_scores / best
    pool = wish.limit * _POOL if wish.diverse or wish.recency is not None else wish.limit
    found = list(_best_keys(holders, relevance, allowed, pool))
    keys = np.array(found, dtype=np.intp)
    order = _ordered(index, holders[keys], relevance[keys], wish, now)
    vector_ranks, word_ranks = (
        _Ranks(values[allowed], holders[allowed], len(holders)) for values in (cosines, word_scores)
    )
    return [
        Hit(
            memory=index.memories[place],
            relevance=float(relevance[key]),
            cosine=vector_ranks.value_of(place),
            by_words=word_ranks.rank_of(place) if word_ranks.value_of(place) > 0 else None,
            by_vectors=vector_ranks.rank_of(place),
            key=index.memories[key],
            sources=index.sources_of(place),
        )
        for key in keys[order[: wish.limit]].tolist()
        for place in [int(holders[key])]
    ]


class _Ranks:
    """How memories rank by one measure, each by the best of its keys."""

    def __init__(self, values: NDArray[np.float32], holders: NDArray[np.intp], places: int) -> None:
        import numpy as np

        self._best = np.full(places, -np.inf, dtype=np.float32)
        np.maximum.at(self._best, holders, values)

    def value_of(self, place: int) -> float:
        return float(self._best[place])

    def rank_of(self, place: int) -> int:
        return 1 + int((self._best > self._best[place]).sum())


def words_of(text: str) -> list[str]:
    """Return the words of a question that are worth looking for; all of them if none is."""
    words = [token.bare for token in tokenise(text)]
    telling = list(filter(is_content, words))
    return list(dict.fromkeys(telling or words))


def _allowed(index: RecallIndex, wish: Wish, now: str) -> NDArray[np.intp]:
    """Return where each text leads, shape (n,); `NOWHERE` too if that may not be a hit."""
    import numpy as np

    holders = index.current(now) if wish.as_of is None else index.past(wish.as_of)
    if wish.filter.is_open:
        return holders
    passing = index.passing(wish.filter)
    return np.where(passing[holders] & (holders != NOWHERE), holders, NOWHERE)


def _best_keys(
    holders: NDArray[np.intp],
    relevance: NDArray[np.float32],
    allowed: NDArray[np.intp],
    most: int,
) -> Iterator[int]:
    """Yield the best key of each of the `most` most relevant memories, best first."""
    import numpy as np

    met: set[int] = set()
    size = min(len(allowed), most * 2)
    while True:
        values = -relevance[allowed]
        part = np.argpartition(values, size - 1)[:size]
        # Of equals the one that comes first in the file.
        part = allowed[part[np.lexsort((part, values[part]))]]
        holding = holders[part]
        _, firsts = np.unique(holding, return_index=True)
        if len(firsts) >= most or size == len(allowed):
            break
        size = min(len(allowed), size * 4)
    for key in part.tolist():
        if holders[key] not in met:
            met.add(int(holders[key]))
            yield key
            if len(met) == most:
                return


def _ordered(
    index: RecallIndex,
    places: NDArray[np.intp],
    relevance: NDArray[np.float32],
    wish: Wish,
    now: str,
) -> list[int]:
    """Return the order of hits, by relevance or as the wish has it; layer and trust break ties."""
    import numpy as np

    scores = relevance
    if wish.recency is not None:
        moment = np.datetime64((wish.as_of or now)[:19])
        hours = (moment - index.observed[places]) / np.timedelta64(1, "h")
        with np.errstate(over="ignore"):  # what is beyond all bounds is as old as can be
            fresh = np.exp(-wish.recency * np.maximum(hours, 0.0))
        aged = RELEVANCE_SHARE * relevance + (1.0 - RELEVANCE_SHARE) * fresh
        scores = aged.astype(np.float32)
    rounded = np.round(scores / AS_RELEVANT)
    order = np.lexsort((-index.trusts[places], -index.layers[places], -rounded))
    if not wish.diverse:
        return [int(one) for one in order]
    return _diverse(index.vectors[places], scores, order, wish.limit)


def _diverse(
    vectors: NDArray[np.float32],
    scores: NDArray[np.float32],
    order: NDArray[np.intp],
    most: int,
) -> list[int]:
    """Return hits so that each repeats little of those before it (maximal marginal relevance)."""
    import numpy as np

    left: list[int] = order.tolist()
    chosen: list[int] = []
    repeated = np.zeros(len(vectors), dtype=np.float32)
    while left and len(chosen) < most:
        worth = RELEVANCE_SHARE * scores[left] - (1.0 - RELEVANCE_SHARE) * repeated[left]
        best = left.pop(int(np.argmax(worth)))
        chosen.append(best)
        repeated = np.maximum(repeated, vectors @ vectors[best])
    return chosen
