"""The append-only log of shared facts, and of the authors who may write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import Literal

from slowwave.store.extension_points import has_table, run_script
from slowwave.store.file import MemoryFile
from slowwave.store.shared_tenant import has_log

from .log_script import SCRIPT, TABLE

SharedOperation = Literal["publish", "retract", "admit", "dismiss"]
AuthorKind = Literal["human", "agent"]


@dataclass(frozen=True)
class SharedEntry:
    """A row of `shared_log`."""

    sequence: int
    at: str
    operation: SharedOperation
    # The fact, or the author who is admitted or dismissed.
    subject: str
    version: int
    content: str | None
    author: str
    # What the author was then.
    kind: AuthorKind
    # The seniority of an agent.
    seniority: int | None
    reason: str | None
    memory_id: str | None

    @property
    def of_a_fact(self) -> bool:
        """Whether it is about a fact instead of an author."""
        return self.operation in ("publish", "retract")


_COLUMNS = ", ".join(field.name for field in fields(SharedEntry))


def read_log(file: MemoryFile) -> list[SharedEntry]:
    """Return the whole log, oldest first."""
    if not has_log(file):
        return []
    rows = file.conn.execute(f"SELECT {_COLUMNS} FROM {TABLE} ORDER BY sequence")
    return [SharedEntry(*values) for values in rows]


def append(file: MemoryFile, entry: SharedEntry) -> None:
    """Append a row, in the caller's transaction."""
    if not has_table(file.conn, TABLE):
        run_script(file.conn, SCRIPT)
    values = [*astuple(entry), ""]
    marks = ", ".join("?" * len(values))
    file.conn.execute(f"INSERT INTO {TABLE} ({_COLUMNS}, digest) VALUES ({marks})", values)


def latest(entries: Sequence[SharedEntry], subject: str, of_a_fact: bool) -> SharedEntry | None:
    """Return the last entry about a fact, or about an author."""
    wanted = subject, of_a_fact
    about = (entry for entry in reversed(entries) if (entry.subject, entry.of_a_fact) == wanted)
    return next(about, None)
