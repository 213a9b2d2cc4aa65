"""Undo a run or a proposal bit for bit, from its journal, or name the obstacles."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from slowwave.store.ageing import STATUS_AFTER
from slowwave.store.erasing import references_explained
from slowwave.store.errors import ChangedSince, DamagedRow
from slowwave.store.file import MemoryFile
from slowwave.store.journal_form import (
    JOURNAL_HINT,
    JournalEntry,
    damaged_entry_error,
    read_entry,
)
from slowwave.store.ledger import DECIDED, count_states, read_run
from slowwave.store.memories import count_memories, tenants
from slowwave.store.records import content_hash, json_text, next_moment
from slowwave.store.rows import Row, current_row, delete_rows, set_columns

from .before_images import BeforeImages
from .obstacles import (
    LaterChanges,
    Obstacle,
    column_changed,
    memory_gone,
    memory_needed,
    successor_updated,
)

_HINT = (
    "Nothing was undone. Undo later runs first, newest first: slowwave undo FILE RUN. You can also "
    "undo other proposals individually, or restore single memories."
)
_HINT_OF_PURGED = (
    "Nothing was undone. A backup from before the purge has those memories, and 'slowwave show "
    "FILE MEMORY --lineage' has their texts; other proposals can be undone individually."
)
# Changes of these columns never prevent an undo: reads update the first two, triggers the next two,
# and any change the last.
_BOOKKEEPING = frozenset(
    {"access_count", "accessed_at", "content_hash", "source_content", "updated_at"}
)
# Changes of these columns do not prevent an undo that deletes the memory.
_IGNORED_ON_DELETE = _BOOKKEEPING | {"trust", "source"}
# The proposal of journal entries that have none: vectors that the run computed.
_OF_NO_PROPOSAL = ""
# How many journal entries are in memory at a time: some contain a vector.
_BATCH = 1_000
# Columns of a memory that do not depend on the memories that it absorbed.
_INDEPENDENT = _BOOKKEEPING | {"status", "superseded_by", "superseded_at"}


def undo_runs(file: MemoryFile, run_ids: Sequence[str], now: str) -> list[str]:
    """Undo runs in one transaction, and return the keys of their proposals.

    run_ids: the latest first. Raises `ChangedSince`, with nothing changed, if rows have changed
    since; it names each row and who changed it.
    """
    with file.transaction():
        return [key for run_id in run_ids for key in _undo_run(file, run_id, now)]


def _undo_run(file: MemoryFile, run_id: str, now: str) -> list[str]:
    keys = _applied(file, run_id)
    _reverse(file, run_id, [*keys, *STATUS_AFTER, _OF_NO_PROPOSAL]).delete_vectors()
    file.conn.execute("UPDATE runs SET outcome = 'undone' WHERE id = ?", [run_id])
    _mark_undone(file, run_id, keys, now)
    return keys


def undo_proposal(file: MemoryFile, run_id: str, key: str, now: str) -> None:
    """Undo an applied proposal in one transaction. Raises `ChangedSince`."""
    with file.transaction():
        undo_proposal_within(file, run_id, key, now)


def undo_proposal_within(file: MemoryFile, run_id: str, key: str, now: str) -> None:
    """Undo an applied proposal in the caller's transaction, and its run if nothing else is left."""
    _reverse(file, run_id, [key])
    _mark_undone(file, run_id, [key], now)
    if not _applied(file, run_id):
        _undo_run(file, run_id, now)


def withdraw(file: MemoryFile, run_id: str, *, key: str, state: str, why: str, now: str) -> bool:
    """Undo an applied proposal that has no effect elsewhere, in the caller's transaction.

    state, why: recorded instead of "undone". Returns False, with nothing changed, if a later
    proposal depends on it.
    """
    try:
        with file.savepoint():
            _reverse(file, run_id, [key])
            _mark_undone(file, run_id, [key], now, state, why)
    except ChangedSince:
        return False
    return True


def correct_report(file: MemoryFile, run_id: str, tokens_of: Callable[[str], int]) -> None:
    """Correct the report of a run with withdrawn proposals, in the caller's transaction."""
    run = read_run(file, run_id)
    if run.report is None:  # it was killed
        return
    states, after = count_states(file)[run_id], run.report["before"]
    if "applied" in states:
        counted = run.options.get("tenant") or tenants(file)
        after = asdict(count_memories(file, counted, tokens_of))
    report = run.report | {"states": states, "after": after}
    file.conn.execute("UPDATE runs SET report = ? WHERE id = ?", [json_text(report), run_id])


def _applied(file: MemoryFile, run_id: str) -> list[str]:
    return file.column("SELECT key FROM proposals WHERE run_id = ? AND state = 'applied'", [run_id])


