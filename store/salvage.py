"""Export the readable part of a damaged file as JSON Lines.

SQLite reads each table and its indexes from both ends up to the damage, and every row in between by
its key. Vectors are not saved: the next run computes them again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from .errors import UnusableFile, file_errors
from .jsonl import parse_line
from .opening import open_database
from .records import COLUMNS, content_hash, json_text, read_json

# A row takes more bytes than this: the limit on rows ends the reading of a cyclic tree.
_MIN_ROW_BYTES = 8

Row = dict[str, Any]


@dataclass(frozen=True)
class _Table:
    """A table: its key, its columns, and its indexes with their columns."""

    name: str
    key: str
    columns: str
    indexes: dict[str, str]


_MEMORIES = _Table(
    "memories",
    "rowid",
    ", ".join(COLUMNS),
    {
        "sqlite_autoindex_memories_1": "id",
        "memories_by_status": "tenant, status, layer",
        "memories_by_content": "content_hash",
    },
)
_ENTITIES = _Table("entities", "rowid", "id, name", {"sqlite_autoindex_entities_1": "tenant, name"})
_MENTIONS = _Table(
    "memory_entities",
    "memory_id, entity_id",
    "memory_id, entity_id",
    {"memory_entities_by_entity": "entity_id, memory_id"},
)
_EDGES = _Table(
    "synthesized_from",
    "derived_id, source_id",
    "derived_id, source_id, operation, run_id, source_hash, source_content, created_at",
    {"synthesized_from_by_source": "source_id, derived_id"},
)


@contextmanager
def _open_damaged(path: Path) -> Iterator[_View]:
    """Open a file as far as SQLite can read it. Raises `UnusableFile` if it can read no memory."""
    try:
        with open_database(path, "ro") as conn:
            conn.text_factory = bytes
            # Allows reading files that are shorter than their header claims.
            conn.execute("PRAGMA writable_schema = ON")
            view = _View(conn, path.stat().st_size)
            if view.has_memories():
                yield view
                return
    except sqlite3.DatabaseError:
        pass  # not even a database
    raise UnusableFile(
        f"{path} is damaged, and none of its memories can be read.", "Restore it from a backup."
    )


class _View:
    """The rows that SQLite can read."""

    def __init__(self, conn: sqlite3.Connection, size: int) -> None:
        """Set the connection and the size of the file in bytes."""
        self._conn = conn
        self._max_rows = size // _MIN_ROW_BYTES + 1_000

    def has_memories(self) -> bool:
        """Whether at least one row of memories has an id and a text."""
        return any(
            self._row(_MEMORIES, key, "id, content") for key in islice(self._found(_MEMORIES), 50)
        )

    def keys(self, table: _Table) -> list[tuple[Any, ...]]:
        """Return the possible keys of a table's rows, sorted."""
        keys = self.known(table)
        if table.key != "rowid":
            return sorted(keys, key=repr)
        highest = max((key[0] for key in keys if key[0] <= self._max_rows), default=0)
        return sorted(keys | {(number,) for number in range(1, highest + 1)})

    def known(self, table: _Table) -> set[tuple[Any, ...]]:
        """Return the keys in the table and in its indexes."""
        return set(self._found(table))

    def row(self, table: _Table, key: tuple[Any, ...]) -> Row | None:
        """Return the readable columns of a row; None if there is no such row."""
        row = self._row(table, key, table.columns)
        if row is not None or self._row(table, key, table.key.split(", ")[0]) is None:
            return row
        parts = (self._row(table, key, column) for column in table.columns.split(", "))
        return {name: value for part in parts if part for name, value in part.items()}

    def _found(self, table: _Table) -> Iterator[tuple[Any, ...]]:
        indexes = {f"INDEXED BY {name}": columns for name, columns in table.indexes.items()}
        for index, columns in {"NOT INDEXED": table.key, **indexes}.items():
            for direction in ("ASC", "DESC"):
                order = ", ".join(f"{column} {direction}" for column in columns.split(", "))
                yield from self._read(
                    f"SELECT {table.key} FROM {table.name} {index} ORDER BY {order}"
                )

    def _row(self, table: _Table, key: tuple[Any, ...], columns: str) -> Row | None:
        # Text keys were read as bytes.
        marks = ("CAST(? AS TEXT)" if isinstance(part, bytes) else "?" for part in key)
        where = " AND ".join(map("{} = {}".format, table.key.split(", "), marks))
        sql = f"SELECT {columns} FROM {table.name} NOT INDEXED WHERE {where}"
        values = next(self._read(sql, key), None)
        return None if values is None else dict(zip(columns.split(", "), values, strict=True))

    def _read(self, sql: str, values: Iterable[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows before the first one that cannot be read."""
        with closing(self._conn.cursor()) as cursor:
            try:
                yield from islice(cursor.execute(sql, tuple(values)), self._max_rows)
            except (sqlite3.Error, MemoryError, OverflowError, UnicodeDecodeError):
                return


@dataclass
class Salvaged:
    """Counts of a salvage; final after the last line."""

    saved: int = 0
    # Saved memories of which a part is missing or corrupt.
    partly: int = 0
    # Memories whose text or id is unreadable.
    lost: int = 0
    # Unreadable rows of lineage and names.
    loose: int = 0


def salvage_lines(path: Path, everything: bool, count: Salvaged) -> Iterator[str]:
    """Yield a JSON line for each readable memory, and count them. Raises `UnusableFile`."""
    with file_errors("read", path, error_type=UnusableFile), _open_damaged(path) as view:
        yield from _Salvager(view, everything, count).lines()


@dataclass
class _Salvager:
    """Assembles the lines of memories from their readable rows."""

    view: _View
    everything: bool
    count: Salvaged
    # By id of a memory.
    keys: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)
    edges: dict[str, list[Row]] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """Yield the lines. Reads all keys first, but keeps no texts in memory."""
        self._find_memories()
        self._find_names()
        self._find_edges()
        for memory_id in sorted(self.keys):
            line = self._line(memory_id)
            if line is not None:
                yield line

    def _find_memories(self) -> None:
        listed = self.view.known(_MEMORIES)
        for key in self.view.keys(_MEMORIES):
            row = self.view.row(_MEMORIES, key) or {}
            memory_id = _text(row.get("id"))
            if memory_id and row.get("content") and _is_memory(row):
                self.keys.setdefault(memory_id, key)
            elif row or key in listed:
                self.count.lost += 1

    def _find_names(self) -> None:
        rows = (self.view.row(_ENTITIES, key) for key in self.view.keys(_ENTITIES))
        names = {row.get("id"): _text(row.get("name")) for row in rows if row}
        for key in self.view.keys(_MENTIONS):
            name = names.get(key[1])
            self.count.loose += not name
            if name:
                self.names.setdefault(_text(key[0]), []).append(name)

    def _find_edges(self) -> None:
        for key in self.view.keys(_EDGES):
            row = self.view.row(_EDGES, key)
            self.count.loose += not row
            if row:
                edge = {name: _value(value) for name, value in row.items()}
                self.edges.setdefault(str(edge.pop("derived_id")), []).append(edge)

    def _line(self, memory_id: str) -> str | None:
        row = self.view.row(_MEMORIES, self.keys[memory_id]) or {}
        fields = {name: _value(value) for name, value in row.items() if value is not None}
        if not self.everything and fields.get("status", "active") != "active":
            return None
        partly = _is_incomplete(row)
        text_hash = fields.pop("content_hash", None)
        fields["entities"] = sorted(self.names.get(memory_id, []))
        edges = self.edges.get(memory_id, [])
        if not self.everything:
            edges = [edge | {"source_content": self._text_of(edge)} for edge in edges]
        fields["synthesized_from"] = edges
        if text_hash not in (None, content_hash(str(fields.get("content")))):
            fields["content_hash"], partly = text_hash, True
        for name in ("tags", "metadata"):
            fields[name] = read_json(fields.get(name))
        if "pinned" in fields:
            fields["pinned"] = bool(fields["pinned"])
        if not self.everything:
            fields.pop("superseded_by", None)
            fields.pop("superseded_at", None)
        elif fields.get("superseded_by") not in (None, *self.keys):
            del fields["superseded_by"]
            partly = True
        importable = _importable(fields)
        if importable is None:
            self.count.lost += 1
            return None
        self.count.saved += 1
        self.count.partly += partly or importable != fields
        return json_text(importable)

    def _text_of(self, edge: Row) -> Any:
        """Return the text of a source that is not exported itself."""
        stored, source = edge.get("source_content"), self.keys.get(edge["source_id"])
        row = source and self.view.row(_MEMORIES, source)
        if stored is not None or not row or row.get("status") == b"active":
            return stored
        return _value(row.get("content"))


def _importable(fields: Row) -> Row | None:
    """Return the fields that an import accepts; None if it would reject the memory."""
    remaining = dict(fields)
    for _ in range(len(fields) + 1):
        try:
            parse_line(json_text(remaining).encode())
            return remaining
        except ValidationError as error:
            places = {detail["loc"][:2] for detail in error.errors(include_url=False)}
            for name in {place[0] for place in places if place}:
                invalid = {place[1] for place in places if place[0] == name and len(place) > 1}
                items = remaining.pop(str(name))
                if isinstance(items, list) and invalid:
                    valid = [item for index, item in enumerate(items) if index not in invalid]
                    remaining[str(name)] = valid
            if "content" not in remaining or "id" not in remaining:
                return None
    return None


def _is_memory(row: Row) -> bool:
    """Whether a row is a memory, and not the remains of another table in a reused page."""
    return any(_is_date(row.get(name)) for name in ("observed_at", "created_at", "updated_at"))


def _is_date(value: object) -> bool:
    try:
        return bool(date.fromisoformat(_text(value)[:10]))
    except ValueError:
        return False


def _is_incomplete(row: Row) -> bool:
    """Whether columns are missing, or the text is not UTF-8."""
    return len(row) < len(COLUMNS) or row["content"] != _text(row["content"]).encode()


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else ""


def _value(value: object) -> Any:
    return _text(value) if isinstance(value, bytes) else value
