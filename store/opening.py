"""How a file that may be a SQLite database is opened: by SQLite, through this module alone.

Closing any descriptor of a file drops every POSIX lock that the process holds on it, those of other
threads' connections and of an agent's own included. Another process then takes the log away, and
what they commit is lost (https://sqlite.org/howtocorrupt.html, 2.2). SQLite knows its own
connections, and closes no descriptor that one of them still needs. The bytes of a file that SQLite
refuses are read by a child process, whose descriptors hold no locks of this one.
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

# SQLite's own modes, and one that takes no lock and creates nothing beside the file: it reads the
# file as if nobody wrote to it, without its log.
Mode = Literal["ro", "rw", "rwc", "immutable"]
# How each database begins, and how long its header is: https://sqlite.org/fileformat.html.
MAGIC = b"SQLite format 3\x00"
HEADER_BYTES = 100
# After how many instructions of SQLite's machine a statement lets Python handle a signal: some
# milliseconds of work, which costs nothing that can be measured.
_DEAF_INSTRUCTIONS = 100_000

_READ = """
import sys
try:
    with open(sys.argv[1], "rb") as stream:
        sys.stdout.buffer.write(stream.read(int(sys.argv[2])))
except OSError as error:
    sys.exit(error.errno)
"""
_COPY = """
import shutil, sys
try:
    shutil.copyfile(sys.argv[1], sys.argv[2])
except OSError as error:
    sys.exit(error.errno)
"""


@contextmanager
def open_database(path: Path, mode: Mode, wait_s: float = 5.0) -> Iterator[sqlite3.Connection]:
    """Connect to a database file; transactions begin where the caller says so.

    wait_s: how long a statement waits for another's lock. Raises `sqlite3.DatabaseError`.
    """
    asked = "ro&immutable=1" if mode == "immutable" else mode
    uri = f"{path.absolute().as_uri()}?mode={asked}"
    conn = sqlite3.connect(uri, uri=True, timeout=wait_s, isolation_level=None)
    # Python runs the handlers of signals between its own instructions only. SQLite calls one here
    # now and then, so that a signal ends a statement that a view or a trigger keeps busy.
    conn.set_progress_handler(lambda: 0, _DEAF_INSTRUCTIONS)
    with closing(conn):
        yield conn


@contextmanager
def open_immutable(path: Path) -> Iterator[sqlite3.Connection]:
    """Connect to a file to see what it is: no lock is taken, and nothing is created or changed."""
    with open_database(path, "immutable") as conn:
        # A file that is shorter than its header claims can be looked at all the same.
        conn.execute("PRAGMA writable_schema = ON")
        yield conn


def is_database(path: Path) -> bool:
    """Whether SQLite takes a file for a database: its header is sound, whatever follows that."""
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
    """Refuse a database where a text file is meant. Raises OSError."""
    if is_database(path):
        raise OSError(errno.EINVAL, "it is a SQLite database", str(path))


def open_text(path: Path) -> IO[bytes]:
    """Open a file that a user named as text. Raises OSError, also if it is a database."""
    refuse_database(path)
    return path.open("rb")


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Return a text file's content. Raises UnicodeDecodeError, and OSError as `open_text` does."""
    with TextIOWrapper(open_text(path), encoding) as stream:
        return stream.read()


def first_bytes(path: Path, most: int) -> bytes:
    """Return how a file begins, read by a child process. Raises OSError."""
    return _in_a_child(_READ, path, str(most))


def copy_bytes(path: Path, to: Path) -> None:
    """Copy a file as it is, by a child process. Raises OSError."""
    _in_a_child(_COPY, path, str(to))


def _in_a_child(code: str, path: Path, argument: str) -> bytes:
    import subprocess

    path.stat()  # what is not there is said so
    # What this process may not read a child must not read for it: root's has all rights again.
    if not os.access(path, os.R_OK, effective_ids=True):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    done = subprocess.run(  # noqa: S603 - this Python, with code of this module
        [sys.executable, "-I", "-S", "-c", code, str(path), argument],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        raise OSError(done.returncode, os.strerror(abs(done.returncode)), str(path))
    return done.stdout
