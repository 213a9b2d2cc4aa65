"""Read as many rows of a damaged file as possible.

SQLite reads each table and its indexes from both ends up to the damage, and every row in between by
its key. Nothing is written to the file: if its first page is damaged, a temporary copy is repaired.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from .errors import UnusableFile
from .file import create_file
from .opening import HEADER_BYTES, MAGIC, copy_bytes, first_bytes, open_database
from .records import COLUMNS

# A row takes more bytes than this: the limit on rows ends the reading of a cyclic tree.
_MIN_ROW_BYTES = 8
_PAGE = 4096
# Bytes of the header that all memory files share: https://sqlite.org/fileformat.html.
_CONSTANT = {
    0: MAGIC,
    20: bytes([0, 64, 32, 32]),
    44: (4).to_bytes(4, "big"),
    52: bytes(4),
    56: (1).to_bytes(4, "big"),
    64: bytes(4),
    72: bytes(20),
}
_VERSIONS = (b"\x01\x01", b"\x02\x02")

Row = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table: its key, its columns, and its indexes with their columns."""

    name: str
    key: str
    columns: str
    indexes: dict[str, str]


MEMORIES = Table(
    "memories",
    "rowid",
    ", ".join(COLUMNS),
    {
        "sqlite_autoindex_memories_1": "id",
        "memories_by_status": "tenant, status, layer",
        "memories_by_content": "content_hash",
    },
)
VECTORS = Table(
    "embeddings",
    "rowid",
    "memory_id, model, vector, content_hash",
    {"sqlite_autoindex_embeddings_1": "memory_id, model"},
)
ENTITIES = Table("entities", "rowid", "id, name", {"sqlite_autoindex_entities_1": "tenant, name"})
MENTIONS = Table(
    "memory_entities",
    "memory_id, entity_id",
    "memory_id, entity_id",
    {"memory_entities_by_entity": "entity_id, memory_id"},
)
EDGES = Table(
    "synthesized_from",
    "derived_id, source_id",
    "derived_id, source_id, operation, run_id, source_hash, source_content, created_at",
    {"synthesized_from_by_source": "source_id, derived_id"},
)


@contextmanager
def best_view(path: Path) -> Iterator[View]:
    """Open the file, or its first repaired copy, in which memories can be read.

    Raises `UnusableFile` if there is none.
    """
    with closing(_candidates(path)) as candidates:
        for candidate in candidates:
            with _opened(candidate) as view:
                if view.has_memories():
                    yield view
                    return
    raise UnusableFile(
        f"{path} is damaged, and none of its memories can be read.", "Restore it from a backup."
    )


@contextmanager
def _opened(path: Path) -> Iterator[View]:
    with open_database(path, "ro") as conn:
        conn.text_factory = bytes
        # Allows reading files that are shorter than their header claims.
        conn.execute("PRAGMA writable_schema = ON")
        yield View(conn, path.stat().st_size)


