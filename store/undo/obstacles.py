"""Obstacles to an undo: which row and column changed since, and who changed it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from slowwave.store.ageing import STATUS_AFTER
from slowwave.store.file import MemoryFile
from slowwave.store.journal_form import JournalEntry, read_entry
from slowwave.store.purge import removals
from slowwave.store.records import json_text
from slowwave.store.rows import Row, current_row, encode_row

_BY_HAND = "An agent or a person did that: change it back, or undo other proposals individually."


@dataclass(frozen=True)
class Obstacle:
    """A change since the run that prevents its undo; `why` explains it in a sentence or two."""

    table: str
    # The parts of the row's key, separated by spaces; for a memory, its id.
    row: str
    # None: the row itself is gone, or another row depends on it.
    column: str | None = None
    now: Any = None
    left: Any = None
    # The run that made the change; None: an agent or a person did.
    run: str | None = None
    proposal: str | None = None
    why: str = field(kw_only=True)

    @property
    def is_purged(self) -> bool:
        """Whether the row was purged, and cannot be restored."""
        return self.column is None and self.run is not None and self.proposal is None


@dataclass
class LaterChanges:
    """Journal entries after some proposals of a run, still in effect; read on first use."""

    file: MemoryFile
    run_id: str
    proposals: Collection[str]

    def after(self, entry: JournalEntry) -> list[JournalEntry]:
        """Return the changes of a row after an entry, oldest first."""
        return self._after(entry, self._by_row.get((entry.table, encode_row(entry.key)), []))

    def updates_after(self, entry: JournalEntry) -> Iterator[JournalEntry]:
        """Yield how later runs updated or corrected what superseded the memory of an entry."""
        successor, seen = entry.after.get("superseded_by"), set[str]()
        while successor is not None and successor not in seen:
            seen.add(successor)
            for change in self.after(replace(entry, key={"id": successor})):
                is_new_text = change.before and change.after.keys() & {"content", "status"}
                if is_new_text and (change.run, change.proposal) in self._updates:
                    yield change
            row = current_row(self.file, "memories", {"id": successor})
            successor = None if row is None else row["superseded_by"]

    def absorbed_after(self, entry: JournalEntry) -> list[JournalEntry]:
        """Return the edges by which a memory absorbed others after an entry about it."""
        return self._after(entry, self._edges.get(entry.key["id"], []))

    def _after(self, entry: JournalEntry, changes: list[JournalEntry]) -> list[JournalEntry]:
        run_id, sequence = self.run_id, entry.sequence
        return [change for change in changes if change.run != run_id or change.sequence > sequence]

    @cached_property
    def _by_row(self) -> dict[tuple[str, str], list[JournalEntry]]:
        # Runs in the order of their rows, which does not depend on the clock.
        rows = self.file.rows(
            "SELECT j.* FROM journal j JOIN runs r ON r.id = j.run_id "
            "LEFT JOIN proposals p ON p.run_id = j.run_id AND p.key = proposal "
            # Entries of `waiting_messages` belong to a run, not to one of its proposals.
            "WHERE (table_name IN ('memories', 'synthesized_from') AND (state = 'applied' "
            "OR proposal IN (SELECT value FROM json_each(?2)) AND outcome <> 'undone') "
            "OR outcome <> 'undone' AND table_name = 'waiting_messages') "
            "AND r.rowid >= (SELECT rowid FROM runs WHERE id = ?1) ORDER BY r.rowid, sequence",
            [self.run_id, json_text(list(STATUS_AFTER))],
        )
        entries: dict[tuple[str, str], list[JournalEntry]] = {}
        for row in rows:
            if row["run_id"] == self.run_id and row["proposal"] in self.proposals:
                continue
            entry = read_entry(self.file, row)
            entries.setdefault((entry.table, encode_row(entry.key)), []).append(entry)
        return entries

    @cached_property
    def _updates(self) -> set[tuple[str, str]]:
        # Corrections are updates, too. Proposals of the same run can be undone in any order.
        rows = self.file.tuples(
            "SELECT run_id, key FROM proposals "
            "WHERE operation = 'update' AND state = 'applied' AND run_id <> ?",
            [self.run_id],
        )
        return {(run, key) for run, key in rows}

    @cached_property
    def _edges(self) -> dict[str, list[JournalEntry]]:
        edges: dict[str, list[JournalEntry]] = {}
        for (table, _), changes in self._by_row.items():
            for change in changes:
                if table == "synthesized_from" and change.before is None:
                    edges.setdefault(change.key["derived_id"], []).append(change)
        return edges


def column_changed(
    entry: JournalEntry, column: str, *, now: object, written: object, by: JournalEntry | None
) -> Obstacle:
    """Return the obstacle that a column has changed since the run."""
    row = _name(entry.key)
    subject = f"Memory {row}" if entry.table == "memories" else f"A row of {entry.table} ({row})"
    obstacle = _obstacle(entry.table, row, f"{subject} was changed after the run: {column}.", by)
    return replace(obstacle, column=column, now=now, left=written)


def successor_updated(memory_id: str, change: JournalEntry) -> Obstacle:
    """Return the obstacle that a memory would become active whose text was corrected since."""
    successor = _name(change.key)
    what = f"Memory {successor}, which superseded memory {memory_id}, was updated after the run."
    return _obstacle("memories", successor, what, change)


def memory_gone(file: MemoryFile, memory_id: str) -> Obstacle:
    """Return the obstacle that a memory no longer exists."""
    removal = next(removals(file, memory_id), None)
    if removal is None or removal.is_forgotten:
        return _obstacle("memories", memory_id, f"Memory {memory_id} was deleted after the run.")
    why = (
        f"Memory {memory_id} was purged on {removal.removed_at[:10]} by run {removal.run_id}: "
        "purged memories cannot be restored."
    )
    return Obstacle("memories", memory_id, run=removal.run_id, why=why)


def memory_needed(
    memory_id: str, dependent: str, superseded: bool, by: JournalEntry | None
) -> Obstacle:
    """Return the obstacle that another memory depends on this one, which absorbed it."""
    event = (
        f"Memory {dependent} was superseded by memory {memory_id}"
        if superseded
        else f"Memory {memory_id} absorbed memory {dependent}"
    )
    return _obstacle("memories", memory_id, f"{event} after the run.", by)


def _obstacle(table: str, row: str, what: str, by: JournalEntry | None = None) -> Obstacle:
    if by is None:
        return Obstacle(table, row, why=f"{what} {_BY_HAND}")
    # A run that expires or archives does nothing else, and is undone as a whole.
    proposal = None if by.proposal in ("", *STATUS_AFTER) else by.proposal
    author = f"Proposal {proposal[:12]} of run {by.run}" if proposal else f"Run {by.run}"
    why = f"{what} {author} did that: undo it first."
    return Obstacle(table, row, run=by.run, proposal=proposal, why=why)


def _name(key: Row) -> str:
    return " ".join(str(value) for value in key.values())
