"""What a run changed in what agents read: the active texts before it and after it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .file import MemoryFile
from .journal_form import JournalReader
from .rows import json_field


@dataclass(frozen=True)
class TextChange:
    """One memory whose text became active, stopped being so, or is another since a proposal."""

    memory: str
    proposal: str
    tenant: str
    observed_at: str
    # The active text before and after; None where there was none.
    before: str | None
    after: str | None
    # What became of the proposal: applied, or undone since.
    state: str = "applied"


@dataclass
class _Images:
    """The columns of one memory, as the first and the last entry of a proposal have them."""

    was_there: bool
    before: dict[str, Any]
    after: dict[str, Any]


def read_changes(file: MemoryFile, run_id: str) -> list[TextChange]:
    """Return what a run changed, in the order in which the memories were observed.

    Also of a run that was taken back since: what it had done then.
    """
    found: dict[tuple[str, str], _Images] = {}
    form = JournalReader(file)
    for row in file.rows(
        "SELECT * FROM journal WHERE run_id = ? AND table_name = 'memories' ORDER BY sequence",
        [run_id],
    ):
        entry = form.read(row)
        place = entry.key["id"], entry.proposal
        images = found.setdefault(place, _Images(entry.before is not None, {}, {}))
        images.before = {**(entry.before or {}), **images.before}
        images.after |= entry.after
    later = _texts_before_later_runs(file, run_id)
    changes = (
        _change(file, memory, proposal, images, later.get(memory))
        for (memory, proposal), images in found.items()
    )
    states = {
        row["key"]: row["state"]
        for row in file.rows("SELECT key, state FROM proposals WHERE run_id = ?", [run_id])
    }
    with_states = (
        replace(one, state=states.get(one.proposal, one.state))
        for one in changes
        if one is not None
    )
    return sorted(with_states, key=lambda one: (one.observed_at, one.memory, one.proposal))


def _change(
    file: MemoryFile, memory: str, proposal: str, images: _Images, later: str | None
) -> TextChange | None:
    """Return what became of a memory; None if what agents read of it is as it was.

    later: what a later run found it to say, if one changed that.
    """
    rows = file.rows("SELECT tenant, observed_at, content FROM memories WHERE id = ?", [memory])
    now = next(rows, {})
    left = images.after.get("content") or later or now.get("content") or _purged(file, memory)
    was = images.before.get("content", left)
    # What a run changes is active, or it says otherwise.
    before = was if images.was_there and images.before.get("status", "active") == "active" else None
    after = left if images.after.get("status", "active") == "active" else None
    if before == after:
        return None
    known = {**now, **images.after}
    return TextChange(
        memory, proposal, known.get("tenant", ""), known.get("observed_at", ""), before, after
    )


def _texts_before_later_runs(file: MemoryFile, run_id: str) -> dict[str, str]:
    """Return what memories said when the first later run changed that."""
    rows = file.db.conn.execute(
        f"SELECT {json_field('row_key', 'id')}, {json_field('before', 'content')} AS content "
        "FROM journal JOIN runs ON runs.id = run_id "
        "WHERE table_name = 'memories' AND content IS NOT NULL "
        "AND runs.rowid > (SELECT rowid FROM runs WHERE id = ?) "
        "ORDER BY runs.rowid DESC, sequence DESC",
        [run_id],
    )
    return dict(rows.fetchall())


def _purged(file: MemoryFile, memory: str) -> str | None:
    """Return what the lineage keeps of a memory that has left the file."""
    text = file.value(
        "SELECT source_content FROM synthesized_from "
        "WHERE source_id = ? AND source_content IS NOT NULL",
        [memory],
    )
    return None if text is None else str(text)