def _reverse(file: MemoryFile, run_id: str, proposals: list[str]) -> BeforeImages:
    chosen, images = frozenset(proposals), BeforeImages(file, run_id)
    obstacles = _Reversal(file, run_id, chosen, images, LaterChanges(file, run_id, chosen)).apply()
    if obstacles:
        hint = _HINT_OF_PURGED if any(obstacle.is_purged for obstacle in obstacles) else _HINT
        summary = f"{len(obstacles)} later changes prevent the undo."
        message = obstacles[0].why if len(obstacles) == 1 else summary
        raise ChangedSince(message, hint, obstacles)
    return images


def _mark_undone(
    file: MemoryFile, run_id: str, keys: list[str], now: str, state: str = "undone", why: str = ""
) -> None:
    file.conn.executemany(
        "UPDATE proposals SET state = ?, why = coalesce(nullif(?, ''), why), decided_at = ? "
        "WHERE run_id = ? AND key = ?",
        [(state, why, now, run_id, key) for key in keys],
    )
    # What a person had approved is pending again; the latest row of a key counts.
    file.conn.executemany(
        "UPDATE proposals SET state = 'pending', decided_at = ?1 WHERE key = ?2 AND run_id = "
        "(SELECT max(run_id) FROM proposals WHERE key = ?2 AND state = 'approved') "
        f"AND (SELECT json_extract(options, '$.{DECIDED}') FROM runs WHERE id = ?3) IS NOT NULL",
        [(next_moment(now), key, run_id) for key in keys],
    )


