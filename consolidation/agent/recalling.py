"""What `AgentMemory` finds for a question: hits, and blocks for a prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, time
from math import inf
from threading import RLock
from typing import TypedDict, Unpack, get_args

from slowwave.consolidation.recall.block import (
    BlockOptions,
    ContextBlock,
    compose_block,
    estimated_tokens,
)
from slowwave.consolidation.recall.index import Recallable, RecallIndex, read_recallable_of
from slowwave.consolidation.recall.search import Hits, SearchQuery, search
from slowwave.consolidation.recall.searched import SearchedMemories
from slowwave.consolidation.thresholds import MIN_RELEVANCE, WORTHS
from slowwave.consolidation.vectors.matrix import TextVectors
from slowwave.store.cache import count_changes
from slowwave.store.connection import translate_errors
from slowwave.store.errors import StoreError
from slowwave.store.file import open_reading
from slowwave.store.memories import tenants
from slowwave.store.memory_filter import NO_LIMIT, Filter
from slowwave.store.records import LAYERS, Kind, timestamp, timestamp_of
from slowwave.store.shared_tenant import shared_tenants

from .correcting import TenantFile


class RecallOptions(TypedDict, total=False):
    """Which memories `recall` and `block` search, and how; absent ones match any."""

    kind: str | Sequence[str] | None
    layer: str | Sequence[str] | None
    # At least one of these.
    tags: Sequence[str]
    session: str | Sequence[str] | None
    # Bounds of `observed_at`: a time, or a day or a time in ISO 8601; without an offset it is UTC.
    since: datetime | str | None
    until: datetime | str | None
    # Search what was valid then.
    as_of: datetime | str | None
    # The decay of old memories, exp(-recency x hours), 0 or more.
    recency: float | None
    # Demote hits that repeat better ones.
    diverse: bool
    # Without a hit this relevant, 0 to 1, nothing is found; hits less than a third as relevant as
    # the best are omitted; 0 for all. By default
    # `slowwave.consolidation.thresholds.MIN_RELEVANCE`.
    min_relevance: float
    # Whether to search shared facts, too; by default, yes.
    shared: bool


class RecallingMemory(TenantFile):
    """Searches the memories; the index is rebuilt when the file changes."""

    _index: RecallIndex | None = None
    # The identity and the change counts of the indexed file.
    _state: tuple[int, ...] = ()
    # Threads search in turn: a search of a changed file closes the index of the one before.
    _searching: RLock

    def recall(self, query: str, limit: int = 10, **options: Unpack[RecallOptions]) -> Hits:
        """Return the memories that are relevant to a question, best first.

        limit: 0 for no limit. options: those of `RecallOptions`. The list's `words_only` is why
        vectors were not searched, if they were not. Raises `StoreError`, also for an unknown kind.
        """
        if type(limit) is not int or limit < 0:
            raise StoreError(f"The limit must be an integer of at least 0, not {limit!r}.")
        wish = self._query(query, limit or NO_LIMIT, options)
        with self._searching, translate_errors(self._path):
            return search(self._current_index(), wish, timestamp(self._clock()))

    def block(
        self,
        query: str,
        budget: int = 4_500,
        worths: Mapping[str, float] | None = None,
        tokens_of: Callable[[str], int] = estimated_tokens,
        fragments: Mapping[str, Sequence[str]] | None = None,
        **options: Unpack[RecallOptions],
    ) -> ContextBlock:
        """Return a context block for a prompt; its `text` is "" if nothing is found.

        budget: in tokens, counted by `tokens_of` (by default four characters per token). worths:
        override those of `slowwave.consolidation.thresholds.WORTHS`, from 0 to 1. fragments: your
        own texts by their source, {"playbook": ["..."]}, whose worth may be in `worths`, too.
        options: those of `RecallOptions`. Raises `StoreError`.
        """
        if not budget > 0:
            raise StoreError(f"The budget must be positive, not {budget}.")
        block = BlockOptions(budget, worths or {}, fragments or {})
        if any(isinstance(texts, str) for texts in block.fragments.values()):
            raise StoreError("The fragments of a source must be a list of texts.")
        for name, worth in block.worths.items():
            refuse_unknown("worth", name, (*WORTHS, *block.fragments))
            if not 0.0 <= worth <= 1.0:
                raise StoreError(f"The worth of {name} must be from 0 to 1, not {worth}.")
        wish, now = self._query(query, 0, options), timestamp(self._clock())
        with self._searching, translate_errors(self._path):
            return compose_block(self._current_index(), wish, block, now, tokens_of)

    def _drop_index(self) -> None:
        if self._index is not None:
            self._index.words.close()
            self._index = None

    def _query(self, query: str, limit: int, options: RecallOptions) -> SearchQuery:
        """Return a checked query. Raises `StoreError`, and TypeError for an unknown option."""
        if unknown := sorted(options.keys() - RecallOptions.__annotations__.keys()):
            raise TypeError(f"unexpected keyword argument '{unknown[0]}'")
        if not isinstance(query, str) or not query.strip():
            raise StoreError("The question is blank.", "Pass a question, or words.")
        kinds, layers = _texts(options.get("kind")), _texts(options.get("layer"))
        for kind in kinds:
            refuse_unknown("kind", kind, get_args(Kind))
        for layer in layers:
            refuse_unknown("layer", layer, LAYERS)
        tags = options.get("tags") or ()
        if isinstance(tags, str):
            raise StoreError(f"Tags must be a list: ['{tags}'].")
        recency = options.get("recency")
        min_relevance = options.get("min_relevance", MIN_RELEVANCE)
        if recency is not None and not 0.0 <= recency < inf:
            raise StoreError(f"Recency must be a finite number of at least 0, not {recency}.")
        if not 0.0 <= min_relevance <= 1.0:
            raise StoreError(f"The minimum relevance must be from 0 to 1, not {min_relevance}.")
        memory_filter = Filter(
            () if options.get("shared", True) else (self._tenant,),
            kinds,
            layers,
            tuple(tags),
            _texts(options.get("session")),
            timestamp_of(options.get("since"), time.min, "since"),
            timestamp_of(options.get("until"), time.max, "until"),
        )
        as_of = timestamp_of(options.get("as_of"), time.max, "as_of")
        diverse = options.get("diverse", False)
        return SearchQuery(query, limit, memory_filter, as_of, recency, diverse, min_relevance)

    def _current_index(self) -> RecallIndex:
        with open_reading(self._path) as file:
            searched = {self._tenant, *shared_tenants(file)}.intersection(tenants(file))
            counts = [count_changes(file, tenant) for tenant in sorted(searched)]
            stat = self._path.stat()
            # A replacement of the file may have the same change counts.
            state = stat.st_dev, stat.st_ino, stat.st_mtime_ns, *counts
        # Embedding that failed may succeed now.
        if self._index is None or self._state != state or self._index.words_only is not None:
            self._drop_index()
            self._state = state
            recallable = Recallable(SearchedMemories(()), (), TextVectors((), ()))
            if searched:
                recallable = read_recallable_of(self._path, sorted(searched), self._embedder.name)
            self._index = RecallIndex(recallable, self._embedder, words_suffice=True)
        return self._index


def _texts(texts: str | Sequence[str] | None) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts or ())


def refuse_unknown(what: str, name: str, available: Sequence[str]) -> None:
    """Raise `StoreError` for a name that is not one of those available."""
    if name not in available:
        raise StoreError(f"There is no {what} '{name}'.", f"Available: {', '.join(available)}.")
