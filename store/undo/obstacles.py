"""What stands in the way of an undo: which row, which column, and who changed it since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from slowwave.store.ageing import STATUS_AFTER
from slowwave.store.file import MemoryFile
from slowwave.store.journal_form import JournalReader
from slowwave.store.purge import purged_by
from slowwave.store.records import json_text
from slowwave.store.rows import Row, encode_row, json_field

# So many characters of a text are shown.
_LONGEST = 60


@dataclass(frozen=True)
class Obstacle:
    """One change since the run; `why` says it in a sentence or two."""

    table: str
    # The row's key, its parts with a space between them: of a memory, its id.
    row: str
    # None: the row itself is gone, or another depends on it.
    column: str | None
    now: Any
    left: Any
    # Who did it; None: no run, but an agent or a person.
    run: str | None
    proposal: str | None
    why: str

    @property
    def is_purged(self) -> bool:
        """Whether the row was purged: nothing brings it back."""
        return self.column is None and self.run is not None and self.proposal is None


@dataclass(frozen=True)
class LaterChange:
    """An entry of the journal that still stands, and was written later."""

    run: str
    proposal: str
    sequence: int
    key: dict[str, Any]
    # Whether the row was made by it.
    made: bool
    after: dict[str, Any]


class LaterChanges:
    """What runs did to memories and lineage after a run, or after some proposals of it."""

    def __init__(self, file: MemoryFile, run_id: str, proposals: Sequence[str]) -> None:
        """Take what is to be undone; nothing is read before it is asked for."""
        self._file = file
        self._run_id = run_id
        self._proposals = frozenset(proposals)

    def of(self, sequence: int, table: str, key: Row) -> list[LaterChange]:
        """Return the changes of one row after an entry, oldest first."""
        return self._after(sequence, self._by_row.get((table, encode_row(key)), []))

    def into(self, sequence: int, memory_id: str) -> list[LaterChange]:
        """Return the edges by which a memory took in others after an entry."""
        return self._after(sequence, self._edges.get(memory_id, []))

    def _after(self, sequence: int, changes: list[LaterChange]) -> list[LaterChange]:
        return [one for one in changes if one.run != self._run_id or one.sequence > sequence]

    @cached_property
    def _by_row(self) -> dict[tuple[str, str], list[LaterChange]]:
        # Runs in the order in which they were written down: no clock can turn it round.
        rows = self._file.rows(
            "SELECT j.* FROM journal j JOIN runs r ON r.id = j.run_id "
            "LEFT JOIN proposals p ON p.run_id = j.run_id AND p.key = proposal "
            # What waits for a model is read by a run, and by none of its proposals.
            "WHERE (table_name IN ('memories', 'synthesized_from') AND (state = 'applied' "
            "OR proposal IN (SELECT value FROM json_each(?2)) AND outcome <> 'undone') "
            "OR outcome <> 'undone' AND table_name = 'waiting_messages') "
            "AND r.rowid >= (SELECT rowid FROM runs WHERE id = ?1) ORDER BY r.rowid, sequence",
            [self._run_id, json_text(list(STATUS_AFTER))],
        )
        found: dict[tuple[str, str], list[LaterChange]] = {}
        form = JournalReader(self._file)
        for row in rows:
            if row["run_id"] == self._run_id and row["proposal"] in self._proposals:
                continue
            one = form.read(row)
            change = LaterChange(
                one.run, one.proposal, one.sequence, one.key, one.before is None, one.after
            )
            found.setdefault((one.table, encode_row(one.key)), []).append(change)
        return found

    @cached_property
    def _edges(self) -> dict[str, list[LaterChange]]:
        edges: dict[str, list[LaterChange]] = {}
        for (table, _), changes in self._by_row.items():
            for change in changes:
                if table == "synthesized_from" and change.made:
                    edges.setdefault(change.key["derived_id"], []).append(change)
        return edges


def column_changed(
    table: str, key: Row, column: str, now: object, left: object, by: LaterChange | None
) -> Obstacle:
    """Return the obstacle that a column is not what the run left."""
    what = (
        f"{_row(table, key)} was changed after the run: {column} is {_excerpt(now, left)} now, "
        f"the run left {_excerpt(left, now)}."
    )
    return _obstacle(table, key, what, by, column=column, now=now, left=left)


def memory_gone(file: MemoryFile, memory_id: str) -> Obstacle:
    """Return the obstacle that a memory is no longer there."""
    purge = purged_by(file, memory_id)
    if purge is None:
        what = f"Memory {memory_id} was deleted after the run."
        return _obstacle("memories", {"id": memory_id}, what, None)
    run_id, when = purge
    why = (
        f"Memory {memory_id} was purged on {when[:10]} by run {run_id}: "
        "what is purged cannot come back."
    )
    return Obstacle("memories", memory_id, None, None, None, run_id, None, why)


def memory_needed(memory_id: str, other: str, superseded: bool, by: LaterChange | None) -> Obstacle:
    """Return the obstacle that another memory depends on this one, which took it in."""
    did = (
        f"Memory {other} was superseded by memory {memory_id}"
        if superseded
        else f"Memory {memory_id} took in memory {other}"
    )
    return _obstacle("memories", {"id": memory_id}, f"{did} after the run.", by)


def memory_passed_on(file: MemoryFile, memory_id: str, other: str) -> Obstacle | None:
    """Return the obstacle that another memory depends on this one since a third was deleted.

    None if it did not come about so. No run deletes a memory that stands for others.
    """
    before = file.value(
        f"SELECT {json_field('j.after', 'superseded_by')} FROM journal j "
        "JOIN runs r ON r.id = j.run_id "
        "JOIN proposals p ON p.run_id = j.run_id AND p.key = proposal "
        "WHERE state = 'applied' AND table_name = 'memories' AND row_key = ? "
        f"AND {json_field('j.after', 'superseded_by')} IS NOT NULL "
        "ORDER BY r.rowid DESC, sequence DESC LIMIT 1",
        [encode_row({"id": other})],
    )
    is_there = file.value("SELECT count(*) FROM memories WHERE id = ?", [before])
    if before in (None, memory_id) or is_there:
        return None
    what = (
        f"Memory {other} passed to memory {memory_id} after the run, since memory {before}, "
        "which stood for it, was deleted."
    )
    return _obstacle("memories", {"id": memory_id}, what, None)


def _obstacle(
    table: str,
    key: Row,
    what: str,
    by: LaterChange | None,
    column: str | None = None,
    now: object = None,
    left: object = None,
) -> Obstacle:
    if by is None:
        why = f"{what} No run did that, but an agent or a person."
        return Obstacle(table, _name(key), column, now, left, None, None, why)
    if by.proposal in STATUS_AFTER:
        # The run did nothing else: it is undone as a whole.
        why = f"{what} Run {by.run} did that ({by.proposal}): undo it first."
        return Obstacle(table, _name(key), column, now, left, by.run, None, why)
    part = f", proposal {by.proposal[:12]}" if by.proposal else ""
    why = f"{what} Run {by.run}{part} did that: undo it first."
    return Obstacle(table, _name(key), column, now, left, by.run, by.proposal or None, why)


def _row(table: str, key: Row) -> str:
    return f"Memory {_name(key)}" if table == "memories" else f"A row of {table} ({_name(key)})"


def _name(key: Row) -> str:
    return " ".join(str(value) for value in key.values())


def _excerpt(value: object, other: object) -> str:
    """Return a value in words; of a long text the place where the other begins to differ."""
    if not isinstance(value, str):
        return "empty" if value is None else str(value)
    if len(value) <= _LONGEST:
        return f"'{value}'"
    same = next((at for at, (a, b) in enumerate(zip(value, str(other), strict=False)) if a != b), 0)
    start = max(0, min(same - _LONGEST // 3, len(value) - _LONGEST))
    part = value[start : start + _LONGEST]
    before, after = "…" * (start > 0), "…" * (start + _LONGEST < len(value))
    return f"'{before}{part}{after}'"
