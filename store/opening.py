"""Open files that may be SQLite databases. All such files must be opened by this module.

Closing any descriptor of a file drops all POSIX locks that the process holds on it, including those
of connections in other threads. Another process could then delete the log, and commits would be
lost (https://sqlite.org/howtocorrupt.html, 2.2). SQLite keeps its own descriptors open as long as
needed. A child process reads the bytes of files that SQLite refuses.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Literal

# SQLite's modes, and "immutable", which reads a file without locks, without its log, and without
# creating files next to it.
Mode = Literal["ro", "rw", "rwc", "immutable"]
# The header of a database: https://sqlite.org/fileformat.html.
MAGIC = b"SQLite format 3\x00"
HEADER_BYTES = 100
# How many instructions of SQLite's virtual machine run between checks for signals: a few
# milliseconds.
_SIGNAL_INTERVAL = 100_000

_READ = """
import sys
try:
    with open(sys.argv[1], "rb") as stream:
        sys.stdout.buffer.write(stream.read(int(sys.argv[2])))
except OSError as error:
    sys.exit(error.errno)
"""


@contextmanager
def open_database(path: Path, mode: Mode, wait_s: float = 5.0) -> Iterator[sqlite3.Connection]:
    """Connect to a database file without implicit transactions.

    wait_s: how long a statement waits for a lock. Raises `sqlite3.DatabaseError`.
    """
    uri_mode = "ro&immutable=1" if mode == "immutable" else mode
    uri = f"{path.absolute().as_uri()}?mode={uri_mode}"
    conn = sqlite3.connect(uri, uri=True, timeout=wait_s, isolation_level=None)
    # Python handles signals only while it executes Python code: without a callback, Ctrl-C could
    # not stop a long statement.
    conn.set_progress_handler(lambda: 0, _SIGNAL_INTERVAL)
    with closing(conn):
        yield conn


@contextmanager
def open_immutable(path: Path) -> Iterator[sqlite3.Connection]:
    """Connect to a file without locks, creating and changing nothing."""
    with open_database(path, "immutable") as conn:
        # Allows reading files that are shorter than their header claims.
        conn.execute("PRAGMA writable_schema = ON")
        yield conn


def is_database(path: Path) -> bool:
    """Whether a file has the header of a SQLite database; the rest may be damaged."""
    try:
        if not path.is_file() or path.stat().st_size < HEADER_BYTES:
            return False
        with open_immutable(path) as conn:
            conn.execute("PRAGMA schema_version").fetchone()
    except OSError:
        return False
    except sqlite3.DatabaseError as error:
        return error.sqlite_errorname.startswith("SQLITE_CORRUPT")
    return True


def refuse_database(path: Path) -> None:
    """Raise OSError if a file is a database instead of a text file."""
    if is_database(path):
        raise OSError(errno.EINVAL, "it is a SQLite database", str(path))


def open_text(path: Path) -> IO[bytes]:
    """Open a text file. Raises OSError, also if it is a database."""
    refuse_database(path)
    return path.open("rb")


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Return a text file's content. Raises UnicodeDecodeError, and OSError as `open_text` does."""
    with TextIOWrapper(open_text(path), encoding) as stream:
        return stream.read()


def first_bytes(path: Path, limit: int) -> bytes:
    """Return the first bytes of a file, read by a child process. Raises OSError."""
    import subprocess

    path.stat()  # raises FileNotFoundError
    # A child of root may have more rights than this process, and must not bypass permissions.
    if not os.access(path, os.R_OK, effective_ids=True):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    child = subprocess.run(  # noqa: S603 - this Python, with code of this module
        [sys.executable, "-I", "-S", "-c", _READ, str(path), str(limit)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    if child.returncode:
        raise OSError(child.returncode, os.strerror(abs(child.returncode)), str(path))
    return child.stdout