class View:
    """The rows that SQLite can read."""

    def __init__(self, conn: sqlite3.Connection, size: int) -> None:
        """Set the connection and the size of the file in bytes."""
        self._conn = conn
        self._max_rows = size // _MIN_ROW_BYTES + 1_000

    def has_memories(self) -> bool:
        """Whether at least one row of memories has an id and a text."""
        return any(
            self._row(MEMORIES, key, "id, content") for key in islice(self._found(MEMORIES), 50)
        )

    def keys(self, table: Table) -> list[tuple[Any, ...]]:
        """Return the possible keys of a table's rows, sorted."""
        found = self.known(table)
        if table.key != "rowid":
            return sorted(found, key=repr)
        highest = max((key[0] for key in found if key[0] <= self._max_rows), default=0)
        return sorted(found | {(number,) for number in range(1, highest + 1)})

    def known(self, table: Table) -> set[tuple[Any, ...]]:
        """Return the keys in the table and in its indexes."""
        return set(self._found(table))

    def row(self, table: Table, key: tuple[Any, ...]) -> Row | None:
        """Return the readable columns of a row; None if there is no such row."""
        whole = self._row(table, key, table.columns)
        if whole is not None or self._row(table, key, table.key.split(", ")[0]) is None:
            return whole
        parts = (self._row(table, key, column) for column in table.columns.split(", "))
        return {name: value for part in parts if part for name, value in part.items()}

    def _found(self, table: Table) -> Iterator[tuple[Any, ...]]:
        indexes = {f"INDEXED BY {name}": columns for name, columns in table.indexes.items()}
        for index, columns in {"NOT INDEXED": table.key, **indexes}.items():
            for direction in ("ASC", "DESC"):
                order = ", ".join(f"{column} {direction}" for column in columns.split(", "))
                yield from self._read(
                    f"SELECT {table.key} FROM {table.name} {index} ORDER BY {order}"
                )

    def _row(self, table: Table, key: tuple[Any, ...], columns: str) -> Row | None:
        # Text keys were read as bytes.
        marks = ("CAST(? AS TEXT)" if isinstance(part, bytes) else "?" for part in key)
        where = " AND ".join(map("{} = {}".format, table.key.split(", "), marks))
        sql = f"SELECT {columns} FROM {table.name} NOT INDEXED WHERE {where}"
        found = next(self._read(sql, key), None)
        return None if found is None else dict(zip(columns.split(", "), found, strict=True))

    def _read(self, sql: str, values: Iterable[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows before the first one that cannot be read."""
        with closing(self._conn.cursor()) as cursor:
            try:
                yield from islice(cursor.execute(sql, tuple(values)), self._max_rows)
            except (sqlite3.Error, MemoryError, OverflowError, UnicodeDecodeError):
                return


def _has_sound_header(path: Path) -> bool:
    """Whether the header has the values that every memory file has."""
    head = first_bytes(path, HEADER_BYTES)
    return (
        len(head) == HEADER_BYTES
        and all(head[at : at + len(part)] == part for at, part in _CONSTANT.items())
        and head[18:20] in _VERSIONS
        and _is_page_size(head)
    )


def _candidates(path: Path) -> Generator[Path, None, None]:
    """Yield the file, if its header is sound, then copies of it, repaired in several ways."""
    if _has_sound_header(path):
        yield path
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy = folder / "copy.db"
        copy_bytes(path, copy)
        log = Path(f"{path.resolve()}-wal")
        if log.exists():
            copy_bytes(log, Path(f"{copy}-wal"))
        _set_header(copy)
        yield copy
        # The log does not match a replaced first page.
        Path(f"{copy}-wal").unlink(missing_ok=True)
        fresh = folder / "fresh.db"
        create_file(fresh)
        for compact in (False, True):
            if compact:
                with open_database(fresh, "rw") as db:
                    db.execute("VACUUM")
            repaired = folder / f"repaired-{compact}.db"
            shutil.copyfile(copy, repaired)
            _replace_first_page(repaired, fresh)
            yield repaired


def _is_page_size(head: bytes | bytearray) -> bool:
    size = int.from_bytes(head[16:18], "big")
    return size == 1 or (512 <= size <= 32_768 and size & (size - 1) == 0)


def _set_header(copy: Path) -> None:
    with copy.open("r+b") as stream:
        head = bytearray(stream.read(HEADER_BYTES).ljust(HEADER_BYTES, b"\0"))
        for at, part in _CONSTANT.items():
            head[at : at + len(part)] = part
        if bytes(head[18:20]) not in _VERSIONS:
            head[18:20] = _VERSIONS[1]
        if not _is_page_size(head):
            head[16:18] = _PAGE.to_bytes(2, "big")
        stream.seek(0)
        stream.write(head)


def _replace_first_page(copy: Path, fresh: Path) -> None:
    """Give a copy a first page with the schema, and root pages, of a new memory file."""
    with open_database(fresh, "ro") as db:
        parts = db.execute(
            "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema WHERE rootpage > 0"
        ).fetchall()
    pages = max(1, -(-copy.stat().st_size // _PAGE))
    empty = copy.with_suffix(".empty")
    with open_database(empty, "rwc") as db:
        db.execute(f"PRAGMA page_size = {_PAGE:d}")
        db.execute("VACUUM")
    first = bytearray(empty.read_bytes()[:_PAGE])
    first[28:32] = pages.to_bytes(4, "big")
    with copy.open("r+b") as stream:
        stream.write(first)
        stream.truncate(pages * _PAGE)
    with open_database(copy, "rw") as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("BEGIN")
        db.executemany("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", parts)
        db.execute("COMMIT")
