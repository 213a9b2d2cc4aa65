"""Store and read embeddings: little-endian float32 of unit length."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from .file import MemoryFile
from .journal import Journal
from .witnesses import store_witness_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A vector whose length is this close to 1 is stored unchanged.
_UNIT_TOLERANCE = 1e-5
# How far the length of a stored vector may be from 1, because of float32 rounding.
LENGTH_TOLERANCE = 1e-3

_UPSERT = (
    "INSERT INTO embeddings (memory_id, model, dimensions, vector, content_hash, run_id) "
    # An agent may have deleted the memory meanwhile.
    "SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE EXISTS (SELECT 1 FROM memories WHERE id = ?1) "
    "ON CONFLICT (memory_id, model) DO UPDATE SET "
    "dimensions = excluded.dimensions, vector = excluded.vector, "
    "content_hash = excluded.content_hash, run_id = excluded.run_id"
)


def to_blob(vector: Sequence[float] | NDArray[np.float32]) -> bytes:
    """Return a vector, shape (d,), as a blob. Raises ValueError if it is zero or not finite."""
    import numpy as np

    with np.errstate(over="ignore"):  # overflow is refused below
        values = np.asarray(vector, dtype="<f4")
    length = float(np.linalg.norm(values.astype(np.float64)))
    if not np.isfinite(length) or length == 0.0:
        raise ValueError("an embedding must be finite and not zero")
    if abs(length - 1.0) > _UNIT_TOLERANCE:
        values = (values.astype(np.float64) / length).astype("<f4")
    return values.tobytes()


def from_blob(blob: bytes) -> NDArray[np.float32]:
    """Return the vector, shape (d,), of a blob."""
    import numpy as np

    return np.frombuffer(blob, dtype="<f4")


def is_sound(blob: object) -> bool:
    """Whether a blob is a finite float32 vector of unit length."""
    if not isinstance(blob, bytes) or not blob or len(blob) % 4:
        return False
    return abs(length_of(blob) - 1.0) <= LENGTH_TOLERANCE


def length_of(blob: bytes) -> float:
    """Return the length of a vector; NaN or infinite if a number of it is."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.linalg.norm(from_blob(blob).astype(np.float64)))


def have_unit_length(vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return for each row of an array, shape (n, d), whether its blob `is_sound`."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
        near: NDArray[np.bool_] = np.abs(np.sqrt(squares) - 1.0) <= LENGTH_TOLERANCE
    return near


def to_numbers(blob: bytes) -> list[float]:
    """Return the vector of a blob as numbers that give the same blob again."""
    # Nine significant digits identify every float32 (IEEE 754).
    return [float(f"{value:.9g}") for value in from_blob(blob).tolist()]


def store_vectors(
    file: MemoryFile, model: str, vectors: Iterable[tuple[str, str, bytes]], run_id: str | None
) -> None:
    """Store (memory id, content hash, blob) in the caller's transaction.

    A run journals the vectors that it replaces, so that undo can restore them.
    """
    vectors = list(vectors)
    if run_id is not None:
        keys = [{"memory_id": memory_id, "model": model} for memory_id, _, _ in vectors]
        Journal(file, run_id, "").journal_images("embeddings", keys)
    file.conn.executemany(
        _UPSERT,
        (
            (memory_id, model, len(blob) // 4, blob, content_hash, run_id)
            for memory_id, content_hash, blob in vectors
        ),
    )
    store_witness_vectors(file, model, vectors)


def read_vectors(file: MemoryFile, model: str, tenant: str) -> list[tuple[str, str, bytes]]:
    """Return (memory id, content hash, blob) of a model and a tenant, including purged memories."""
    exists = "EXISTS (SELECT 1 FROM memories WHERE tenant {} ?1)"
    has_more_tenants = file.value(f"SELECT {exists.format('<')} OR {exists.format('>')}", [tenant])
    # A search for the memory of each vector takes longer than reading it.
    join = "JOIN memories m ON m.id = e.memory_id AND tenant = ?2" if has_more_tenants else ""
    return file.all_tuples(
        f"SELECT memory_id, e.content_hash, vector FROM embeddings e {join} WHERE model = ?1 "
        "UNION ALL SELECT v.id, v.content_hash, vector FROM witness_vectors v "
        "JOIN witnesses w ON w.id = v.id WHERE model = ?1 AND tenant = ?2",
        [model, tenant],
    )


def read_memory_vectors(file: MemoryFile, memory_id: str) -> list[tuple[str, str, bytes]]:
    """Return (model, content hash, blob) of a memory, sorted by model."""
    cursor = file.conn.execute(
        "SELECT model, content_hash, vector FROM embeddings WHERE memory_id = ? ORDER BY model",
        [memory_id],
    )
    return list(cursor)


def read_dimensions(file: MemoryFile) -> dict[str, int]:
    """Return the number of dimensions of each model's vectors in a file."""
    return dict(file.tuples("SELECT model, max(dimensions) FROM embeddings GROUP BY model"))


def read_vectors_by_id(
    file: MemoryFile, model: str, ids: Sequence[str]
) -> Iterator[tuple[str, str, bytes]]:
    """Return (memory id, content hash, blob) of a model for the given memories."""
    return file.tuples(
        "SELECT memory_id, content_hash, vector FROM embeddings "
        "WHERE model = ? AND memory_id IN (SELECT value FROM json_each(?)) ORDER BY 1",
        [model, json.dumps(list(ids))],
    )


def replacement_hint(model: str) -> str:
    """Return what to do about stored vectors that another model of this name made."""
    name = model.replace("'", "''")
    return (
        "Pass --embedder with the model that made them, or delete them with SQL, so that the next "
        f"run computes them again: DELETE FROM embeddings WHERE model = '{name}'"
    )