@dataclass(frozen=True)
class _Reversal:
    """Undoes some proposals of a run in the caller's transaction.

    Continues after the first obstacle, to name all of them; the caller must roll back.
    """

    file: MemoryFile
    run_id: str
    proposals: Collection[str]
    images: BeforeImages
    later: LaterChanges

    def apply(self) -> tuple[Obstacle, ...]:
        """Undo the entries; return the obstacles. Raises `DamagedRow` for a damaged journal."""
        chosen = (entry for entry in self._entries() if entry.proposal in self.proposals)
        return tuple(obstacle for entry in chosen for obstacle in self._reverse(entry))

    def _entries(self) -> Iterator[JournalEntry]:
        """Yield the run's entries, latest first, in batches: an undo may renumber others."""
        last = None
        while part := list(
            self.file.rows(
                "SELECT * FROM journal WHERE run_id = ?1 AND (?2 IS NULL OR sequence < ?2) "
                "ORDER BY sequence DESC LIMIT ?3",
                [self.run_id, last, _BATCH],
            )
        ):
            last = part[-1]["sequence"]
            yield from map(partial(read_entry, self.file), part)

    def _reverse(self, entry: JournalEntry) -> Iterator[Obstacle]:
        try:
            yield from self._reverse_by_kind(entry)
        except (sqlite3.IntegrityError, OverflowError) as error:
            if getattr(error, "sqlite_errorname", "") == "SQLITE_CONSTRAINT_TRIGGER":
                raise  # a trigger of an agent, or of shared facts, refuses the change
            fault = f"does not fit into {entry.table} ({error})"
            raise damaged_entry_error(entry.run, entry.sequence, fault) from error

    def _reverse_by_kind(self, entry: JournalEntry) -> Iterator[Obstacle]:
        if entry.table == "embeddings":
            self._reverse_vector(entry)
        elif entry.is_image:
            fault = "belongs to a purge, unlike the run"
            raise damaged_entry_error(entry.run, entry.sequence, fault)
        elif entry.before is None:
            yield from self._reverse_insert(entry)
        else:
            yield from self._reverse_update(entry, entry.before)

    def _reverse_vector(self, entry: JournalEntry) -> None:
        """Undo a vector; one that was replaced since stays."""
        table, key, before = entry.table, entry.key, entry.before
        if before is not None and entry.is_image:
            self.images.put_back(key, before)
            return
        current = current_row(self.file, table, key)
        if current is None or current["run_id"] != self.run_id:
            self.images.forget(key)
        elif before is None:
            delete_rows(self.file, table, [key])
        else:
            set_columns(self.file, table, [key], before)

    def _reverse_insert(self, entry: JournalEntry) -> Iterator[Obstacle]:
        table, key = entry.table, entry.key
        current = current_row(self.file, table, key)
        if current is None:
            # Missing lineage is as before the run; a missing memory was deleted on purpose.
            if table == "memories":
                yield memory_gone(self.file, key["id"])
            return
        changes = self.later.after(entry)
        for column, written in entry.after.items():
            if column not in _IGNORED_ON_DELETE and current[column] != written:
                by = _last_writer(changes, column, current[column])
                yield column_changed(entry, column, now=current[column], written=written, by=by)
        if table == "memories":
            yield from self._dependents(entry)
        with references_explained(self.file.conn, self.file.path, table):
            delete_rows(self.file, table, [key])

    def _dependents(self, entry: JournalEntry) -> Iterator[Obstacle]:
        """Yield an obstacle for each memory whose facts would be lost together with this one."""
        memory_id = entry.key["id"]
        absorbed = {change.key["source_id"]: change for change in self.later.absorbed_after(entry)}
        superseded = self.file.column(
            "SELECT id FROM memories WHERE superseded_by = ?", [memory_id]
        )
        for dependent in superseded:
            changes = self.later.after(replace(entry, key={"id": dependent}))
            by = _last_writer(changes, "superseded_by", memory_id)
            yield memory_needed(memory_id, dependent, True, by)
        for source in self.file.column(
            "SELECT source_id FROM synthesized_from WHERE derived_id = ?", [memory_id]
        ):
            if source not in superseded:
                yield memory_needed(memory_id, source, False, absorbed.get(source))

    def _reverse_update(self, entry: JournalEntry, before: Row) -> Iterator[Obstacle]:
        """Restore the columns of a memory, or of a part of a conversation."""
        table, key = entry.table, entry.key
        current = current_row(self.file, table, key)
        if current is None:
            yield memory_gone(self.file, key["id"])
            return
        changes = self.later.after(entry)
        restored: dict[str, Any] = {}
        for column, old in before.items():
            written = entry.after[column]
            if current[column] == old:
                continue  # already restored
            if column == "access_count":
                # Keep the reads since: subtract only what the run added.
                restored[column] = max(0, old + current[column] - written)
            elif column == "updated_at" and current[column] != written:
                self._pass_to_next_run(changes, old, written)
            elif column in _BOOKKEEPING or current[column] == written:
                restored[column] = old
            else:
                by = _last_writer(changes, column, current[column])
                yield column_changed(entry, column, now=current[column], written=written, by=by)
        yield from self._built_on(entry, restored)
        self._fix_references(key["id"], current, restored)
        if restored:
            set_columns(self.file, table, [key], restored)

    def _built_on(self, entry: JournalEntry, restored: Row) -> Iterator[Obstacle]:
        """Yield an obstacle for each later change that builds on an update of a memory."""
        memory_id, before = entry.key["id"], entry.before or {}
        if before.keys() - _INDEPENDENT:
            for change in self.later.absorbed_after(entry):
                yield memory_needed(memory_id, change.key["source_id"], False, change)
        if restored.get("status") == "active":
            for change in self.later.updates_after(entry):
                yield successor_updated(memory_id, change)

    def _fix_references(self, memory_id: str, current: Row, restored: dict[str, Any]) -> None:
        successor = restored.get("superseded_by")
        if successor and current_row(self.file, "memories", {"id": successor}) is None:
            restored["superseded_by"] = None  # as its deletion would have set it
        elif successor and self._is_succeeded_by(successor, memory_id):
            fault = f"its journal makes memory {memory_id} its own successor"
            raise DamagedRow(fault, JOURNAL_HINT)
        if "content" in restored:
            # Memories derived from the current text still cite it.
            self.file.conn.execute(
                "UPDATE synthesized_from SET source_content = ? "
                "WHERE source_id = ? AND source_hash = ? AND source_content IS NULL",
                [current["content"], memory_id, content_hash(current["content"])],
            )

    def _is_succeeded_by(self, memory_id: str, successor: str) -> bool:
        """Whether `successor` supersedes a memory, directly or through others."""
        row = self.file.value(
            "WITH RECURSIVE up (id) AS (SELECT ?1 UNION SELECT superseded_by FROM memories "
            "JOIN up USING (id) WHERE superseded_by IS NOT NULL) SELECT 1 FROM up WHERE id = ?2",
            [memory_id, successor],
        )
        return row is not None

    def _pass_to_next_run(self, changes: list[JournalEntry], old: object, written: object) -> None:
        """Let the undo of the next run that changed a time restore the time before this run."""
        following = next((change for change in changes if "updated_at" in change.after), None)
        if following is not None:
            self.file.conn.execute(
                "UPDATE journal SET before = json_set(before, '$.updated_at', ?) "
                "WHERE run_id = ? AND sequence = ? AND json_extract(before, '$.updated_at') = ?",
                [old, following.run, following.sequence, written],
            )


def _last_writer(changes: list[JournalEntry], column: str, now: object) -> JournalEntry | None:
    """Return the change that left the current value of a column; None if no run did."""
    last = next((change for change in reversed(changes) if column in change.after), None)
    return last if last is not None and last.after[column] == now else None
