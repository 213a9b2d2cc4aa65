"""Refuse files that are not usable memory files before anything is done with them."""

from __future__ import annotations

import shlex
import sqlite3
import stat
from pathlib import Path

from .errors import SAVE_HINT, UnusableFile
from .migrations import APPLICATION_ID, OLDEST_VERSION
from .opening import HEADER_BYTES, MAGIC, first_bytes, is_database, open_immutable
from .schema_of_file import newest_version, version_of
from .sidecar import file_size, sidecar_path

# An index that only memory files have, and how many bytes of a damaged file are searched for it:
# the schema comes first.
_OUR_INDEX = "memories_by_successor"
_SCHEMA_WITHIN = 1_000_000

# The names of databases; another agent must not load one as its text file.
DATABASE_SUFFIXES = (".db", ".sqlite", ".sqlite3")


def is_foreign_file(path: Path) -> bool:
    """Whether a path is readable and not a memory file, not even a damaged one."""
    try:
        if not path.is_file():
            return path.is_dir()
        try:
            with open_immutable(path) as conn:
                return not (_application_id(conn) or _has_our_index(conn))
        except sqlite3.DatabaseError:
            start = first_bytes(path, _SCHEMA_WITHIN)
    except OSError:
        return False
    # Bytes 68 to 71 are the application id.
    is_marked = start.startswith(MAGIC) and start[68:72] != bytes(4)
    return not (is_marked or _has_our_schema(start))


def _application_id(conn: sqlite3.Connection) -> int:
    return int(conn.execute("PRAGMA application_id").fetchone()[0])


def _has_our_index(conn: sqlite3.Connection) -> bool:
    rows = conn.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", [_OUR_INDEX])
    return rows.fetchone() is not None


def _has_our_schema(start: bytes) -> bool:
    """Whether a file contains a memory file's schema; the header may be damaged."""
    return f"CREATE INDEX {_OUR_INDEX} ".encode() in start


def is_memory_file(path: Path) -> bool:
    """Whether a file has the header of a memory file."""
    try:
        if not is_database(path):
            return False
        with open_immutable(path) as conn:
            return _application_id(conn) == APPLICATION_ID
    except sqlite3.DatabaseError:
        return False


def refuse_non_database(path: Path) -> None:
    """Raise `UnusableFile` for a path that is not a SQLite database.

    Damaged databases pass, unless their header is missing: opening them reports the damage.
    """
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise UnusableFile(
                f"{path} is a folder.",
                "Specify a memory file in it, or the --format of another agent's folder. For all "
                "memory files of a folder: 'slowwave fleet maintain'.",
            )
        if not stat.S_ISREG(status.st_mode):
            raise UnusableFile(
                f"{path} is a device or a pipe, not a file.", "Specify the path of a memory file."
            )
        if is_database(path):
            return
        start = first_bytes(path, _SCHEMA_WITHIN) if status.st_size else b""
    except FileNotFoundError:
        refuse_broken_link(path)
        is_ours = path.suffix in ("", *DATABASE_SUFFIXES)
        create = f", or create an empty file with: slowwave import {shlex.quote(str(path))} --empty"
        hint = f"Check the path{create if is_ours else '.'}"
        raise UnusableFile(f"There is no file {path}.", hint) from None
    except OSError as error:
        hint = "Check the permissions of the file and its folders."
        raise UnusableFile(f"Cannot read {path}: {error.strerror}.", hint) from error
    if not start:
        hint = "Restore it from a backup, or remove it to create a new one."
        raise UnusableFile(f"{path} has no content (0 bytes).", hint)
    if start.startswith(MAGIC):
        if len(start) < HEADER_BYTES:
            raise UnusableFile(
                f"{path} is damaged: its header is incomplete.", "Restore it from a backup."
            )
        return
    if _has_our_schema(start):
        raise UnusableFile(
            f"{path} is damaged: its header is missing.", "Restore it from a backup."
        )
    raise UnusableFile(
        f"{path} is not a memory file: it is not a SQLite database.",
        "Specify a file made by 'slowwave import'. To look for another agent's format: "
        f"slowwave formats {shlex.quote(str(path))}",
    )


def refuse_broken_link(path: Path) -> None:
    """Raise `UnusableFile` for a symbolic link to a file that does not exist."""
    if path.is_symlink() and not path.exists():
        raise UnusableFile(
            f"{path} is a link to {path.readlink()}, which does not exist.",
            "Restore that file, or remove the link.",
        )


def refuse_unusable(conn: sqlite3.Connection, path: Path) -> None:
    """Raise `UnusableFile` for another program's file, a newer schema, or a truncated file."""
    if _application_id(conn) != APPLICATION_ID:
        if _has_our_index(conn):
            raise UnusableFile(
                f"{path} is damaged: the application ID is missing from its header.",
                SAVE_HINT,
            )
        raise UnusableFile(
            f"{path} is a SQLite database, but not a memory file.",
            f"To see how to use its texts: slowwave maintain {shlex.quote(str(path))} --dry-run",
        )
    version, newest = version_of(conn), newest_version()
    if version < OLDEST_VERSION:
        raise UnusableFile(
            f"{path} has schema version {version}, which slowwave had before its first release; "
            f"this slowwave supports versions {OLDEST_VERSION} to {newest}.",
            "Export it with the slowwave that wrote it, and import the export into a new file.",
        )
    if version > newest:
        raise UnusableFile(
            f"{path} has schema version {version}; this slowwave supports versions up to {newest}.",
            "Install a newer slowwave.",
        )
    pages, size = (
        conn.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")
    )
    # Truncated: smaller than the header says, without a log that could contain the rest.
    if not file_size(sidecar_path(path, "-wal")) and file_size(path) < pages * size:
        raise UnusableFile(
            f"{path} is damaged: it has only {file_size(path)} of {pages * size} bytes.",
            SAVE_HINT,
        )
