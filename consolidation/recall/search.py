"""Search memories by vectors and words, fused.

A *key* is a text that is searched, its *holder* the memory that it leads to, which is returned.
Both are rows of `index.memories`, the first dimension of every array here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from slowwave.consolidation.errors import QueryTooLong
from slowwave.consolidation.text.tokens import lemma, stop_words, words_in
from slowwave.consolidation.thresholds import (
    AS_RELEVANT,
    MIN_RELEVANCE,
    RELEVANCE_SHARE,
    VECTOR_SHARE,
    WORDS_FOUND,
)
from slowwave.store.memory_filter import Filter
from slowwave.store.records import LAYERS, MAX_CHARACTERS, Memory

from .index import RecallIndex
from .keys import NOWHERE
from .similar import find_contradictions

# Diverse and recent hits are chosen from this many times the limit.
_POOL = 5
# The minimum number of hits that are compared for outdated values.
_MIN_COMPARED = 10


@dataclass(frozen=True)
class SearchQuery:
    """A question, and options for the answer."""

    text: str
    limit: int = 10
    filter: Filter = field(default_factory=Filter)
    # The time that the question is about, ISO 8601 in UTC; None for now.
    as_of: str | None = None
    # The decay of old memories, exp(-recency x hours); None ignores age.
    recency: float | None = None
    # Whether to demote hits that repeat better ones.
    diverse: bool = False
    # The relevance that the best hit must have, and each hit a third of the best; 0 returns all.
    min_relevance: float = MIN_RELEVANCE


@dataclass(frozen=True)
class Hit:
    """A memory that was found, with its ranks."""

    memory: Memory
    # Its relevance, before age and repetition are considered.
    relevance: float
    # The cosine of its nearest key.
    cosine: float
    # Its ranks, from 1, by words (None if it has none of them) and by vectors (None if embedding
    # failed).
    by_words: int | None
    by_vectors: int | None
    # The memory whose text was found: itself, or one that it replaced.
    key: Memory
    # The ids of its sources, at any depth.
    sources: tuple[str, ...]
    # The memory with the newer value of the same property, by a decision of a run or a person.
    later: Memory | None = None
    # The later memory that it contradicts, although nobody decided which of them is right.
    contradicts: Memory | None = None
    # Whether it is a shared fact, not the tenant's own.
    is_shared: bool = False

    @property
    def rival(self) -> Memory | None:
        """The memory with another value of the same property, decided or not."""
        return self.later or self.contradicts


class Hits(list[Hit]):
    """Hits, best first."""

    # Why only words were searched; None if vectors were, too.
    words_only: str | None = None


def search(index: RecallIndex, query: SearchQuery, now: str) -> Hits:
    """Return the most relevant memories, best first, later values before earlier ones.

    Raises `EmbedderError` unless words suffice.
    """
    # The later value may rank lower than the earlier one.
    wider = replace(query, limit=max(query.limit, _MIN_COMPARED))
    ranking = ranked(index, wider, now)
    best = demote_outdated(relevant(ranking, query.min_relevance))[: query.limit]
    alone = [hit.memory for hit in best if hit.rival is None]
    rivals = find_contradictions(alone, index.words, index.settled)
    hits = Hits(
        hit if hit.rival else replace(hit, contradicts=rivals.get(hit.memory.id)) for hit in best
    )
    hits.words_only = index.words_only
    return hits


def relevant(hits: Sequence[Hit], least: float) -> Sequence[Hit]:
    """Drop hits a third as relevant as the best, or all if that is below `least`; 0 drops none.

    A cosine a quarter above `least` suffices, too: a memory may share no word with the question.
    """
    if least <= 0.0:
        return hits
    if not any(hit.relevance >= least or 4 * hit.cosine >= 5 * least for hit in hits):
        return ()
    best = max(hit.relevance for hit in hits)
    return [hit for hit in hits if 3 * hit.relevance >= best]


def demote_outdated(hits: Sequence[Hit]) -> list[Hit]:
    """Move each hit with an earlier value after the hit with the later one, if there is one.

    A memory with an outdated value can be active: both memories of a conflict are, until somebody
    decides, and so is a source with other details. A reader of only that would believe it.
    """
    places = {hit.memory.id: place for place, hit in enumerate(hits)}
    newer = [places.get(hit.rival.id, 0) if hit.rival else 0 for hit in hits]
    order = sorted(range(len(hits)), key=lambda place: (max(place, newer[place]), newer[place]))
    return [hits[place] for place in order]


def ranked(index: RecallIndex, query: SearchQuery, now: str) -> list[Hit]:
    """Return the most relevant memories, best first.

    Raises `EmbedderError` unless words suffice, and `QueryTooLong` for a question that is longer
    than any memory.

    Relevance is `VECTOR_SHARE` of the cosine plus the rest of BM25, relative to the best text's or,
    if that matches little, to that of a text with `WORDS_FOUND` of the words; without vectors, it
    is the latter alone. A memory is as relevant as its best key.
    """
    if len(query.text) > MAX_CHARACTERS:
        raise QueryTooLong(
            f"The question has {len(query.text):,} characters; the maximum is {MAX_CHARACTERS:,}.",
            "Shorten it.",
        )
    if not len(index.memories) or query.limit < 1:
        return []
    holders = _allowed(index, query, now)
    allowed = np.flatnonzero(holders != NOWHERE)
    if not len(allowed):
        return []
    cosines = index.cosines(query.text)
    vector_share = VECTOR_SHARE if index.words_only is None else 0.0
    word_scores = np.zeros(len(cosines), dtype=np.float32)
    words = words_of(query.text)
    rows, scores = index.words.scores(words)
    word_scores[rows] = scores
    full = WORDS_FOUND * index.words.full_score(words)
    best = max(float(word_scores[allowed].max()), full) or 1.0
    relevance = vector_share * cosines + (1.0 - vector_share) * word_scores / best
    pool = query.limit * _POOL if query.diverse or query.recency is not None else query.limit
    keys = _best_keys(holders, relevance, allowed, pool)
    order = _ordered(index, holders[keys], relevance[keys], query, now)
    best_cosines, best_words = (
        _best_of_each(values[allowed], holders[allowed], len(holders))
        for values in (cosines, word_scores)
    )
    current = index.current(now)
    return [
        Hit(
            memory=index.memories[place],
            relevance=float(relevance[key]),
            cosine=float(best_cosines[place]),
            by_words=_rank(best_words, place) if best_words[place] > 0 else None,
            by_vectors=_rank(best_cosines, place) if index.words_only is None else None,
            key=index.memories[key],
            sources=index.sources_of(place),
            later=current.newer.get(index.memories[place].id),
            contradicts=current.disputed.get(index.memories[place].id),
            is_shared=bool(index.is_shared[place]),
        )
        for key in keys[order[: query.limit]].tolist()
        for place in [int(holders[key])]
    ]


def _best_of_each(
    values: NDArray[np.float32], holders: NDArray[np.intp], places: int
) -> NDArray[np.float32]:
    """Return the value of each memory's best key, shape (places,); -inf without a key."""
    best = np.full(places, -np.inf, dtype=np.float32)
    np.maximum.at(best, holders, values)
    return best


