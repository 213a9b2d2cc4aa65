"""Read and validate journal entries, before any part of them reaches SQL."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
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
    with suppress(DamagedRow):
        entry = JournalEntry(
            row["run_id"],
            row["sequence"],
            row["proposal"],
            row["table_name"],
            decode_row(row["row_key"]),
            None if row["before"] is None else decode_row(row["before"]),
            decode_row(row["after"]),
        )
        if _is_possible(file, entry):
            return entry
    raise damaged_entry_error(row["run_id"], row["sequence"], "is not one that a run writes")


def damaged_entry_error(run: object, sequence: object, fault: str) -> DamagedRow:
    """Return the error for an entry that no run wrote."""
    place = f"entry {sequence!r:.20} of run {run!r:.60}"
    return DamagedRow(f"{place} in its journal {fault}", JOURNAL_HINT)


def _is_possible(file: MemoryFile, entry: JournalEntry) -> bool:
    """Whether a run may have written an entry."""
    from .column_types import is_valid  # loads msgspec

    table, key, before, after = entry.table, entry.key, entry.before, entry.after
    is_placed = isinstance(entry.run, str) and isinstance(entry.sequence, int)
    if not (is_placed and isinstance(entry.proposal, str) and table in KEYS):
        return False
    if key.keys() != {*KEYS[table]} or any(isinstance(part, bytes) for part in key.values()):
        return False
    for name, value in chain.from_iterable(map(dict.items, (key, before or {}, after))):
        if name not in file.columns(table):
            return False
        # SQLite checks the values of other tables when undo writes them.
        if table == "memories" and name in COLUMNS and not is_valid(name, value):
            return False
    if before is None:
        return key.items() <= after.items() and (table != "memories" or {*COLUMNS} <= after.keys())
    if entry.is_image and table == "memories":
        return entry.proposal in (PURGED, FORGOTTEN)
    if entry.is_image:
        has_run = table == "embeddings" and "run_id" in before
        return has_run and key.items() <= before.items()
    is_update = before.keys() == after.keys() and not key.keys() & before.keys()
    return table in _UPDATED and is_update and before.get("superseded_by", "") != key.get("id")
