"""Memories as JSON lines: the way in from other tools, and the way out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from .entities import entities_of, keep_entities
from .errors import InvalidLine
from .file import MemoryFile
from .lineage import add_edges, edges_into
from .memories import add_memories, read_memories
from .records import Kind, Layer, Memory, Origin, Status, content_hash, json_text, new_id, timestamp
from .vectors import dimensions_of, from_blob, keep_vectors, to_blob, vectors_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# How many lines are written by one statement: enough to be fast, few enough to stay small.
_BATCH = 1_000


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class _Vector(_Part):
    model: str = Field(min_length=1)
    vector: list[float] = Field(min_length=1)


class _Edge(_Part):
    source_id: str
    operation: Literal["merge", "synthesize", "extract"]
    run_id: str
    source_hash: str
    source_content: str | None = None
    created_at: AwareDatetime


class _Line(_Part):
    """One line. All but `content` is optional; what `export --all` adds stands at the end."""

    content: str = Field(min_length=1)
    id: str | None = Field(default=None, min_length=1)
    tenant: str = Field(default="default", min_length=1)
    kind: Kind = "fact"
    layer: Layer = "working"
    origin: Origin = "agent"
    trust: float = Field(default=0.5, ge=0, le=1)
    importance: int = Field(default=3, ge=1, le=5)
    pinned: bool = False
    source: str | None = None
    session: str | None = None
    tags: list[str] = []
    metadata: dict[str, Any] = {}
    observed_at: AwareDatetime | None = None
    created_at: AwareDatetime | None = None
    expires_at: AwareDatetime | None = None
    entities: list[str] = []
    embedding: list[float] | None = Field(default=None, min_length=1)
    embedding_model: str | None = Field(default=None, min_length=1)

    status: Status = "active"
    generation: int = Field(default=0, ge=0)
    access_count: int = Field(default=0, ge=0)
    updated_at: AwareDatetime | None = None
    accessed_at: AwareDatetime | None = None
    superseded_by: str | None = None
    superseded_at: AwareDatetime | None = None
    more_embeddings: list[_Vector] = []
    synthesized_from: list[_Edge] = []

    def memory(self, now: str) -> Memory:
        created = _text(self.created_at) or now
        return Memory(
            id=self.id or new_id(),
            tenant=self.tenant,
            content=self.content,
            kind=self.kind,
            layer=self.layer,
            status=self.status,
            origin=self.origin,
            trust=self.trust,
            importance=self.importance,
            pinned=self.pinned,
            generation=self.generation,
            source=self.source,
            session=self.session,
            tags=tuple(self.tags),
            metadata=self.metadata,
            content_hash=content_hash(self.content),
            access_count=self.access_count,
            observed_at=_text(self.observed_at) or created,
            created_at=created,
            updated_at=_text(self.updated_at) or created,
            accessed_at=_text(self.accessed_at),
            expires_at=_text(self.expires_at),
            superseded_by=self.superseded_by,
            superseded_at=_text(self.superseded_at),
        )

    def vectors(self) -> dict[str, list[float]]:
        """Give the vectors by model. Raises ValueError where the two fields do not go together."""
        if (self.embedding is None) != (self.embedding_model is None):
            raise ValueError("embedding and embedding_model go together")
        first = {self.embedding_model: self.embedding}
        return {
            model: vector
            for model, vector in (
                first | {more.model: more.vector for more in self.more_embeddings}
            ).items()
            if model is not None and vector is not None
        }


@dataclass(frozen=True)
class _Parsed:
    memory: Memory
    entities: tuple[str, ...]
    blobs: dict[str, bytes]
    edges: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Skipped:
    """A line that was left out, and why."""

    line: int
    reason: str


def new_memory(fields: dict[str, Any], now: datetime) -> Memory:
    """Give a memory from the fields of a line. Raises `InvalidLine` with the reason."""
    try:
        # By way of JSON, so that one memory is held to what a line is held to.
        line = json.dumps(fields).encode()
        return _parsed(line).memory(timestamp(now))
    except ValueError as error:
        raise InvalidLine(f"This is not a memory: {_reason(error)}.") from error


def import_lines(
    file: MemoryFile,
    lines: Iterable[bytes],
    now: datetime,
    skip_invalid: bool = False,
    progress: Callable[[int], None] = lambda lines: None,
) -> tuple[int, list[Skipped]]:
    """Add one memory a line, streaming, all of them in one transaction.

    `progress` is told the number of lines read so far. Gives how many memories were added and
    the lines left out. Raises `InvalidLine` at the first bad line, with nothing added, unless
    such lines are to be skipped.
    """
    reader = _Reader(file, timestamp(now))
    added, skipped = 0, []
    numbered = enumerate(lines, start=1)
    with file.transaction():
        while batch := list(islice(numbered, _BATCH)):
            good = []
            for number, line in batch:
                try:
                    if line.strip():
                        good.append(reader.parse(line))
                except ValueError as error:
                    skipped.append(Skipped(number, _reason(error)))
                    if not skip_invalid:
                        raise InvalidLine(
                            f"Line {number} is not valid: {skipped[-1].reason}. "
                            "Nothing was imported.",
                            "Correct the line, or pass --skip-invalid to import the others.",
                        ) from error
            _write(file, good)
            added += len(good)
            progress(batch[-1][0])
    return added, skipped


def export_lines(file: MemoryFile, everything: bool) -> Iterator[str]:
    """Give one JSON line a memory, in the order of ids: the active ones, or every one.

    A line holds all that belongs to the memory, so that importing the lines of `everything`
    into a new file gives the same memories, vectors, names and lineage.
    """
    for memory in read_memories(file, status=None if everything else "active"):
        yield json_text(_exported(file, memory, everything))


class _Reader:
    """Turns lines into values, and knows what earlier lines and the file have said."""

    def __init__(self, file: MemoryFile, now: str) -> None:
        self._file = file
        self._now = now
        self._dimensions = dimensions_of(file)
        self._seen: set[str] = set()

    def parse(self, text: bytes) -> _Parsed:
        """Give what a line says. Raises ValueError with the reason if it is not valid."""
        line = _parsed(text)
        memory = line.memory(self._now)
        vectors = line.vectors()
        for model, vector in vectors.items():
            expected = self._dimensions.setdefault(model, len(vector))
            if len(vector) != expected:
                raise ValueError(
                    f"the embedding has {len(vector)} dimensions, "
                    f"but {model} has {expected} in this file"
                )
        blobs = {model: to_blob(vector) for model, vector in vectors.items()}
        self._refuse_known(memory.id)
        edges = tuple(
            edge.model_dump() | {"derived_id": memory.id, "created_at": timestamp(edge.created_at)}
            for edge in line.synthesized_from
        )
        return _Parsed(memory, tuple(line.entities), blobs, edges)

    def _refuse_known(self, memory_id: str) -> None:
        known = memory_id in self._seen or self._file.value(
            "SELECT 1 FROM memories WHERE id = ?", [memory_id]
        )
        if known:
            raise ValueError(f"a memory with the id {memory_id} exists already")
        self._seen.add(memory_id)


def _parsed(text: bytes) -> _Line:
    line = _Line.model_validate_json(text)
    if "\x00" in line.content:
        raise ValueError("content holds a NUL character")
    return line


def _write(file: MemoryFile, parsed: list[_Parsed]) -> None:
    add_memories(file, (one.memory for one in parsed))
    by_model: dict[str, list[tuple[str, str, bytes]]] = {}
    by_tenant: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for one in parsed:
        for model, blob in one.blobs.items():
            by_model.setdefault(model, []).append((one.memory.id, one.memory.content_hash, blob))
        if one.entities:
            by_tenant.setdefault(one.memory.tenant, []).append((one.memory.id, one.entities))
    for model, vectors in by_model.items():
        keep_vectors(file, model, vectors, run_id=None)
    for tenant, mentions in by_tenant.items():
        keep_entities(file, tenant, mentions, run_id=None)
    add_edges(file, (edge for one in parsed for edge in one.edges))


def _exported(file: MemoryFile, memory: Memory, everything: bool) -> dict[str, Any]:
    kept = vars(memory) | {"entities": [name for name, _ in entities_of(file, memory.id)]}
    del kept["content_hash"]
    vectors = vectors_of(file, memory.id)
    if vectors:
        kept["embedding_model"], kept["embedding"] = vectors[0][0], _numbers(vectors[0][1])
    if not everything:
        return _without_defaults(kept)
    kept["more_embeddings"] = [
        {"model": model, "vector": _numbers(blob)} for model, blob in vectors[1:]
    ]
    kept["synthesized_from"] = [
        {name: value for name, value in edge.items() if name != "derived_id"}
        for edge in edges_into(file, memory.id)
    ]
    return _without_defaults(kept)


def _without_defaults(kept: dict[str, Any]) -> dict[str, Any]:
    """Leave out what an import would put there by itself, so that people can read a line."""
    defaults = {name: field.default for name, field in _Line.model_fields.items()}
    return {
        name: value
        for name, value in kept.items()
        if name in ("id", "tenant") or value not in (defaults[name], ())
    }


def _numbers(blob: bytes) -> list[float]:
    # Nine significant digits bring every float32 back to the bit (IEEE 754).
    values: NDArray[np.float32] = from_blob(blob)
    return [float(f"{value:.9g}") for value in values.tolist()]


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else timestamp(moment.astimezone(UTC))


def _reason(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    said = first["msg"][:1].lower() + first["msg"][1:]
    return f"{where}: {said}" if where else said