def _rank(values: NDArray[np.float32], place: int) -> int:
    return 1 + int((values > values[place]).sum())


def words_of(text: str) -> list[str]:
    """Return the content words of a question; all words if it has none."""
    words = words_in(text)
    with_letters = (word for word in words if any(map(str.isalpha, word)))
    content = [word for word in with_letters if not {word, lemma(word)} & stop_words()]
    return list(dict.fromkeys(content or words))


def _allowed(index: RecallIndex, query: SearchQuery, now: str) -> NDArray[np.intp]:
    """Return the row that each text leads to, shape (n,); `NOWHERE` if it is filtered out."""
    holders = index.current(now).holders if query.as_of is None else index.past(query.as_of)
    if query.filter == Filter():
        return holders
    passing = index.passing(query.filter)
    return np.where(passing[holders] & (holders != NOWHERE), holders, NOWHERE)


def _best_keys(
    holders: NDArray[np.intp],
    relevance: NDArray[np.float32],
    allowed: NDArray[np.intp],
    limit: int,
) -> NDArray[np.intp]:
    """Return the best key of each of the `limit` most relevant memories, best first."""
    size = min(len(allowed), limit * 2)
    while True:
        values = -relevance[allowed]
        part = np.argpartition(values, size - 1)[:size]
        # The first of equal keys in the file counts.
        part = allowed[part[np.lexsort((part, values[part]))]]
        _, firsts = np.unique(holders[part], return_index=True)
        if len(firsts) >= limit or size == len(allowed):
            return part[np.sort(firsts)[:limit]]
        size = min(len(allowed), size * 4)


def _ordered(
    index: RecallIndex,
    places: NDArray[np.intp],
    relevance: NDArray[np.float32],
    query: SearchQuery,
    now: str,
) -> list[int]:
    """Return the order of hits, by relevance or as the query has it.

    Among equals, the tenant's own come before shared facts; then layer and trust decide.
    """
    scores, memories = relevance, [index.memories[place] for place in places.tolist()]
    if query.recency is not None:
        moment = np.datetime64((query.as_of or now)[:19])
        times = [memory.observed_at[:19] for memory in memories]
        observed: NDArray[np.datetime64] = np.array(times, dtype="datetime64[s]")
        hours = (moment - observed) / np.timedelta64(1, "h")
        with np.errstate(over="ignore"):  # infinite decay: freshness 0
            fresh = np.exp(-query.recency * np.maximum(hours, 0.0))
        aged = RELEVANCE_SHARE * relevance + (1.0 - RELEVANCE_SHARE) * fresh
        scores = aged.astype(np.float32)
    rounded = np.round(scores / AS_RELEVANT)
    layers = np.array([-LAYERS.index(memory.layer) for memory in memories])
    trusts = np.array([-memory.trust for memory in memories], dtype=np.float32)
    order = np.lexsort((trusts, layers, index.is_shared[places], -rounded))
    if not query.diverse:
        return [int(place) for place in order]
    return _diverse(index.vectors[index.rows[places]], scores, order, query.limit)


def _diverse(
    vectors: NDArray[np.float32],
    scores: NDArray[np.float32],
    order: NDArray[np.intp],
    limit: int,
) -> list[int]:
    """Return hits so that each repeats little of those before it (maximal marginal relevance)."""
    remaining: list[int] = order.tolist()
    chosen: list[int] = []
    repeated = np.zeros(len(vectors), dtype=np.float32)
    while remaining and len(chosen) < limit:
        worth = RELEVANCE_SHARE * scores[remaining] - (1.0 - RELEVANCE_SHARE) * repeated[remaining]
        best = remaining.pop(int(np.argmax(worth)))
        chosen.append(best)
        repeated = np.maximum(repeated, vectors @ vectors[best])
    return chosen
