"""Import and export memories as JSON Lines."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from itertools import islice
from typing import Any, NamedTuple

from .entities import read_memory_entities, store_entities
from .errors import InvalidLine, StoreError
from .file import MemoryFile
from .history import History, parse_history
from .jsonl import DEFAULTS, describe_error, parse_line, refuse_unusable_text
from .lineage import add_edges, read_source_edges
from .memories import add_memories, read_memories
from .purge import read_forgotten
from .records import Memory, content_hash, json_text, timestamp
from .shared_tenant import refuse_unpublished
from .vectors import read_dimensions, read_memory_vectors, store_vectors, to_blob, to_numbers

# How many lines are written by one statement.
_BATCH = 1_000
_HISTORY_LEFT_OUT = "run history can only be imported into a new file; the memories were imported"


class _Forgotten(ValueError):
    """The memory of a line, or one that it is derived from, was forgotten: it never comes back."""


class _Parsed(NamedTuple):
    memory: Memory
    entities: list[str]
    blobs: dict[str, bytes]
    edges: list[dict[str, Any]]


# The memories that are not superseded, or whose successors lead to one that is not.
_WITH_END = (
    "WITH RECURSIVE down (id) AS (SELECT id FROM memories WHERE superseded_by IS NULL "
    "UNION SELECT m.id FROM down JOIN memories m ON m.superseded_by = down.id) SELECT id FROM down"
)


@dataclass(frozen=True)
class Skipped:
    """A skipped line and the reason."""

    line: int
    reason: str


def new_memory(fields: dict[str, Any], now: datetime) -> Memory:
    """Return a memory from the fields of a line. Raises `InvalidLine`."""
    try:
        # Through JSON, so that the same checks apply as to a line.
        line = json.dumps(fields, ensure_ascii=False, default=_in_iso_8601).encode()
        return parse_line(line).memory(timestamp(now))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidLine(f"This memory is not valid: {describe_error(error)}.") from error


def _in_iso_8601(value: object) -> str:
    if isinstance(value, date):  # or a `datetime`
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} cannot be stored")


def memory_from_text(text: str, fields: dict[str, Any], now: datetime) -> Memory:
    """Return a memory from its text and the other fields of a line.

    Raises `InvalidLine`, also if the text is blank or too long.
    """
    try:
        refuse_unusable_text(text)
    except ValueError as error:
        raise InvalidLine(f"This memory is not valid: {error}.") from error
    return new_memory({"content": text, **fields}, now)


def import_lines(
    file: MemoryFile,
    lines: Iterable[bytes],
    now: datetime,
    skip_invalid: bool = False,
    progress: Callable[[int], None] = lambda lines: None,
) -> tuple[int, list[Skipped]]:
    """Add a memory per line, streaming, in one transaction.

    progress: called with the number of lines read so far. Returns the number of added memories, and
    the skipped lines, among them those of forgotten memories. Raises `InvalidLine` at the first
    invalid line, with nothing added, unless `skip_invalid`. Only a new file can import the history
    of runs; otherwise its lines are skipped and reported once.
    """
    reader = _LineReader(file, timestamp(now))
    history = History(file)
    added = 0
    skipped: list[Skipped] = []

    def refuse(number: int, error: Exception) -> None:
        reason = describe_error(error)
        if not skip_invalid and not isinstance(error, _Forgotten):
            raise InvalidLine(
                f"Line {number} is not valid: {reason}. Nothing was imported.",
                "Correct the line, or pass --skip-invalid to import the rest.",
            ) from error
        skipped.append(Skipped(number, reason))

    numbered = enumerate(lines, start=1)
    with file.transaction():
        while batch := list(islice(numbered, _BATCH)):
            for number, line in batch:
                try:
                    # Some editors add a byte order mark.
                    line = line.removeprefix(codecs.BOM_UTF8)
                    if (row := parse_history(line)) is not None:
                        added += reader.write()
                        history.add(number, row)
                    elif line.strip():
                        reader.parse(number, line)
                        history.memory_follows()
                except (ValueError, RecursionError) as error:
                    refuse(number, error)
            added += reader.write()
            progress(batch[-1][0])
        for number, reason in reader.leave_out_orphans():
            refuse(number, reason)
            added -= 1
    if history.first_skipped is not None:
        skipped.append(Skipped(history.first_skipped, _HISTORY_LEFT_OUT))
    return added, sorted(skipped, key=lambda skip: skip.line)


def export_lines(file: MemoryFile, everything: bool, with_vectors: bool = True) -> Iterator[str]:
    """Yield a JSON line per memory, ordered by id: of the active memories, or of all.

    Importing the lines of `everything` into a new file gives the same memories, vectors, names and
    lineage. The lines of active memories include the texts of their inactive sources. Only that of
    a damaged text has its hash.
    """
    for memory in read_memories(file, status=None if everything else "active"):
        yield json_text(_exported(file, memory, everything, with_vectors))


class _LineReader:
    """Parses lines, and checks them against earlier lines and the file."""

    def __init__(self, file: MemoryFile, now: str) -> None:
        self._file = file
        self._now = now
        self._dimensions = read_dimensions(file)
        self._forgotten = read_forgotten(file)
        # Parsed lines that are not in the file yet, by id.
        self._unwritten: dict[str, _Parsed] = {}
        self._successors: list[tuple[int, str, str]] = []

    def parse(self, number: int, text: bytes) -> None:
        """Parse a line. Raises ValueError with the reason."""
        line = parse_line(text)
        if line.updated_at is None:  # not written by an export
            try:
                refuse_unpublished(line.tenant)
            except StoreError as error:
                raise ValueError(error.message) from error
            refuse_unusable_text(line.content)
        memory = line.memory(self._now)
        if memory.id in self._unwritten or _knows(self._file, memory.id):
            raise ValueError(f"a memory with the id {memory.id} already exists")
        for source in (memory.id, *(edge["source_id"] for edge in line.edges(memory.id))):
            if source in self._forgotten:
                day = self._forgotten[source][:10]
                raise _Forgotten(f"memory {source} was forgotten on {day}")
        vectors = line.vectors()
        for model, vector in vectors.items():
            expected = self._dimensions.get(model, len(vector))
            if len(vector) != expected:
                raise ValueError(
                    f"the embedding has {len(vector)} dimensions, "
                    f"but {model} has {expected} in this file"
                )
        blobs = {model: to_blob(vector) for model, vector in vectors.items()}
        # The line is valid: later lines must have the same dimensions.
        self._dimensions |= {model: len(vector) for model, vector in vectors.items()}
        self._unwritten[memory.id] = _Parsed(memory, line.entities, blobs, line.edges(memory.id))
        if memory.superseded_by is not None:
            self._successors.append((number, memory.id, memory.superseded_by))

    def write(self) -> int:
        """Write the lines parsed since the last call, and return their number."""
        _write(self._file, list(self._unwritten.values()))
        written = len(self._unwritten)
        self._unwritten.clear()
        return written

    def leave_out_orphans(self) -> Iterator[tuple[int, ValueError]]:
        """Delete memories without an end to their successors, and yield (line number, error)."""
        with_end = set(self._file.column(_WITH_END)) if self._successors else set()
        orphans = [link for link in self._successors if link[1] not in with_end]
        for number, memory_id, successor in orphans:
            self._file.conn.execute("DELETE FROM memories WHERE id = ?", [memory_id])
            why = f"it is superseded by {successor}, which is missing, left out or superseded by it"
            yield number, ValueError(why)


def _knows(file: MemoryFile, memory_id: str) -> bool:
    return file.value("SELECT 1 FROM memories WHERE id = ?", [memory_id]) is not None


def _write(file: MemoryFile, parsed: list[_Parsed]) -> None:
    add_memories(file, (line.memory for line in parsed))
    by_model: dict[str, list[tuple[str, str, bytes]]] = {}
    by_tenant: dict[str, list[tuple[str, list[str]]]] = {}
    for line in parsed:
        for model, blob in line.blobs.items():
            by_model.setdefault(model, []).append((line.memory.id, line.memory.content_hash, blob))
        if line.entities:
            by_tenant.setdefault(line.memory.tenant, []).append((line.memory.id, line.entities))
    for model, vectors in by_model.items():
        store_vectors(file, model, vectors, run_id=None)
    for tenant, mentions in by_tenant.items():
        store_entities(file, tenant, mentions, run_id=None)
    add_edges(file, (edge for line in parsed for edge in line.edges))


def _exported(
    file: MemoryFile, memory: Memory, everything: bool, with_vectors: bool
) -> dict[str, Any]:
    line = vars(memory) | {"entities": [name for name, _ in read_memory_entities(file, memory.id)]}
    if memory.content_hash == content_hash(memory.content):
        del line["content_hash"]
    if not everything:
        line |= {"superseded_by": None, "superseded_at": None}
    vectors = [
        {"model": model, "vector": to_numbers(blob)}
        for model, vector_hash, blob in (
            read_memory_vectors(file, memory.id) if with_vectors else ()
        )
        if vector_hash == memory.content_hash  # otherwise the text has changed since
    ]
    if vectors:
        line["embedding_model"], line["embedding"] = vectors[0].values()
    line["more_embeddings"] = vectors[1:]
    line["synthesized_from"] = [
        {name: value for name, value in edge.items() if name != "derived_id"}
        for edge in read_source_edges(file, memory.id, with_texts=not everything)
    ]
    # An import fills in default values.
    return {
        name: value
        for name, value in line.items()
        if name in ("id", "tenant") or value not in (DEFAULTS[name], ())
    }
