"""Take a run, or one proposal, back to the bit, or say exactly what stands in the way."""

from __future__ import annotations

from collections.abc import Sequence

from slowwave.store.ageing import STATUS_AFTER
from slowwave.store.errors import ChangedSince
from slowwave.store.file import MemoryFile
from slowwave.store.ledger import DECIDED
from slowwave.store.records import next_moment

from .before_images import BeforeImages
from .obstacles import Obstacle
from .reversal import Reversal

_HINT = (
    "Nothing was undone. What later runs did is undone first, the latest before the others; "
    "else undo the other proposals one by one, or single memories."
)
_HINT_OF_PURGED = (
    "Nothing was undone. A backup from before the purge has those memories, and 'slowwave show "
    "MEMORY --lineage' has their texts; other proposals can be undone one by one."
)


def undo_runs(file: MemoryFile, run_ids: Sequence[str], now: str) -> list[str]:
    """Take back all that runs did, in one transaction, and return the keys of their proposals.

    run_ids: the latest first. Raises `ChangedSince`, with nothing changed, if rows are not what
    a run left; it says of each which one, and who changed it.
    """
    with file.transaction():
        return [key for run_id in run_ids for key in _undo_run(file, run_id, now)]


def _undo_run(file: MemoryFile, run_id: str, now: str) -> list[str]:
    keys = _applied(file, run_id)
    images = BeforeImages(file, run_id)
    _take_back(file, run_id, [*keys, *STATUS_AFTER, ""], images)
    images.drop_what_was_found()
    file.db.conn.execute("UPDATE runs SET outcome = 'undone' WHERE id = ?", [run_id])
    _mark_undone(file, run_id, keys, now)
    return keys


def undo_proposal(file: MemoryFile, run_id: str, key: str, now: str) -> None:
    """Take one applied proposal back, in one transaction. Raises `ChangedSince`."""
    with file.transaction():
        undo_proposal_within(file, run_id, key, now)


def undo_proposal_within(file: MemoryFile, run_id: str, key: str, now: str) -> None:
    """Do the same within the transaction of the caller."""
    _take_back(file, run_id, [key], BeforeImages(file, run_id))
    _mark_undone(file, run_id, [key], now)
    if not _applied(file, run_id):
        _undo_run(file, run_id, now)  # what it found out, too, and that it is undone


def take_back_proposal(file: MemoryFile, run_id: str, key: str, now: str) -> None:
    """Take one applied proposal back within the transaction of the caller.

    Raises `ChangedSince`, with nothing changed by it.
    """
    conn = file.db.conn
    conn.execute("SAVEPOINT taking_back")
    try:
        _take_back(file, run_id, [key], BeforeImages(file, run_id))
        _mark_undone(file, run_id, [key], now)
    except ChangedSince:
        conn.execute("ROLLBACK TO taking_back")
        raise
    finally:
        conn.execute("RELEASE taking_back")


def _applied(file: MemoryFile, run_id: str) -> list[str]:
    rows = file.rows("SELECT key FROM proposals WHERE run_id = ? AND state = 'applied'", [run_id])
    return [row["key"] for row in rows]


def _take_back(file: MemoryFile, run_id: str, proposals: list[str], images: BeforeImages) -> None:
    obstacles = Reversal(file, run_id, proposals, images).carry_out()
    if obstacles:
        hint = _HINT_OF_PURGED if any(one.is_purged for one in obstacles) else _HINT
        raise ChangedSince(_said(obstacles), hint, obstacles)


def _said(obstacles: tuple[Obstacle, ...]) -> str:
    if len(obstacles) == 1:
        return obstacles[0].why
    return f"{len(obstacles)} changes since then stand in the way."


def _mark_undone(file: MemoryFile, run_id: str, keys: list[str], now: str) -> None:
    file.db.conn.executemany(
        "UPDATE proposals SET state = 'undone', decided_at = ? WHERE run_id = ? AND key = ?",
        [(now, run_id, key) for key in keys],
    )
    for key in keys:
        _let_wait_again(file, run_id, key, now)
    # Names that runs now undone found, or this one, and that nothing mentions any more.
    file.db.conn.execute(
        "DELETE FROM entities WHERE id NOT IN (SELECT entity_id FROM memory_entities) AND "
        "(run_id = ? OR run_id IN (SELECT id FROM runs WHERE outcome = 'undone'))",
        [run_id],
    )


def _let_wait_again(file: MemoryFile, run_id: str, key: str, now: str) -> None:
    """Let a proposal that a person had approved wait as before, once it is taken back."""
    file.db.conn.execute(
        "UPDATE proposals SET state = 'pending', decided_at = ?1 WHERE key = ?2 AND run_id = "
        "(SELECT max(run_id) FROM proposals WHERE key = ?2 AND state = 'approved') "
        f"AND (SELECT json_extract(options, '$.{DECIDED}') FROM runs WHERE id = ?3) IS NOT NULL",
        # Of the rows of one key the latest counts.
        [next_moment(now), key, run_id],
    )
