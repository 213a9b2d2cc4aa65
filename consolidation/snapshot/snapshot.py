"""Read a file once, and compute missing vectors and names."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from slowwave.consolidation.clustering.neighbours import STEP
from slowwave.consolidation.clustering.stored_graph import StoredGraph
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.thresholds import DUPLICATE_SIMILARITY
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.vectors.matrix import TextVectors
from slowwave.store.cache import count_changes, read_cached, read_parts
from slowwave.store.check import split_corrupt
from slowwave.store.entities import read_entities, read_scans
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.ledger import read_pending_keys, remembered_keys
from slowwave.store.lineage import Edge, read_edges
from slowwave.store.memories import (
    Counts,
    LongMemory,
    count_memories,
    read_derived,
    read_observed,
    read_too_long,
    select_consolidated_tenants,
)
from slowwave.store.records import Memory
from slowwave.store.shown_to_model import read_asked
from slowwave.store.vectors import read_vectors

from .cache import Cache, code_version

if TYPE_CHECKING:
    from .tenant_view import TenantView


class FindingsKeeper(Protocol):
    """Keeps computed vectors and names in the file."""

    def keep_vectors(self, vectors: Sequence[tuple[str, str, bytes]]) -> None:
        """Keep (memory id, content hash, blob)."""

    def keep_names(self, tenant: str, scans: Sequence[tuple[str, str, Sequence[str]]]) -> None:
        """Keep (memory id, content hash, names)."""


@dataclass(frozen=True)
class TenantRows:
    """The rows of one tenant."""

    tenant: str
    observed: tuple[Memory, ...]
    derived: tuple[Memory, ...]
    # Active memories that are too long to be read.
    too_long: tuple[LongMemory, ...]
    # Ids of memories whose text does not match its hash; they are left alone.
    damaged: tuple[str, ...]
    entities: dict[str, list[str]]
    # The hash of the text that was searched for names, by memory id.
    scans: dict[str, str]
    edges: tuple[Edge, ...]
    # The parts of the graph of near texts.
    graph: tuple[bytes, ...]
    # The change count.
    changes: int

    @property
    def memories(self) -> tuple[Memory, ...]:
        """All memories that need a vector."""
        return self.observed + self.derived


@dataclass(frozen=True)
class Snapshot:
    """The contents of the file for the chosen tenants."""

    # The chosen tenants, and the rows of those that are not idle.
    tenants: tuple[str, ...]
    tenants_rows: tuple[TenantRows, ...]
    counts: Counts
    # The keys of remembered decisions, and of pending proposals.
    remembered: frozenset[str]
    waiting: frozenset[str]
    # The (tenant, content hash) of each text that the model was shown.
    asked: frozenset[tuple[str, str]]
    vectors: TextVectors
    cache: Cache


def read_snapshot(
    path: Path,
    chosen: Sequence[str],
    model: str,
    now: str,
    idle: Container[str] = (),
    cache: Cache | None = None,
    full: bool = False,
    model_key: str | None = None,
    leaving: frozenset[str] = frozenset(),
) -> Snapshot:
    """Read the chosen tenants, or all; idle ones are only counted.

    cache: of an earlier survey of this run. full: ignore the findings of earlier runs. model_key:
    the hash of the model and its prompts. leaving: ids of active memories to read as deleted. The
    file is closed afterwards. Raises `StoreError`.
    """
    with open_reading(path) as file:
        tenants = select_consolidated_tenants(file, chosen)
        wanted = [tenant for tenant in tenants if tenant not in idle]
        tenants_rows = tuple(
            TenantRows(
                tenant,
                tuple(observed),
                tuple(derived),
                tuple(
                    memory
                    for memory in read_too_long(file, tenant, now)
                    if memory.id not in leaving
                ),
                damaged,
                read_entities(file, tenant),
                read_scans(file, tenant),
                tuple(read_edges(file, tenant)),
                () if full else tuple(read_parts(file, tenant, basis_of(model))),
                count_changes(file, tenant),
            )
            for tenant in wanted
            for observed, derived, damaged in [read_sound(file, tenant, now, leaving)]
        )
        if cache is None:
            cache = Cache(read_cached(file) if wanted and not full else ())
        return Snapshot(
            tuple(tenants),
            tenants_rows,
            count_memories(file, tenants, count_tokens),
            frozenset(remembered_keys(file) if wanted else ()),
            frozenset(read_pending_keys(file, wanted) if wanted else ()),
            read_asked(file, model_key) if wanted and model_key else frozenset(),
            TextVectors(
                [memory for tenant_rows in tenants_rows for memory in tenant_rows.memories],
                (vector for tenant in wanted for vector in read_vectors(file, model, tenant)),
            ),
            cache,
        )


def basis_of(model: str) -> str:
    """Return what a graph depends on besides texts and vectors."""
    return f"{code_version()} {model} {DUPLICATE_SIMILARITY} {STEP}"


def read_sound(
    file: MemoryFile, tenant: str, now: str, leaving: frozenset[str] = frozenset()
) -> tuple[list[Memory], list[Memory], tuple[str, ...]]:
    """Return the observed and the derived memories, and the ids of the damaged ones.

    Memories that are too long are left out: reading takes more than linear time. The sources of
    active damaged memories are left out, too: nothing else may be made of them.
    """
    observed, spoiled = split_corrupt(file, read_observed(file, tenant, now))
    derived, broken = split_corrupt(file, read_derived(file, tenant))
    damaged = {memory.id for memory in spoiled + broken}
    waiting: set[str] = (
        {edge.source_id for edge in read_edges(file, tenant) if edge.derived_id in damaged}
        if damaged
        else set()
    )
    waiting |= leaving
    observed = [
        memory for memory in observed if memory.status != "active" or memory.id not in waiting
    ]
    derived = [memory for memory in derived if memory.id not in leaving]
    return observed, derived, tuple(sorted(damaged - leaving))


def compute_missing(
    snapshot: Snapshot, embedder: Embedder, keeper: FindingsKeeper | None, progress: Progress
) -> list[TenantView]:
    """Compute missing vectors and names, keep them if there is a keeper, and return the views.

    A text that memories share is encoded once. Raises `EmbedderError`.
    """

    def keep(rows: Sequence[tuple[str, str, bytes]]) -> None:
        if keeper is not None:
            keeper.keep_vectors(rows)

    snapshot.vectors.complete(embedder, keep, progress)
    return [
        _view(tenant_rows, snapshot, _names(tenant_rows, keeper, snapshot.cache), progress)
        for tenant_rows in snapshot.tenants_rows
    ]


def _names(
    tenant_rows: TenantRows, keeper: FindingsKeeper | None, cache: Cache
) -> dict[str, list[str]]:
    from .features import features_of

    new = [
        (memory.id, memory.content_hash, features_of(memory, cache).names)
        for memory in tenant_rows.memories
        if tenant_rows.scans.get(memory.id) != memory.content_hash
    ]
    if keeper is not None and new:
        keeper.keep_names(tenant_rows.tenant, new)
    names = dict(tenant_rows.entities)
    for memory_id, _, found in new:
        names[memory_id] = sorted({*names.get(memory_id, ()), *found})
    return names


def _view(
    tenant_rows: TenantRows, snapshot: Snapshot, names: dict[str, list[str]], progress: Progress
) -> TenantView:
    from .tenant_view import TenantView

    derived = snapshot.vectors.of(tenant_rows.derived)
    texts: dict[str, Memory] = {}
    for memory in tenant_rows.observed:
        texts.setdefault(memory.content_hash, memory)
    return TenantView(
        tenant=tenant_rows.tenant,
        memories=tenant_rows.observed,
        text_vectors=snapshot.vectors.of(list(texts.values())),
        entities=names,
        derived=tenant_rows.derived,
        derived_vectors={
            memory.id: vector for memory, vector in zip(tenant_rows.derived, derived, strict=True)
        },
        edges=tenant_rows.edges,
        too_long=tenant_rows.too_long,
        damaged=tenant_rows.damaged,
        cache=snapshot.cache,
        graph=StoredGraph(tenant_rows.graph, partial(progress.stage, "comparing")),
    )
