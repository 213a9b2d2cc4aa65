"""What is no memory file, or none that can be used, is refused before anything is done with it."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import UnusableFile
from .opening import HEADER_BYTES, MAGIC, first_bytes, is_database, open_immutable
from .records import SAVE
from .schema import APPLICATION_ID
from .schema_of_file import applied_steps, step_names
from .sidecar import file_size, sidecar_path

if TYPE_CHECKING:
    from sqlite_utils import Database

# What is in the schema of each memory file and of no other, and how far a damaged file is searched
# for it: the schema is written first.
_OUR_INDEX = "memories_by_successor"
_SCHEMA_WITHIN = 1_000_000


def is_foreign_file(path: Path) -> bool:
    """Whether something can be read there that is not a memory file, damaged or not."""
    try:
        if not path.is_file():
            return path.is_dir()
        try:
            with open_immutable(path) as conn:
                # Where the id is damaged, the index of our schema tells.
                return not (_application_id(conn) or _has_our_index(conn))
        except sqlite3.DatabaseError:
            start = first_bytes(path, _SCHEMA_WITHIN)
    except OSError:
        return False
    # Where SQLite's file format has the application id.
    is_marked = start.startswith(MAGIC) and start[68:72] != bytes(4)
    return not (is_marked or _has_our_schema(start))


def _application_id(conn: sqlite3.Connection) -> int:
    return int(conn.execute("PRAGMA application_id").fetchone()[0])


def _has_our_index(conn: sqlite3.Connection) -> bool:
    found = conn.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", [_OUR_INDEX])
    return found.fetchone() is not None


def _has_our_schema(start: bytes) -> bool:
    """Whether a memory file's schema follows, whatever the header is."""
    return f"CREATE INDEX {_OUR_INDEX} ".encode() in start


def is_memory_file(path: Path) -> bool:
    """Whether a file has the header of a memory file; nothing else in it is looked at."""
    try:
        if not is_database(path):
            return False
        with open_immutable(path) as conn:
            return _application_id(conn) == APPLICATION_ID
    except sqlite3.DatabaseError:
        return False


def refuse_non_database(path: Path) -> None:
    """Refuse what is not there, or is not a SQLite database. Raises `UnusableFile`.

    Of a damaged database nothing is refused here: whoever opens it finds out what is damaged.
    """
    try:
        found = path.stat()
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            raise UnusableFile(f"{path} is a device or a pipe, and no file.")
        if is_database(path):
            return
        start = first_bytes(path, _SCHEMA_WITHIN) if found.st_size else b""
    except FileNotFoundError:
        raise UnusableFile(
            f"There is no file {path}.", f"Make one with: slowwave import {path} --empty"
        ) from None
    except OSError as error:
        raise UnusableFile(f"Cannot read {path}: {error.strerror}.") from error
    if not start:
        raise UnusableFile(
            f"{path} is empty.",
            f"Remove it, then make a memory file with: slowwave import {path} --empty",
        )
    if start.startswith(MAGIC):
        if len(start) < HEADER_BYTES:
            raise UnusableFile(
                f"{path} is damaged: it ends within its header.", "Restore it from a backup."
            )
        return
    if _has_our_schema(start):
        raise UnusableFile(f"{path} is damaged: its header is not there.", SAVE)
    raise UnusableFile(
        f"{path} is not a memory file: it is not a SQLite database.",
        "Give the path of a file made by 'slowwave import', or of another agent's memory file: see "
        "'slowwave formats'.",
    )


def refuse_unusable(db: Database, path: Path) -> None:
    """Refuse another program's file, a newer one, and one cut off. Raises `UnusableFile`."""
    if _application_id(db.conn) != APPLICATION_ID:
        if _has_our_index(db.conn):
            raise UnusableFile(
                f"{path} is damaged: its header does not say any more whose file it is.",
                SAVE,
            )
        raise UnusableFile(
            f"{path} is a SQLite database, but not a memory file of slowwave.",
            "Bring its memories over as JSON lines with 'slowwave import'.",
        )
    known, applied = step_names(), applied_steps(db)
    version = db.conn.execute("PRAGMA user_version").fetchone()[0]
    if applied - known or version > len(known):
        raise UnusableFile(
            f"{path} has schema version {max(version, len(applied))}; "
            f"this slowwave knows versions up to {len(known)}.",
            "Install a newer slowwave.",
        )
    pages, size = (
        db.conn.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")
    )
    # Less on disk than the header promises, and no log that could hold the rest: cut off.
    if not file_size(sidecar_path(path, "-wal")) and file_size(path) < pages * size:
        raise UnusableFile(
            f"{path} is damaged: {file_size(path)} of {pages * size} bytes are there.",
            SAVE,
        )
