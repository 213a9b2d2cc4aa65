"""Memories as JSON lines: the way in from other tools, and the way out."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from .entities import keep_entities, read_memory_entities
from .errors import InvalidLine, StoreError
from .file import MemoryFile
from .history import History, parse_history
from .jsonl import DEFAULTS, describe_error, parse_line, refuse_long
from .lineage import add_edges, read_source_edges
from .memories import add_memories, read_memories
from .records import Memory, json_text, timestamp
from .shared_tenant import refuse_unpublished
from .vectors import keep_vectors, read_dimensions, read_memory_vectors, to_blob, to_numbers

# How many lines are written by one statement: enough to be fast, few enough to stay small.
_BATCH = 1_000
_HISTORY_LEFT_OUT = (
    "it and those like it tell what runs did, which only a new file can take; the memories came in"
)


@dataclass(frozen=True)
class _Parsed:
    memory: Memory
    entities: tuple[str, ...]
    blobs: dict[str, bytes]
    edges: list[dict[str, Any]]


@dataclass(frozen=True)
class Skipped:
    """A line that was left out, and why."""

    line: int
    reason: str


def new_memory(fields: dict[str, Any], now: datetime) -> Memory:
    """Return a memory from the fields of a line. Raises `InvalidLine` with the reason."""
    try:
        # By way of JSON, so that one memory is held to what a line is held to.
        line = json.dumps(fields).encode()
        return parse_line(line).memory(timestamp(now))
    except ValueError as error:
        raise InvalidLine(f"This is not a memory: {describe_error(error)}.") from error
    except RecursionError:
        raise InvalidLine(
            "This is not a memory: its values lie too deep within each other."
        ) from None


def memory_from_text(text: str, fields: dict[str, Any], now: datetime) -> Memory:
    """Return what somebody asks to remember as a memory. fields: the others of a line.

    Raises `InvalidLine`, also if the text is blank or too long.
    """
    if not text.strip():
        raise InvalidLine("This is not a memory: its text is blank.")
    try:
        refuse_long(text)
    except ValueError as error:
        raise InvalidLine(f"This is not a memory: {error}.") from error
    return new_memory({"content": text, **fields}, now)


def import_lines(
    file: MemoryFile,
    lines: Iterable[bytes],
    now: datetime,
    skip_invalid: bool = False,
    progress: Callable[[int], None] = lambda lines: None,
) -> tuple[int, list[Skipped]]:
    """Add one memory a line, streaming, all of them in one transaction.

    `progress` is told the number of lines read so far. Returns how many memories were added and
    the lines left out. Raises `InvalidLine` at the first bad line, with nothing added, unless
    such lines are to be skipped. What runs did goes into a new file only; elsewhere its lines are
    left out, told of as one.
    """
    reader = _LineReader(file, timestamp(now))
    history = History(file)
    added = 0
    skipped: list[Skipped] = []

    def refuse(number: int, error: ValueError) -> None:
        reason = describe_error(error)
        if not skip_invalid:
            raise InvalidLine(
                f"Line {number} is not valid: {reason}. Nothing was imported.",
                "Correct the line, or pass --skip-invalid to import the others.",
            ) from error
        skipped.append(Skipped(number, reason))

    numbered = enumerate(_without_mark(lines), start=1)
    with file.transaction():
        while batch := list(islice(numbered, _BATCH)):
            for number, line in batch:
                try:
                    if (row := parse_history(line)) is not None:
                        added += reader.write()
                        history.add(number, row)
                    elif line.strip():
                        reader.parse(number, line)
                        history.memory_follows()
                except ValueError as error:
                    refuse(number, error)
            added += reader.write()
            progress(batch[-1][0])
        for number, reason in reader.leave_out_orphans():
            refuse(number, reason)
            added -= 1
    if history.first_skipped is not None:
        skipped.append(Skipped(history.first_skipped, _HISTORY_LEFT_OUT))
    return added, sorted(skipped, key=lambda one: one.line)


def _without_mark(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Drop the byte order mark that some editors put in front of a file."""
    for number, line in enumerate(lines):
        yield line.removeprefix(codecs.BOM_UTF8) if number == 0 else line


