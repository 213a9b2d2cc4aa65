"""The append-only log of shared facts, and of the authors who may write them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import Literal

from slowwave.store.erasing import Eraser
from slowwave.store.errors import DamagedRow
from slowwave.store.extension_points import has_table, run_script
from slowwave.store.file import MemoryFile
from slowwave.store.records import json_text
from slowwave.store.shared_tenant import has_log

from .log_script import SCRIPT, TABLE

# An export with --all would contain the same log.
SAVE_WITHOUT_LOG = (
    "Restore it from a backup. 'slowwave export FILE', without --all, saves the active memories, "
    "but not the log."
)

SharedOperation = Literal["publish", "retract", "admit", "dismiss"]
AuthorKind = Literal["human", "agent"]


@dataclass(frozen=True)
class SharedEntry:
    """A row of `shared_log`, without its digest."""

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
    """Return the whole log, oldest first.

    Raises `DamagedRow` if a row was changed: the current facts and authors are unknown then.
    """
    entries, broken = _read(file)
    if broken is not None:
        raise DamagedRow(broken, SAVE_WITHOUT_LOG)
    return entries


def broken_log(file: MemoryFile) -> str | None:
    """Return where the log was changed; None if it is intact."""
    return _read(file)[1]


def append(file: MemoryFile, entry: SharedEntry) -> None:
    """Append a row, in the caller's transaction."""
    if not has_table(file.conn, TABLE):
        run_script(file.conn, SCRIPT)
    before = file.value("SELECT digest FROM shared_log ORDER BY sequence DESC LIMIT 1")
    values = [*astuple(entry), _digest(before, entry)]
    marks = ", ".join("?" * len(values))
    file.conn.execute(f"INSERT INTO shared_log ({_COLUMNS}, digest) VALUES ({marks})", values)


def erase_from_log(file: MemoryFile, eraser: Eraser) -> int:
    """Erase texts from an intact log, in the caller's transaction; return the number of rows.

    Nothing else changes rows. The digests are computed again.
    """
    read_log(file)  # refuses a changed one
    conn = file.conn
    conn.execute("DROP TRIGGER shared_log_stays")
    rows = eraser.update(file, TABLE, ["content", "reason"])
    before: str | None = None
    for values in conn.execute(f"SELECT {_COLUMNS} FROM {TABLE} ORDER BY sequence").fetchall():
        entry = SharedEntry(*values)
        before = _digest(before, entry)
        conn.execute(f"UPDATE {TABLE} SET digest = ? WHERE sequence = ?", [before, entry.sequence])
    run_script(file.conn, SCRIPT)
    return rows


def latest(entries: Sequence[SharedEntry], subject: str, of_a_fact: bool) -> SharedEntry | None:
    """Return the last entry about a fact, or about an author."""
    wanted = subject, of_a_fact
    about = (entry for entry in reversed(entries) if (entry.subject, entry.of_a_fact) == wanted)
    return next(about, None)


def _read(file: MemoryFile) -> tuple[list[SharedEntry], str | None]:
    """Return the rows before the first altered row, and what is wrong with that row."""
    entries: list[SharedEntry] = []
    if not has_log(file):
        return entries, None
    before: str | None = None
    rows = file.conn.execute(f"SELECT {_COLUMNS}, digest FROM shared_log ORDER BY sequence")
    for number, (*values, digest) in enumerate(rows, start=1):
        entry = SharedEntry(*values)
        if entry.sequence != number or digest != _digest(before, entry):
            return entries, f"entry {number} of the log of shared facts was changed"
        entries.append(entry)
        before = digest
    return entries, None


def _digest(before: str | None, entry: SharedEntry) -> str:
    return hashlib.sha256(json_text([before, *astuple(entry)]).encode()).hexdigest()
