"""What a file holds, read once, with the vectors and names that were missing computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from slowwave.store.check import part_spoiled
from slowwave.store.entities import read_entities, read_scans
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.ledger import remembered_keys
from slowwave.store.lineage import Edge, read_edges
from slowwave.store.memories import (
    Counts,
    chosen_tenants,
    count_memories,
    read_derived,
    read_observed,
)
from slowwave.store.records import Memory
from slowwave.store.vectors import from_blob, is_sound, read_vectors, to_blob

from .embed import Embedder, encode_portions
from .entities import names_in
from .population import Population, sorted_by_length
from .progress import Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Keeper(Protocol):
    """Writes what was computed into the file, where there is one to write to."""

    def keep_vectors(self, vectors: Sequence[tuple[str, str, bytes]]) -> None:
        """Keep (memory id, content hash, blob)."""

    def keep_names(self, tenant: str, scans: Sequence[tuple[str, str, Sequence[str]]]) -> None:
        """Keep (memory id, content hash, names)."""


@dataclass(frozen=True)
class Shelf:
    """What the file holds of one tenant."""

    tenant: str
    observed: tuple[Memory, ...]
    derived: tuple[Memory, ...]
    # Active memories that are longer than a night reads; the others do without them.
    too_long: tuple[Memory, ...]
    # Ids of memories whose text is no longer what it was: they stay as they are.
    damaged: tuple[str, ...]
    # Per memory id: the hash of the text that the vector was made from, and the vector.
    vectors: dict[str, tuple[str, bytes]]
    entities: dict[str, list[str]]
    # Per memory id, the hash of the text that was searched for names.
    scans: dict[str, str]
    edges: tuple[Edge, ...]

    @property
    def memories(self) -> tuple[Memory, ...]:
        """All that must have a vector."""
        return self.observed + self.derived


@dataclass(frozen=True)
class Library:
    """What the file holds of the tenants chosen, read at one moment."""

    shelves: tuple[Shelf, ...]
    counts: Counts
    # Keys of decisions that stand.
    remembered: frozenset[str]

    @property
    def tenants(self) -> tuple[str, ...]:
        """The tenants chosen."""
        return tuple(shelf.tenant for shelf in self.shelves)


def read_library(path: Path, chosen: Sequence[str], model: str, now: str) -> Library:
    """Read what is due of the tenants named, or of all. Raises `StoreError`.

    The file is open only as long as it takes to read.
    """
    with open_reading(path) as file:
        wanted = chosen_tenants(file, chosen)
        shelves = tuple(
            Shelf(
                tenant,
                *sorted_by_length(observed, derived),
                damaged,
                {one: (of, blob) for one, of, blob in read_vectors(file, model, tenant)},
                read_entities(file, tenant),
                read_scans(file, tenant),
                tuple(read_edges(file, tenant)),
            )
            for tenant in wanted
            for observed, derived, damaged in [read_sound(file, tenant, now)]
        )
        counts = count_memories(file, wanted)
        return Library(shelves, counts, frozenset(remembered_keys(file)))


def read_sound(
    file: MemoryFile, tenant: str, now: str
) -> tuple[list[Memory], list[Memory], tuple[str, ...]]:
    """Give what was observed and what was derived, without the damaged, whose ids come last.

    What an active damaged memory was made from is left out too: it stands for them still, and
    nothing else is to be made of them.
    """
    observed, spoiled = part_spoiled(file, read_observed(file, tenant, now))
    derived, broken = part_spoiled(file, read_derived(file, tenant))
    damaged = {memory.id for memory in spoiled + broken}
    waiting = (
        {edge.source_id for edge in read_edges(file, tenant) if edge.derived_id in damaged}
        if damaged
        else set()
    )
    observed = [one for one in observed if one.status != "active" or one.id not in waiting]
    return observed, derived, tuple(sorted(damaged))


def complete(
    library: Library, embedder: Embedder, keeper: Keeper | None, progress: Progress
) -> list[Population]:
    """Compute what is missing, keep it if there is a keeper, and give the populations.

    A text that several memories share is encoded once. Raises `EmbedderError`.
    """
    vectors = _all_vectors(library, embedder, keeper, progress)
    return [_population(shelf, vectors, _names(shelf, keeper)) for shelf in library.shelves]


def _all_vectors(
    library: Library,
    embedder: Embedder,
    keeper: Keeper | None,
    progress: Progress,
    size: int | None = None,
) -> dict[str, bytes]:
    """Give the blob of each text by the hash of the text, all of one size.

    A kept vector that is damaged is computed anew.
    """
    size = size or _usual_size(library)
    known: dict[str, bytes] = {}
    lacking: dict[str, list[Memory]] = {}
    for shelf in library.shelves:
        for memory in shelf.memories:
            of, blob = shelf.vectors.get(memory.id, ("", b""))
            if of == memory.content_hash and len(blob) == size and is_sound(blob):
                known.setdefault(of, blob)
            else:
                lacking.setdefault(memory.content_hash, []).append(memory)
    borrowed = [one for text in lacking.keys() & known.keys() for one in lacking[text]]
    _keep(keeper, borrowed, known)
    hashes = sorted(lacking.keys() - known.keys())
    texts = [lacking[text][0].content for text in hashes]

    def report(done: int, total: int) -> None:
        progress.stage("embedding", done, total)

    for positions, encoded in encode_portions(embedder, texts, report):
        for at, vector in zip(positions, encoded, strict=True):
            known[hashes[at]] = to_blob(vector)
        _keep(keeper, [one for at in positions for one in lacking[hashes[at]]], known)
    computed = len(known[hashes[0]]) if hashes else size
    if computed != size and len(known) > len(hashes):
        # Another model has gone by this name: what it left is of no use.
        return _all_vectors(library, embedder, keeper, progress, computed)
    return known


def _usual_size(library: Library) -> int:
    """Give the size of most of the kept vectors; 0 if there are none."""
    blobs = (blob for shelf in library.shelves for _, blob in shelf.vectors.values())
    sizes = Counter(len(blob) for blob in blobs if isinstance(blob, bytes))
    return max(sizes, key=lambda one: (sizes[one], one), default=0)


def _keep(keeper: Keeper | None, memories: Iterable[Memory], blobs: dict[str, bytes]) -> None:
    rows = [(one.id, one.content_hash, blobs[one.content_hash]) for one in memories]
    if keeper is not None and rows:
        keeper.keep_vectors(rows)


def _names(shelf: Shelf, keeper: Keeper | None) -> dict[str, list[str]]:
    new = [
        (memory.id, memory.content_hash, names_in(memory.content))
        for memory in shelf.memories
        if shelf.scans.get(memory.id) != memory.content_hash
    ]
    if keeper is not None and new:
        keeper.keep_names(shelf.tenant, new)
    names = dict(shelf.entities)
    for memory_id, _, found in new:
        names[memory_id] = sorted({*names.get(memory_id, ()), *found})
    return names


def _population(shelf: Shelf, blobs: dict[str, bytes], names: dict[str, list[str]]) -> Population:
    import numpy as np

    def vector(memory: Memory) -> NDArray[np.float32]:
        return from_blob(blobs[memory.content_hash])

    observed = [vector(memory) for memory in shelf.observed]
    matrix = np.stack(observed) if observed else np.empty((0, 1), np.float32)
    return Population(
        tenant=shelf.tenant,
        memories=shelf.observed,
        vectors=matrix,
        entities=names,
        derived=shelf.derived,
        derived_vectors={memory.id: vector(memory) for memory in shelf.derived},
        edges=shelf.edges,
        too_long=shelf.too_long,
        damaged=shelf.damaged,
    )
