"""What a run would say again of a tenant in which nothing has changed since."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from sqlite3 import Connection

from .connection import connected, explained
from .file import MemoryFile

# In front of the sign of a run that is looking; no hash begins so.
_LOOKING = "looking "
_DATA_VERSION = "PRAGMA data_version"


def read_standing(file: MemoryFile, tenant: str, key: str, now: str) -> bytes | None:
    """Give the report that still stands for these options; None if there is none."""
    report = file.value(
        "SELECT report FROM standing WHERE tenant = ? AND key = ? AND (until IS NULL OR until > ?)",
        [tenant, key, now],
    )
    return report if isinstance(report, bytes) else None


class Watch:
    """Tells whether anybody has written to a file since some moment, without writing to it."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        """Take where it is, and what closes it at the end."""
        self._path = path
        self._stack = stack
        self._conn: Connection | None = None
        self._version = 0

    def begin(self) -> None:
        """Let this be the moment. Raises `UnusableFile`."""
        if self._conn is None:
            self._stack.enter_context(explained(self._path))
            # Not "ro": whoever closes a file last must be able to tidy its log away.
            self._conn = self._stack.enter_context(connected(self._path, "rw")).conn
        self._version = self._seen()

    def is_quiet(self) -> bool:
        """Say whether nobody has written anything since, not even this process."""
        return self._seen() == self._version

    def _seen(self) -> int:
        # SQLite changes it with every commit of another connection.
        return 0 if self._conn is None else int(self._conn.execute(_DATA_VERSION).fetchone()[0])


@contextmanager
def watching(path: Path) -> Iterator[Watch]:
    """Give somebody who can watch a file for as long as the block lasts."""
    with ExitStack() as stack:
        yield Watch(path, stack)


def begin_looking(
    file: MemoryFile, tenants: Sequence[str], sign: str, quiet: Callable[[], bool]
) -> bool:
    """Put a run's sign where its report will stand: any change from here on takes it away.

    Not if something was not `quiet` before the sign stood there; then it gives False.
    """
    with file.transaction():
        if not quiet():
            return False
        for tenant in tenants:
            # Of runs that were killed.
            file.db.conn.execute(
                "DELETE FROM standing WHERE tenant = ? AND key LIKE ? || '%'", [tenant, _LOOKING]
            )
            file.db.conn.execute(
                "INSERT INTO standing (tenant, key, report) VALUES (?, ?, x'')",
                [tenant, _LOOKING + sign],
            )
    return True


def keep_standing(
    file: MemoryFile, tenant: str, sign: str, key: str, until: str | None, report: bytes
) -> None:
    """Let a report stand, unless something has changed since the run began to look."""
    with file.transaction():
        file.db.conn.execute(
            "UPDATE OR REPLACE standing SET key = ?, until = ?, report = ? "
            "WHERE tenant = ? AND key = ?",
            [key, until, report, tenant, _LOOKING + sign],
        )