def export_lines(file: MemoryFile, everything: bool, with_vectors: bool = True) -> Iterator[str]:
    """Yield one JSON line a memory, in the order of ids: the active ones, or every one.

    A line holds all that belongs to the memory, so that importing the lines of `everything`
    into a new file gives the same memories, vectors, names and lineage. Of the sources that are
    not active, the lines of the active ones hold the texts.
    """
    for memory in read_memories(file, status=None if everything else "active"):
        yield json_text(_exported(file, memory, everything, with_vectors))


class _LineReader:
    """Turns lines into values, and knows what earlier lines and the file have said."""

    def __init__(self, file: MemoryFile, now: str) -> None:
        self._file = file
        self._now = now
        self._dimensions = read_dimensions(file)
        # What lines said that is not in the file yet, by id.
        self._unwritten: dict[str, _Parsed] = {}
        self._successors: list[tuple[int, str, str]] = []

    def parse(self, number: int, text: bytes) -> None:
        """Read a line. Raises ValueError with the reason if it is not valid."""
        line = parse_line(text)
        if line.updated_at is None:  # else another file had it, and an export wrote the line
            _refuse_unpublished(line.tenant)
            refuse_long(line.content)
        memory = line.memory(self._now)
        if memory.id in self._unwritten or _knows(self._file, memory.id):
            raise ValueError(f"a memory with the id {memory.id} exists already")
        vectors = line.vectors()
        for model, vector in vectors.items():
            expected = self._dimensions.get(model, len(vector))
            if len(vector) != expected:
                raise ValueError(
                    f"the embedding has {len(vector)} dimensions, "
                    f"but {model} has {expected} in this file"
                )
        blobs = {model: to_blob(vector) for model, vector in vectors.items()}
        # From here on the line is good, and later ones are held to what it says.
        self._dimensions |= {model: len(vector) for model, vector in vectors.items()}
        self._unwritten[memory.id] = _Parsed(
            memory, tuple(line.entities), blobs, line.edges(memory.id)
        )
        if memory.superseded_by is not None:
            self._successors.append((number, memory.id, memory.superseded_by))

    def write(self) -> int:
        """Write what lines have said since the last time, and say how many memories that is."""
        _write(self._file, list(self._unwritten.values()))
        written = len(self._unwritten)
        self._unwritten.clear()
        return written

    def leave_out_orphans(self) -> Iterator[tuple[int, ValueError]]:
        """Delete what is superseded by a memory that never came, and give the lines."""
        while orphans := {one for one in self._successors if not _knows(self._file, one[2])}:
            self._successors = [one for one in self._successors if one not in orphans]
            for number, memory_id, successor in sorted(orphans):
                self._file.db.conn.execute("DELETE FROM memories WHERE id = ?", [memory_id])
                yield number, ValueError(f"it is superseded by {successor}, which is not there")


def _refuse_unpublished(tenant: str) -> None:
    try:
        refuse_unpublished(tenant)
    except StoreError as error:
        raise ValueError(error.message.rstrip(".")) from error


def _knows(file: MemoryFile, memory_id: str) -> bool:
    return file.value("SELECT 1 FROM memories WHERE id = ?", [memory_id]) is not None


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


def _exported(
    file: MemoryFile, memory: Memory, everything: bool, with_vectors: bool
) -> dict[str, Any]:
    kept = vars(memory) | {"entities": [name for name, _ in read_memory_entities(file, memory.id)]}
    del kept["content_hash"]
    if not everything:
        kept |= {"superseded_by": None, "superseded_at": None}
    vectors = [
        {"model": model, "vector": to_numbers(blob)}
        for model, of, blob in (read_memory_vectors(file, memory.id) if with_vectors else ())
        if of == memory.content_hash  # otherwise the text has changed since
    ]
    if vectors:
        kept["embedding_model"], kept["embedding"] = vectors[0].values()
    kept["more_embeddings"] = vectors[1:]
    kept["synthesized_from"] = [
        {name: value for name, value in edge.items() if name != "derived_id"}
        for edge in read_source_edges(file, memory.id, with_texts=not everything)
    ]
    return _without_defaults(kept)


def _without_defaults(kept: dict[str, Any]) -> dict[str, Any]:
    """Remove the defaults that an import fills in, so that people can read a line."""
    return {
        name: value
        for name, value in kept.items()
        if name in ("id", "tenant") or value not in (DEFAULTS[name], ())
    }
