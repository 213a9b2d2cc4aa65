"""Import and export memories as JSON Lines."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

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

# How many lines are read between two reports of progress.
_BETWEEN_REPORTS = 1_000
_HISTORY_LEFT_OUT = "run history can only be imported into a new file; the memories were imported"


class _Forgotten(ValueError):
    """The memory of a line, or one that it is derived from, was forgotten: it never comes back."""


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

    with file.transaction():
        for number, line in enumerate(lines, start=1):
            try:
                # Some editors add a byte order mark. Errors count columns from the last line end.
                line = line.removeprefix(codecs.BOM_UTF8).rstrip()
                if (row := parse_history(line)) is not None:
                    history.add(number, row)
                elif line:
                    reader.add(number, line)
                    history.memory_follows()
                    added += 1
            except (ValueError, RecursionError) as error:
                refuse(number, error)
            if number % _BETWEEN_REPORTS == 0:
                progress(number)
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
    """Adds the memories of lines, unless they contradict the file."""

    def __init__(self, file: MemoryFile, now: str) -> None:
        self._file = file
        self._now = now
        self._dimensions = read_dimensions(file)
        self._forgotten = read_forgotten(file)
        self._successors: list[tuple[int, str, str]] = []

    def add(self, number: int, text: bytes) -> None:
        """Add the memory of a line. Raises ValueError with the reason, and adds nothing."""
        line = parse_line(text)
        if line.updated_at is None:  # not written by an export
            try:
                refuse_unpublished(line.tenant)
            except StoreError as error:
                raise ValueError(error.message) from error
            refuse_unusable_text(line.content)
        file, memory = self._file, line.memory(self._now)
        if file.value("SELECT 1 FROM memories WHERE id = ?", [memory.id]) is not None:
            raise ValueError(f"a memory with this id already exists: {memory.id}")
        edges = line.edges(memory.id)
        for source in (memory.id, *(edge["source_id"] for edge in edges)):
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
        add_memories(file, [memory])
        for model, blob in blobs.items():
            store_vectors(file, model, [(memory.id, memory.content_hash, blob)], run_id=None)
        store_entities(file, memory.tenant, memory.id, line.entities)
        add_edges(file, edges)
        if memory.superseded_by is not None:
            self._successors.append((number, memory.id, memory.superseded_by))

    def leave_out_orphans(self) -> Iterator[tuple[int, ValueError]]:
        """Delete memories without an end to their successors, and yield (line number, error)."""
        with_end = set(self._file.column(_WITH_END)) if self._successors else set()
        orphans = [link for link in self._successors if link[1] not in with_end]
        for number, memory_id, successor in orphans:
            self._file.conn.execute("DELETE FROM memories WHERE id = ?", [memory_id])
            why = f"it is superseded by {successor}, which is missing, left out or superseded by it"
            yield number, ValueError(why)


def _exported(
    file: MemoryFile, memory: Memory, everything: bool, with_vectors: bool
) -> dict[str, Any]:
    line = vars(memory) | {"entities": read_memory_entities(file, memory.id)}
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
