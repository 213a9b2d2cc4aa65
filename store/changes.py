"""The active texts before and after a run."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from .file import MemoryFile
from .journal_form import read_entry
from .lineage import read_source_texts
from .rows import json_field


@dataclass(frozen=True)
class TextChange:
    """A memory whose text a proposal activated, deactivated or changed."""

    memory: str
    proposal: str
    tenant: str
    observed_at: str
    # The active text before and after; None: not active.
    before: str | None
    after: str | None
    # The state of the proposal: applied, undone since, or withdrawn (stale, rejected).
    state: str


@dataclass
class _Images:
    """The columns of a memory in the first and in the last journal entry of a proposal."""

    existed: bool
    before: dict[str, Any]
    after: dict[str, Any]


def read_changes(file: MemoryFile, run_id: str) -> list[TextChange]:
    """Return the changes of a run, even if it was undone since, ordered by observation time."""
    images_by_change: dict[tuple[str, str], _Images] = {}
    for row in file.rows(
        "SELECT * FROM journal WHERE run_id = ? AND table_name = 'memories' ORDER BY sequence",
        [run_id],
    ):
        entry = read_entry(file, row)
        change = entry.key["id"], entry.proposal
        images = images_by_change.setdefault(change, _Images(entry.before is not None, {}, {}))
        images.before = {**(entry.before or {}), **images.before}
        images.after |= entry.after
    later = _texts_before_later_runs(file, run_id)
    states = dict(file.tuples("SELECT key, state FROM proposals WHERE run_id = ?", [run_id]))
    changes = (
        _change(file, memory, proposal, images, later.get(memory), states.get(proposal, "applied"))
        for (memory, proposal), images in images_by_change.items()
    )
    return sorted(filter(None, changes), key=attrgetter("observed_at", "memory", "proposal"))


def reactivated(file: MemoryFile, run_id: str) -> list[str]:
    """Return the memories that a run deactivated and that are active now, without an undo of it."""
    return file.column(
        "SELECT DISTINCT m.id FROM journal j "
        f"JOIN memories m ON m.id = {json_field('row_key', 'id')} JOIN runs r ON r.id = j.run_id "
        "LEFT JOIN proposals p ON p.run_id = j.run_id AND p.key = proposal "
        "WHERE j.run_id = ? AND table_name = 'memories' AND m.status = 'active' "
        f"AND {json_field('after', 'status')} <> 'active' "
        "AND (p.state = 'applied' OR p.state IS NULL AND r.outcome <> 'undone') ORDER BY 1",
        [run_id],
    )


def _change(
    file: MemoryFile, memory: str, proposal: str, images: _Images, later: str | None, state: str
) -> TextChange | None:
    """Return the change of a memory; None if its active text is the same.

    later: its text when the first later run changed it; None if none did.
    """
    rows = file.rows("SELECT tenant, observed_at, content FROM memories WHERE id = ?", [memory])
    current = next(rows, {})
    text_after = images.after.get("content") or later or current.get("content")
    text_after = text_after or read_source_texts(file, [memory]).get(memory)
    text_before = images.before.get("content", text_after)
    # A run changes active memories, unless its entry has another status.
    was_active = images.existed and images.before.get("status", "active") == "active"
    before = text_before if was_active else None
    after = text_after if images.after.get("status", "active") == "active" else None
    if before == after:
        return None
    columns = {**current, **images.after}
    place = columns.get("tenant", ""), columns.get("observed_at", "")
    return TextChange(memory, proposal, *place, before, after, state)


def _texts_before_later_runs(file: MemoryFile, run_id: str) -> dict[str, str]:
    rows = file.conn.execute(
        f"SELECT {json_field('row_key', 'id')}, {json_field('before', 'content')} AS content "
        "FROM journal JOIN runs ON runs.id = run_id "
        "WHERE table_name = 'memories' AND content IS NOT NULL "
        "AND runs.rowid > (SELECT rowid FROM runs WHERE id = ?) "
        "ORDER BY runs.rowid DESC, sequence DESC",
        [run_id],
    )
    return dict(rows.fetchall())
