"""A memory file in an agent's own program: `with AgentMemory(path) as memory:`.

The same engine as the command line's. Nothing is held open between calls, so that other agents and
the nightly run go on as they like; what has been read for a search is kept until the file changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, get_args

from slowwave.consolidation.cycle import run_cycle
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.recall.block import (
    WORTHS,
    Block,
    BlockWish,
    compose_block,
    estimated_tokens,
)
from slowwave.consolidation.recall.filter import Filter
from slowwave.consolidation.recall.hit import Hit
from slowwave.consolidation.recall.index import RecallIndex, read_recallable_of
from slowwave.consolidation.recall.search import Wish, search
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.vectors.embedder import Embedder, SentenceEmbedder
from slowwave.consolidation.writing.writer import ExtractiveWriter, Writer
from slowwave.store.check import refuse_damaged
from slowwave.store.errors import InvalidLine, StoreError
from slowwave.store.exchange import new_memory
from slowwave.store.file import create_file, maintenance_lock, open_reading, open_writing
from slowwave.store.idle import changes_of
from slowwave.store.ledger import read_run
from slowwave.store.lineage import Lineage, find_traced, trace_derived, trace_sources
from slowwave.store.memories import add_memories, tenants
from slowwave.store.records import LAYERS, Kind, timestamp
from slowwave.store.undo.undo import undo_runs


@dataclass(frozen=True)
class Trace:
    """Where a memory came from, and what was made from it."""

    sources: Lineage
    derived: Lineage


class AgentMemory:
    """One tenant's memories in a memory file.

    Errors are those of the command line: `slowwave.store.errors.StoreError` and
    `slowwave.consolidation.errors.ConsolidationError`, each with a `message` and a `hint`.
    """

    def __init__(
        self,
        path: Path | str,
        tenant: str = "default",
        embedder: Embedder | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Take the file, which is made if it is not there, and whose memories are meant.

        embedder: by default the packaged model. clock: says what time it is, with an offset.
        """
        self._path = Path(path)
        self._tenant = tenant
        self._embedder = embedder or SentenceEmbedder()
        self._clock = clock
        self._index: RecallIndex | None = None
        # Which file was read for it, and how often that had been changed.
        self._state: tuple[int, int, int, int] | None = None

    def __enter__(self) -> Self:
        """Make the file if it is not there. Raises `StoreError`."""
        if not self._path.exists():
            create_file(self._path)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let go of what was read."""
        self._forget()

    def add(self, text: str, **fields: Any) -> str:
        """Store a memory and return its id.

        fields: those of an imported line but `tenant` (kind, layer, tags, observed_at ...). Raises
        `StoreError` if a field is wrong, or the text blank.
        """
        if not text.strip():
            raise InvalidLine("This is not a memory: its text is blank.")
        if not fields.keys().isdisjoint({"content", "tenant"}):
            raise InvalidLine("The text, and whose memory it is, are no further fields.")
        memory = new_memory({"content": text, "tenant": self._tenant, **fields}, self._clock())
        with open_writing(self._path) as file, file.transaction():
            add_memories(file, [memory])
        return memory.id

    def recall(
        self,
        query: str,
        limit: int = 10,
        *,
        kind: str | None = None,
        layer: str | None = None,
        tags: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        recency: float | None = None,
        diverse: bool = False,
    ) -> list[Hit]:
        """Return what is remembered of a question, best first.

        since and until: when it was observed. as_of: what was so then. Moments without an offset
        are UTC. recency: how fast what is old counts less, by exp(-recency x hours), 0 or more.
        diverse: what repeats better hits stands back. Raises `StoreError`, also for a kind or a
        layer that there is none of.
        """
        _refuse_unknown("kind", kind, get_args(Kind))
        _refuse_unknown("layer", layer, LAYERS)
        if isinstance(tags, str):
            raise StoreError(f"Tags are a list: ['{tags}'].")
        if recency is not None and not recency >= 0.0:
            raise StoreError(f"Recency is 0 or more, not {recency}.")
        found = Filter((), kind, layer, tuple(tags), _moment(since), _moment(until))
        wish = Wish(query, limit, found, _moment(as_of), recency, diverse)
        index = self._up_to_date()
        return [] if index is None else search(index, wish, timestamp(self._clock()))

    def block(
        self,
        query: str,
        budget: int = 4_500,
        worths: Mapping[str, float] | None = None,
        tokens_of: Callable[[str], int] = estimated_tokens,
    ) -> Block:
        """Return a block of context for a prompt; its `text` is "" if nothing is remembered.

        budget: in tokens, as `tokens_of` counts them (by default four characters a token). worths:
        in place of those of `slowwave.consolidation.recall.block.WORTHS`, from 0 to 1. Raises
        `StoreError`.
        """
        for name, worth in (worths or {}).items():
            _refuse_unknown("worth", name, tuple(WORTHS))
            if not 0.0 <= worth <= 1.0:
                raise StoreError(f"The worth of {name} is from 0 to 1, not {worth}.")
        index = self._up_to_date()
        if index is None:
            return Block((), 0)
        now = timestamp(self._clock())
        return compose_block(index, Wish(query), BlockWish(budget, worths or {}), now, tokens_of)

    def consolidate(self, dry_run: bool = False, writer: Writer | None = None) -> Outcome:
        """Run the night for this tenant, or say what it would do.

        writer: by default the built-in one; `slowwave.consolidation.model.writer.ModelWriter` asks
        a model. Raises `StoreError` and `ConsolidationError` if nothing was changed.
        """
        with open_reading(self._path) as file:
            is_empty = not tenants(file)
        options = CycleOptions(tenants=() if is_empty else (self._tenant,))
        return run_cycle(
            self._path,
            options,
            self._embedder,
            writer or ExtractiveWriter(),
            self._clock(),
            dry_run,
        )

    def trace(self, memory_id: str) -> Trace:
        """Return the lineage of a memory, both ways, by its id. Raises `StoreError`."""
        with open_reading(self._path) as file:
            found = find_traced(file, memory_id)
            return Trace(trace_sources(file, found.id), trace_derived(file, found.id))

    def undo(self, run_id: str) -> list[str]:
        """Take a run back, and return the ids of its proposals. Raises `StoreError`.

        run_id: may be shortened as on the command line; a run that there is none of is refused.
        """
        with maintenance_lock(self._path), open_writing(self._path) as file:
            refuse_damaged(file)
            return undo_runs(file, [read_run(file, run_id).id], timestamp(self._clock()))

    def _up_to_date(self) -> RecallIndex | None:
        """Return an index of what the file says now; None if the tenant has no memory yet."""
        with open_reading(self._path) as file:
            if self._tenant not in tenants(file):
                return None
            found = self._path.stat()
            # Another file of this name may have been changed as often.
            state = found.st_dev, found.st_ino, found.st_mtime_ns, changes_of(file, self._tenant)
        if self._index is None or self._state != state:
            self._forget()
            self._state = state
            recallable = read_recallable_of(self._path, (self._tenant,), self._embedder.name)
            self._index = RecallIndex(recallable, self._embedder)
        return self._index

    def _forget(self) -> None:
        if self._index is not None:
            self._index.words.close()
            self._index = None


def _moment(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _refuse_unknown(what: str, name: str | None, known: Sequence[str]) -> None:
    if name is not None and name not in known:
        raise StoreError(f"There is no {what} '{name}'.", f"There are: {', '.join(known)}.")
