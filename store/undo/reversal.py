"""The entries of the journal applied backwards: each row as it was, or what stands in the way."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from slowwave.store.errors import UnusableFile
from slowwave.store.file import MemoryFile
from slowwave.store.journal_form import (
    FOUND_IN_TEXTS,
    HINT,
    JournalEntry,
    JournalReader,
    damaged_entry_error,
)
from slowwave.store.records import content_hash
from slowwave.store.rows import Row, current_row, delete_row, set_columns

from .before_images import BeforeImages
from .obstacles import (
    LaterChange,
    LaterChanges,
    Obstacle,
    column_changed,
    memory_gone,
    memory_needed,
    memory_passed_on,
)

# Changes of these never refuse an undo: reading a memory changes the first two, the file's own
# triggers write the next two, and the last only says when something changed.
_BOOKKEEPING = frozenset(
    {"access_count", "accessed_at", "content_hash", "source_content", "updated_at"}
)
# Nor, of a memory that goes with its run, how far it was trusted since.
_OF_NO_WEIGHT = _BOOKKEEPING | {"trust"}
# How many journal entries are held in memory at a time: some contain a vector.
_PORTION = 1_000
# Columns of a memory that say nothing of the memories that it took in.
_OF_ITSELF = _BOOKKEEPING | {"status", "superseded_by", "superseded_at"}


class Reversal:
    """Takes back some proposals of one run, within the transaction of the caller.

    It goes on after the first obstacle, so that all are named: the caller has to roll back.
    """

    def __init__(
        self, file: MemoryFile, run_id: str, proposals: Sequence[str], images: BeforeImages
    ) -> None:
        """Take what is to be undone; "" stands for what the run found in texts."""
        self._file = file
        self._run_id = run_id
        self._proposals = frozenset(proposals)
        self._images = images
        self._later = LaterChanges(file, run_id, proposals)
        self._form = JournalReader(file)

    def carry_out(self) -> tuple[Obstacle, ...]:
        """Take everything back, and return what stood in the way.

        Raises `UnusableFile` if the journal is not what a run wrote.
        """
        chosen = (one for one in self._entries() if one.proposal in self._proposals)
        return tuple(obstacle for entry in chosen for obstacle in self._take_back(entry))

    def _entries(self) -> Iterator[JournalEntry]:
        """Yield the run's entries, latest first, in portions: undoing one may renumber others."""
        last = None
        while part := list(
            self._file.rows(
                "SELECT * FROM journal WHERE run_id = ?1 AND (?2 IS NULL OR sequence < ?2) "
                "ORDER BY sequence DESC LIMIT ?3",
                [self._run_id, last, _PORTION],
            )
        ):
            last = part[-1]["sequence"]
            yield from map(self._form.read, part)

    def _take_back(self, entry: JournalEntry) -> Iterator[Obstacle]:
        try:
            yield from self._take_back_by_kind(entry)
        except (sqlite3.IntegrityError, OverflowError) as error:
            if getattr(error, "sqlite_errorname", "") == "SQLITE_CONSTRAINT_TRIGGER":
                raise  # an agent's own, or that of shared knowledge, does not let it
            fault = f"does not fit into {entry.table} ({error})"
            raise damaged_entry_error(entry.run, entry.sequence, fault) from error

    def _take_back_by_kind(self, entry: JournalEntry) -> Iterator[Obstacle]:
        sequence, table, key, before = entry.sequence, entry.table, entry.key, entry.before
        if table in FOUND_IN_TEXTS:
            if before is not None and entry.is_image:
                self._images.put_back(sequence, table, key, before)
            else:
                self._take_back_found(table, key, before)
        elif entry.is_image:
            raise damaged_entry_error(entry.run, sequence, "is of a purge, and the run was not one")
        elif before is None:
            yield from self._take_back_insert(sequence, table, key, entry.after)
        else:
            yield from self._take_back_update(sequence, table, key, before, entry.after)

    def _take_back_found(self, table: str, key: Row, before: Row | None) -> None:
        """Take back what was found in a text; what somebody put in its place stays."""
        now = current_row(self._file, table, key)
        if now is None or now["run_id"] != self._run_id:
            self._images.forget(table, key)
        elif before is None:
            delete_row(self._file, table, key)
        else:
            set_columns(self._file, table, key, before)

    def _take_back_insert(
        self, sequence: int, table: str, key: Row, after: Row
    ) -> Iterator[Obstacle]:
        now = current_row(self._file, table, key)
        if now is None:
            # Lineage that is gone is as it was before the run; a memory may be gone for a reason.
            if table == "memories":
                yield memory_gone(self._file, key["id"])
            return
        since = self._later.of(sequence, table, key)
        for column, left in after.items():
            if column not in _OF_NO_WEIGHT and now[column] != left:
                by = _last_writer(since, column, now[column])
                yield column_changed(table, key, column, now[column], left, by)
        if table == "memories":
            yield from self._memories_that_need(sequence, key["id"])
        delete_row(self._file, table, key)

    def _memories_that_need(self, sequence: int, memory_id: str) -> Iterator[Obstacle]:
        """Yield the memories whose facts only this one tells now: they would be lost with it."""
        taken_in = {one.key["source_id"]: one for one in self._later.into(sequence, memory_id)}
        conn = self._file.db.conn
        found = conn.execute("SELECT id FROM memories WHERE superseded_by = ?", [memory_id])
        superseded = [row[0] for row in found]
        for other in superseded:
            since = self._later.of(sequence, "memories", {"id": other})
            by = _last_writer(since, "superseded_by", memory_id)
            passed = memory_passed_on(self._file, memory_id, other) if by is None else None
            yield passed or memory_needed(memory_id, other, True, by)
        edges = conn.execute(
            "SELECT source_id FROM synthesized_from WHERE derived_id = ?", [memory_id]
        )
        for (source,) in edges.fetchall():
            if source not in superseded:
                yield memory_needed(memory_id, source, False, taken_in.get(source))

    def _take_back_update(
        self, sequence: int, table: str, key: Row, before: Row, after: Row
    ) -> Iterator[Obstacle]:
        """Take back what the run changed in a memory: no other row of theirs is ever updated."""
        now = current_row(self._file, table, key)
        if now is None:
            yield memory_gone(self._file, key["id"])
            return
        since = self._later.of(sequence, table, key)
        back: dict[str, Any] = {}
        for column, was in before.items():
            left = after[column]
            if now[column] == was:
                continue  # somebody has put it right already
            if column == "access_count":
                # Reads since then are counted still: only what the run added goes.
                back[column] = max(0, was + now[column] - left)
            elif column == "updated_at" and now[column] != left:
                self._pass_to_next_run(since, column, was, left)
            elif column in _BOOKKEEPING or now[column] == left:
                back[column] = was
            else:
                by = _last_writer(since, column, now[column])
                yield column_changed(table, key, column, now[column], left, by)
        if before.keys() - _OF_ITSELF:
            for one in self._later.into(sequence, key["id"]):
                yield memory_needed(key["id"], one.key["source_id"], False, one)
        self._leave_nothing_dangling(key["id"], now, back)
        if back:
            set_columns(self._file, table, key, back)

    def _leave_nothing_dangling(self, memory_id: str, now: Row, back: dict[str, Any]) -> None:
        successor = back.get("superseded_by")
        if successor and current_row(self._file, "memories", {"id": successor}) is None:
            back["superseded_by"] = None  # as when it left
        elif successor and self._is_succeeded_by(successor, memory_id):
            raise UnusableFile(
                f"The file is damaged: its journal lets memory {memory_id} stand for what "
                "supersedes it.",
                HINT,
            )
        if "content" in back:
            # What was made from the text that goes now still cites it.
            self._file.db.conn.execute(
                "UPDATE synthesized_from SET source_content = ? "
                "WHERE source_id = ? AND source_hash = ? AND source_content IS NULL",
                [now["content"], memory_id, content_hash(now["content"])],
            )

    def _is_succeeded_by(self, memory_id: str, successor: str) -> bool:
        """Whether a memory stands for another, directly or by others in between."""
        found = self._file.value(
            "WITH RECURSIVE up (id) AS (SELECT ?1 UNION SELECT superseded_by FROM memories "
            "JOIN up USING (id) WHERE superseded_by IS NOT NULL) SELECT 1 FROM up WHERE id = ?2",
            [memory_id, successor],
        )
        return found is not None

    def _pass_to_next_run(
        self, since: list[LaterChange], column: str, was: object, left: object
    ) -> None:
        """Make the next run that changed a column restore the value from before this one."""
        following = next((one for one in since if column in one.after), None)
        if following is not None:
            self._file.db.conn.execute(
                f"UPDATE journal SET before = json_set(before, '$.{column}', ?) "
                f"WHERE run_id = ? AND sequence = ? AND json_extract(before, '$.{column}') = ?",
                [was, following.run, following.sequence, left],
            )


def _last_writer(since: list[LaterChange], column: str, now: object) -> LaterChange | None:
    """Return the run that left what stands in a column now; None if no run did."""
    last = next((one for one in reversed(since) if column in one.after), None)
    return last if last is not None and last.after[column] == now else None
