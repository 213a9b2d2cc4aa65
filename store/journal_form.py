"""Whether an entry of the journal is one that a run wrote: looked at before SQL sees any of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import UnusableFile
from .file import MemoryFile
from .records import COLUMNS, is_possible
from .rows import Columns, decode_row

# What was found in texts. The rows carry the id of the run that wrote them.
FOUND_IN_TEXTS = ("embeddings", "memory_entities", "entity_scans")
# The proposal under which a purge journals what went.
PURGED = "purge"

# The tables that runs write to, with the columns by which the journal names a row.
_KEYS: dict[str, frozenset[str]] = {
    "memories": frozenset({"id"}),
    "embeddings": frozenset({"memory_id", "model"}),
    "memory_entities": frozenset({"memory_id", "entity_id"}),
    "entity_scans": frozenset({"memory_id"}),
    "synthesized_from": frozenset({"derived_id", "source_id"}),
    "derivations": frozenset({"memory_id", "run_id", "proposal"}),
    "read_messages": frozenset({"tenant", "chain"}),
    "memory_messages": frozenset({"memory_id", "chain"}),
    "waiting_messages": frozenset({"id"}),
}
_UPDATED = ("memories", "waiting_messages", *FOUND_IN_TEXTS)
HINT = (
    "Nothing was changed. Restore the file from a backup; 'slowwave check' names what is damaged."
)


@dataclass(frozen=True)
class JournalEntry:
    """One row that a run inserted, updated, or kept an image of, by table and key."""

    run: str
    sequence: int
    proposal: str
    table: str
    key: dict[str, Any]
    # None: the row was not there.
    before: dict[str, Any] | None
    # Empty: `before` is the image of a row that went, or was replaced.
    after: dict[str, Any]

    @property
    def is_image(self) -> bool:
        """Whether it only says what stood there."""
        return self.before is not None and not self.after


class JournalReader:
    """Reads entries of one file's journal, and refuses what no run writes."""

    def __init__(self, file: MemoryFile) -> None:
        """Read nothing yet."""
        self._columns = Columns(file)

    def read(self, row: Mapping[str, Any]) -> JournalEntry:
        """Return a row of the table `journal` as an entry. Raises `UnusableFile`."""
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
                fault = self._fault(entry)
            except UnusableFile:
                fault = "is not JSON of rows"
            if fault is None:
                return entry
        raise damaged_entry_error(row["run_id"], row["sequence"], fault)

    def _fault(self, entry: JournalEntry) -> str | None:
        before, after = entry.before or {}, entry.after
        if entry.key.keys() != _KEYS[entry.table]:
            return f"does not name a row of {entry.table} by its key"
        images = [entry.key, before, after]
        for name, value in ((name, image[name]) for image in images for name in image):
            if not self._columns.can_hold(entry.table, name, value):
                return f"says of {name!r:.60} what {entry.table} cannot hold"
            if entry.table == "memories" and name in COLUMNS and not is_possible(name, value):
                return f"says of {name} what no memory can be"
        return _fault_of_kind(entry)


def damaged_entry_error(run: object, sequence: object, fault: str) -> UnusableFile:
    """Return the error that an entry is not one that a run wrote."""
    place = f"entry {sequence!r:.20} of run {run!r:.60}"
    return UnusableFile(f"The file is damaged: {place} in its journal {fault}.", HINT)


def _fault_of_place(row: Mapping[str, Any]) -> str | None:
    if not (isinstance(row["sequence"], int) and isinstance(row["run_id"], str)):
        return "has no place among the others"
    if not isinstance(row["proposal"], str):
        return "belongs to no proposal"
    if row["table_name"] not in _KEYS:
        return f"names the table {row['table_name']!r:.60}, to which no run writes"
    return None


def _fault_of_kind(entry: JournalEntry) -> str | None:
    """Say why an entry is neither an insert, nor an update, nor an image of a row."""
    table, key, before, after = entry.table, entry.key, entry.before, entry.after
    if before is None:
        whole = key.items() <= after.items()
        if not whole or (table == "memories" and not set(COLUMNS) <= after.keys()):
            return f"is not the whole row of {table} that a run inserted"
    elif entry.is_image:
        if table == "memories" and entry.proposal == PURGED:
            return None
        if table not in FOUND_IN_TEXTS or not {*key, "run_id"} <= before.keys():
            return f"is not the image of a row of {table}"
        if not key.items() <= before.items():
            return f"is the image of another row of {table}"
    elif table not in _UPDATED or before.keys() != after.keys() or key.keys() & before.keys():
        return f"is not an update of a row of {table}"
    elif before.get("superseded_by", "") == key.get("id"):
        return "lets a memory be superseded by itself"
    return None
