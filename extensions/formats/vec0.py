"""The tables of sqlite-vec, read and written without that extension.

Many builds of Python cannot load extensions, and vec0 stores ordinary tables: a row of `_rowids`
contains the chunk and the place of a vector; a chunk is a bitmap of places in use, a blob of row
ids and a blob of vectors. This does the same as vec0Update_Insert and vec0Update_Delete of
sqlite-vec 0.1.6 to 0.1.9 (sqlite-vec.c); tests compare it with the original.
"""

from __future__ import annotations

import re
import sqlite3
import struct

from .base import Unreadable

# Vectors in a chunk, unless the table specifies another number.
_PLACES = 1024
# The versions of sqlite-vec that were examined; their layout is the same.
_MINOR, _PATCHES = 1, range(6, 10)
_BYTES_OF_AN_ID = 8
_COLUMNS = {
    "chunks": ["chunk_id", "size", "sequence_id", "partition00", "validity", "rowids"],
    "rowids": ["rowid", "id", "chunk_id", "chunk_offset"],
    "vector_chunks00": ["rowid", "vectors"],
}


class Vec0Table:
    """A virtual table of float vectors with one partition key."""

    def __init__(self, db: sqlite3.Connection, name: str, dimensions: int, places: int) -> None:
        """See `vec0_table`, which looks up the layout."""
        self._db = db
        self._name = name
        self._bytes = 4 * dimensions
        self._places = places

    def read(self, rowid: int) -> bytes | None:
        """Return the vector of a row: float32, little-endian; None if there is none."""
        place = self._place(rowid)
        if place is None:
            return None
        chunk, offset = place
        with self._blob("vector_chunks00", "vectors", chunk) as blob:
            blob.seek(offset * self._bytes)
            return blob.read(self._bytes)

    def insert(self, rowid: int, vector: bytes, partition: str | None) -> None:
        """Add the vector of a row that has none. Raises `Unreadable` if it has another size."""
        if len(vector) != self._bytes:
            raise Unreadable("The vectors in this file have other dimensions than the model's.")
        chunk, offset = self._free_place(partition)
        self._set(chunk, offset, True, rowid, vector)
        self._db.execute(
            f"INSERT INTO {self._name}_rowids (rowid, chunk_id, chunk_offset) VALUES (?, ?, ?)",
            [rowid, chunk, offset],
        )

    def remove(self, rowid: int) -> bytes | None:
        """Remove and return a row's vector; None if it has none.

        An empty chunk stays, as in sqlite-vec 0.1.6; later versions reuse it.
        """
        place = self._place(rowid)
        vector = self.read(rowid)
        if place is None or vector is None:
            return None
        self._set(*place, False, 0, bytes(self._bytes))
        self._db.execute(f"DELETE FROM {self._name}_rowids WHERE rowid = ?", [rowid])
        return vector

    def _place(self, rowid: int) -> tuple[int, int] | None:
        row = self._db.execute(
            f"SELECT chunk_id, chunk_offset FROM {self._name}_rowids WHERE rowid = ?", [rowid]
        ).fetchone()
        return None if row is None or None in row else (int(row[0]), int(row[1]))

    def _free_place(self, partition: str | None) -> tuple[int, int]:
        """Return the first free place of a partition's latest chunk, or of a new chunk."""
        chunk = self._db.execute(
            f"SELECT chunk_id, validity FROM {self._name}_chunks WHERE partition00 = ? "
            "ORDER BY chunk_id DESC LIMIT 1",
            [partition],
        ).fetchone()
        if chunk is not None:
            bits = int.from_bytes(chunk[1], "little")
            for offset in range(8 * len(chunk[1])):
                if not bits >> offset & 1:
                    return int(chunk[0]), offset
        return self._new_chunk(partition), 0

    def _new_chunk(self, partition: str | None) -> int:
        size = self._places
        chunk = self._db.execute(
            f"INSERT INTO {self._name}_chunks (size, validity, rowids, partition00) "
            "VALUES (?1, zeroblob(?2), zeroblob(?3), ?4)",
            [size, size // 8, size * _BYTES_OF_AN_ID, partition],
        ).lastrowid
        # Its "rowid" is not an alias of SQLite's own, which opens blobs: both are set.
        self._db.execute(
            f"INSERT INTO {self._name}_vector_chunks00 (_rowid_, rowid, vectors) "
            "VALUES (?1, ?1, zeroblob(?2))",
            [chunk, size * self._bytes],
        )
        return int(chunk or 0)

    def _set(self, chunk: int, offset: int, is_valid: bool, rowid: int, vector: bytes) -> None:
        """Write a place of a chunk: whether it is in use, its row and its vector."""
        bit = 1 << offset % 8
        with self._blob("chunks", "validity", chunk, writes=True) as blob:
            blob.seek(offset // 8)
            (bits,) = blob.read(1)
            blob.seek(offset // 8)
            blob.write(bytes([bits | bit if is_valid else bits & ~bit]))
        for table, column, value in (
            ("chunks", "rowids", struct.pack("<q", rowid)),
            ("vector_chunks00", "vectors", vector),
        ):
            with self._blob(table, column, chunk, writes=True) as blob:
                blob.seek(offset * len(value))
                blob.write(value)

    def _blob(self, table: str, column: str, chunk: int, writes: bool = False) -> sqlite3.Blob:
        return self._db.blobopen(f"{self._name}_{table}", column, chunk, readonly=not writes)


def vec0_table(db: sqlite3.Connection, name: str, column: str) -> Vec0Table | None:
    """Return a table of vec0 with one column of floats and one partition key of text.

    None if there is no such table, or its layout is unknown.
    """
    row = db.execute(
        "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", [name]
    ).fetchone()
    declared = re.fullmatch(
        rf"create virtual table (?:if not exists )?{name} using vec0\("
        rf"{column} float\[(\d+)\](?: distance_metric=\w+)?, ?\w+ text partition key"
        r"(?:, ?chunk_size=(\d+))?\)",
        " ".join(str(row[0]).lower().split()).replace("( ", "(").replace(" )", ")") if row else "",
    )
    if declared is None or not _has_known_layout(db, name):
        return None
    return Vec0Table(db, name, int(declared[1]), int(declared[2] or _PLACES))


def _has_known_layout(db: sqlite3.Connection, name: str) -> bool:
    for table, columns in _COLUMNS.items():
        if [row[1] for row in db.execute(f"PRAGMA table_info({name}_{table})")] != columns:
            return False
    if not db.execute(f"PRAGMA table_info({name}_info)").fetchall():
        return False
    version = dict(db.execute(f"SELECT key, value FROM {name}_info").fetchall())
    return (
        version.get("CREATE_VERSION_MAJOR") == 0
        and version.get("CREATE_VERSION_MINOR") == _MINOR
        and version.get("CREATE_VERSION_PATCH") in _PATCHES
        # SQLite's own row id, which opens blobs, differs in old versions
        and db.execute(
            f"SELECT 1 FROM {name}_vector_chunks00 WHERE _rowid_ <> rowid LIMIT 1"
        ).fetchone()
        is None
    )
