"""Read and validate journal entries, before any part of them reaches SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .errors import DamagedRow
from .file import MemoryFile
from .records import COLUMNS
from .rows import decode_row

# Replaces the key of a proposal in the entries of a purge.
PURGED = "purge"
# Replaces that key in the tombstones of forgotten memories; also an option of their run.
FORGOTTEN = "forget"

# The tables that runs write to, and the key columns in the journal.
KEYS: dict[str, tuple[str, ...]] = {
    "memories": ("id",),
    "embeddings": ("memory_id", "model"),
    "synthesized_from": ("derived_id", "source_id"),
    "derivations": ("memory_id", "run_id", "proposal"),
    "read_messages": ("tenant", "chain"),
    "memory_messages": ("memory_id", "chain"),
    "waiting_messages": ("id",),
}
_UPDATED = ("memories", "waiting_messages", "embeddings")
JOURNAL_HINT = (
    "Nothing was changed. Restore the file from a backup; 'slowwave check FILE' lists the damage."
)


@dataclass(frozen=True)
class JournalEntry:
    """A row that a run inserted, updated, deleted or replaced."""

    run: str
    sequence: int
    proposal: str
    table: str
    key: dict[str, Any]
    # None: the row did not exist.
    before: dict[str, Any] | None
    # Empty: `before` is the image of a row that was deleted or replaced.
    after: dict[str, Any]

    @property
    def is_image(self) -> bool:
        """Whether it only has an image of the row before."""
        return self.before is not None and not self.after


def read_entry(file: MemoryFile, row: Mapping[str, Any]) -> JournalEntry:
    """Return the entry of a row of `journal`. Raises `DamagedRow`."""
    fault: str | None = _fault_of_place(row)
    if fault is None:
        try:
            entry = JournalEntry(
                row["run_id"],
                row["sequence"],
                row["proposal"],
                row["table_name"],
                decode_row(row["row_key"]),
                None if row["before"] is None else decode_row(row["before"]),
                decode_row(row["after"]),
            )
            fault = _fault_of_values(file, entry) or _fault_of_kind(entry)
        except DamagedRow:
            fault = "does not contain rows as JSON"
        if fault is None:
            return entry
    raise damaged_entry_error(row["run_id"], row["sequence"], fault)


def damaged_entry_error(run: object, sequence: object, fault: str) -> DamagedRow:
    """Return the error for an entry that no run wrote."""
    place = f"entry {sequence!r:.20} of run {run!r:.60}"
    return DamagedRow(f"{place} in its journal {fault}", JOURNAL_HINT)


def _fault_of_values(file: MemoryFile, entry: JournalEntry) -> str | None:
    from .column_types import is_valid  # loads msgspec

    key = entry.key
    if key.keys() != {*KEYS[entry.table]} or any(isinstance(part, bytes) for part in key.values()):
        return f"does not have the key of a row of {entry.table}"
    for name, value in chain.from_iterable(
        image.items() for image in (entry.key, entry.before or {}, entry.after)
    ):
        if name not in file.columns(entry.table):
            return f"has an unknown column {name!r:.60} of {entry.table}"
        # SQLite checks the values of other tables when undo writes them.
        if entry.table == "memories" and name in COLUMNS and not is_valid(name, value):
            return f"has an impossible {name} for a memory"
    return None


def _fault_of_place(row: Mapping[str, Any]) -> str | None:
    if not (isinstance(row["sequence"], int) and isinstance(row["run_id"], str)):
        return "does not have a run and a number"
    if not isinstance(row["proposal"], str):
        return "does not have a proposal"
    if row["table_name"] not in KEYS:
        return f"refers to the table {row['table_name']!r:.60}, which no run changes"
    return None


def _fault_of_kind(entry: JournalEntry) -> str | None:
    """Return why an entry is not an insert, an update or an image of a row; None if it is."""
    table, key, before, after = entry.table, entry.key, entry.before, entry.after
    if before is None:
        has_key = key.items() <= after.items()
        if not has_key or (table == "memories" and not set(COLUMNS) <= after.keys()):
            return f"is not the whole row of {table} that a run inserted"
    elif entry.is_image:
        if table == "memories" and entry.proposal in (PURGED, FORGOTTEN):
            return None
        if table != "embeddings" or not {*key, "run_id"} <= before.keys():
            return f"is not the image of a row of {table}"
        if not key.items() <= before.items():
            return f"is the image of another row of {table}"
    elif table not in _UPDATED or before.keys() != after.keys() or key.keys() & before.keys():
        return f"is not an update of a row of {table}"
    elif before.get("superseded_by", "") == key.get("id"):
        return "makes a memory supersede itself"
    return None
