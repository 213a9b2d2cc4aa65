"""Read a file once, and compute missing vectors."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.consolidation.clustering.forest import StoredForest
from slowwave.consolidation.clustering.neighbours import STEP
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.runtime.threads import start_in_thread
from slowwave.consolidation.text.tokens import count_tokens
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.vectors.matrix import Keep, TextVectors
from slowwave.store.cache import count_changes, read_findings, read_forest
from slowwave.store.check import split_corrupt
from slowwave.store.entities import read_entities
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.ledger import read_pending_keys, remembered_keys
from slowwave.store.lineage import read_edges
from slowwave.store.memories import (
    Counts,
    count_memories,
    read_derived,
    read_observed,
    read_too_long,
    select_consolidated_tenants,
)
from slowwave.store.records import Memory
from slowwave.store.shown_to_model import read_asked, read_disputes, read_settled
from slowwave.store.vectors import read_vectors

from .cache import Cache, code_version

if TYPE_CHECKING:
    from .tenant_view import TenantView


@dataclass(frozen=True)
class Snapshot:
    """The contents of the file for the chosen tenants."""

    # The chosen tenants, and the contents of those that are not idle.
    tenants: tuple[str, ...]
    views: tuple[TenantView, ...]
    counts: Counts
    # The keys of remembered decisions, and of pending proposals.
    remembered: frozenset[str]
    pending: frozenset[str]
    # The (tenant, content hash) of each text that the model was shown.
    asked: frozenset[tuple[str, str]]
    vectors: TextVectors
    cache: Cache


def read_snapshot(
    path: Path,
    options: CycleOptions,
    *,
    model: str,
    model_key: str | None,
    now: str,
    progress: Progress,
    idle: Container[str] = (),
    cache: Cache | None = None,
    leaving: frozenset[str] = frozenset(),
) -> Snapshot:
    """Read the tenants of a night; idle ones are only counted.

    model: the embedding model. model_key: the hash of the writing model and its prompts. cache: of
    an earlier survey of this run; without it, the option `full` ignores the findings of earlier
    runs. leaving: ids of active memories to read as deleted. The file is closed afterwards. Raises
    `StoreError`.
    """
    with open_reading(path) as file:
        tenants = select_consolidated_tenants(file, options.tenants)
        wanted = [tenant for tenant in tenants if tenant not in idle]
        is_full = cache is None and options.full
        if cache is None:
            cache = Cache(read_findings(file) if wanted and not is_full else ())
        sound = {tenant: read_sound(file, tenant, now, leaving) for tenant in wanted}
        vectors = TextVectors(
            [memory for observed, derived, _ in sound.values() for memory in observed + derived],
            (vector for tenant in wanted for vector in read_vectors(file, model, tenant)),
        )
        views: list[TenantView] = []
        for tenant, (observed, derived, damaged) in sound.items():
            # Imported late: a night without work does not load what reads texts.
            from .tenant_view import TenantView

            too_long = read_too_long(file, tenant, now)
            forest = b"" if is_full else read_forest(file, tenant, basis_of(model))
            view = TenantView(
                tenant,
                tuple(observed),
                tuple(derived),
                vectors,
                entities=read_entities(file, tenant),
                edges=tuple(read_edges(file, tenant)),
                too_long=tuple(memory for memory in too_long if memory.id not in leaving),
                damaged=damaged,
                settled=read_settled(file, tenant),
                disputes=tuple(read_disputes(file, tenant)),
                changes=count_changes(file, tenant),
                cache=cache,
                forest=StoredForest(forest),
                report=partial(progress.stage, "comparing"),
            )
            views.append(view)
        return Snapshot(
            tuple(tenants),
            tuple(views),
            count_memories(file, tenants, count_tokens),
            frozenset(remembered_keys(file) if wanted else ()),
            frozenset(read_pending_keys(file, wanted) if wanted else ()),
            read_asked(file, model_key) if wanted else frozenset(),
            vectors,
            cache,
        )


def basis_of(model: str) -> str:
    """Return what a forest depends on besides texts and vectors."""
    return f"{code_version()} {model} {STEP}"


def read_sound(
    file: MemoryFile, tenant: str, now: str, leaving: frozenset[str] = frozenset()
) -> tuple[list[Memory], list[Memory], tuple[str, ...]]:
    """Return the observed and the derived memories, and the ids of the damaged ones.

    Active memories past their `expires_at` are omitted, and those that are too long: reading takes
    more than linear time. So are the sources of active damaged memories: nothing else may be made
    of them.
    """
    observed, corrupt = split_corrupt(file, read_observed(file, tenant, now))
    derived, broken = split_corrupt(file, read_derived(file, tenant))
    damaged = {memory.id for memory in corrupt + broken}
    omitted = set(leaving)
    if damaged:
        edges = read_edges(file, tenant)
        omitted |= {edge.source_id for edge in edges if edge.derived_id in damaged}
    observed = [
        memory for memory in observed if memory.status != "active" or memory.id not in omitted
    ]
    derived = [
        memory for memory in derived if memory.id not in leaving and not memory.has_expired(now)
    ]
    return observed, derived, tuple(sorted(damaged - leaving))


def compute_missing(
    snapshot: Snapshot,
    embedder: Embedder,
    keep: Keep | None,
    progress: Progress,
    compares: bool = False,
) -> None:
    """Compute missing vectors, and keep them if `keep` is not None.

    A text that memories share is encoded once. compares: whether near texts are looked for, too,
    if most must be compared: numpy does that while Python reads texts. Raises `EmbedderError`.
    """
    snapshot.vectors.complete(embedder, keep or (lambda rows: None), progress)
    for view in snapshot.views:
        if compares and not (view.forest.is_kept or snapshot.asked):
            findings = ("all_near", "text_features")
            jobs = [start_in_thread(partial(getattr, view, name)) for name in findings]
            for job in jobs:
                job.result()
