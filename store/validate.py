"""What is no memory file, or none that can be used, is refused before anything is done with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .errors import UnusableFile
from .records import SAVE
from .schema import APPLICATION_ID
from .schema_of_file import step_names, steps_had
from .sidecar import sidecar_path, size_of

if TYPE_CHECKING:
    from sqlite_utils import Database

MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
# What is in the schema of each memory file and of no other, and how far a damaged file is searched
# for it: the schema is written first.
_OUR_INDEX = "memories_by_successor"
_SCHEMA_WITHIN = 1_000_000


def is_of_another_program(path: Path) -> bool:
    """Whether something can be read there that is no memory file, damaged or not."""
    try:
        if not path.is_file():
            return path.is_dir()
        with path.open("rb") as stream:
            header = stream.read(72)
    except OSError:
        return False
    # Where SQLite's file format has the application id.
    application_id = header[68:72]
    if header.startswith(MAGIC) and application_id != bytes(4):
        return False
    return not _has_our_schema(path)


def _has_our_schema(path: Path) -> bool:
    """Whether there is a memory file's schema, behind whatever header."""
    try:
        with path.open("rb") as stream:
            return f"CREATE INDEX {_OUR_INDEX} ".encode() in stream.read(_SCHEMA_WITHIN)
    except OSError:
        return False


def is_database(path: Path) -> bool:
    """Whether a file begins as a SQLite file."""
    try:
        with path.open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def refuse_what_is_no_database(path: Path) -> None:
    """Refuse what is not there or does not begin as a SQLite file. Raises `UnusableFile`.

    Not while a connection of this process to the file is open: closing it here would drop the
    locks of that one, and another program could take the log away under it (sqlite.org, "How To
    Corrupt An SQLite Database File", 2.2).
    """
    try:
        if not (path.is_file() or path.is_dir()) and path.exists():
            raise UnusableFile(f"{path} is a device or a pipe, and no file.")
        with path.open("rb") as stream:
            start = stream.read(_HEADER_BYTES)
    except FileNotFoundError:
        raise UnusableFile(
            f"There is no file {path}.", f"Make one with: slowwave init {path}"
        ) from None
    except OSError as error:
        raise UnusableFile(f"Cannot read {path}: {error.strerror}.") from error
    if not start:
        raise UnusableFile(
            f"{path} is empty.", f"Remove it, then make a memory file with: slowwave init {path}"
        )
    if start.startswith(MAGIC):
        if len(start) < _HEADER_BYTES:
            raise UnusableFile(
                f"{path} is damaged: it ends within its header.", "Restore it from a backup."
            )
        return
    if _has_our_schema(path):
        raise UnusableFile(f"{path} is damaged: its header is not there.", SAVE)
    raise UnusableFile(
        f"{path} is not a memory file: it is not a SQLite database.",
        "Give the path of a file made by 'slowwave init' or 'slowwave import', or of another "
        "agent's memory file: see 'slowwave formats'.",
    )


def refuse_what_is_not_ours(db: Database, path: Path) -> None:
    """Refuse another program's file, a newer one, and one cut off. Raises `UnusableFile`."""
    application_id = db.conn.execute("PRAGMA application_id").fetchone()[0]
    if application_id != APPLICATION_ID:
        if db.conn.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [_OUR_INDEX]).fetchone():
            raise UnusableFile(
                f"{path} is damaged: its header does not say any more whose file it is.",
                SAVE,
            )
        raise UnusableFile(
            f"{path} is a SQLite database, but not a memory file of slowwave.",
            "Bring its memories over as JSON lines with 'slowwave import'.",
        )
    known, applied = step_names(), steps_had(db)
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
    if not size_of(sidecar_path(path, "-wal")) and size_of(path) < pages * size:
        raise UnusableFile(
            f"{path} is damaged: {size_of(path)} of {pages * size} bytes are there.",
            SAVE,
        )
