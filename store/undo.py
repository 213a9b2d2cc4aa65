"""Take a run, or one proposal, back to the bit, or say exactly what stands in the way."""

from __future__ import annotations

from .errors import ChangedSince
from .file import MemoryFile
from .images import Images
from .obstacles import Obstacle
from .takeback import TakeBack

_HINT = (
    "Nothing was undone. What later runs did is undone first, the latest before the others; "
    "else undo the other proposals one by one, or 'restore' single memories."
)


def undo_run(file: MemoryFile, run_id: str, now: str) -> list[str]:
    """Take back all that a run did, in one transaction, and give the keys of its proposals.

    Raises `ChangedSince`, with nothing changed, if rows are no longer what the run left; it says
    of each which one, and who changed it.
    """
    with file.transaction():
        keys = _applied(file, run_id)
        images = Images(file, run_id)
        _take_back(file, run_id, [*keys, ""], images)
        images.drop_found()
        file.db.conn.execute("UPDATE runs SET outcome = 'undone' WHERE id = ?", [run_id])
        _mark_undone(file, run_id, keys, now)
    return keys


def undo_proposal(file: MemoryFile, run_id: str, key: str, now: str) -> None:
    """Take one applied proposal back, in one transaction. Raises `ChangedSince`."""
    with file.transaction():
        _take_back(file, run_id, [key], Images(file, run_id))
        _mark_undone(file, run_id, [key], now)


def _applied(file: MemoryFile, run_id: str) -> list[str]:
    rows = file.rows("SELECT key FROM proposals WHERE run_id = ? AND state = 'applied'", [run_id])
    return [row["key"] for row in rows]


def _take_back(file: MemoryFile, run_id: str, proposals: list[str], images: Images) -> None:
    obstacles = TakeBack(file, run_id, proposals, images).obstacles()
    if obstacles:
        raise ChangedSince(_said(obstacles), _HINT, obstacles)


def _said(obstacles: tuple[Obstacle, ...]) -> str:
    if len(obstacles) == 1:
        return obstacles[0].why
    return f"{len(obstacles)} changes since then stand in the way."


def _mark_undone(file: MemoryFile, run_id: str, keys: list[str], now: str) -> None:
    file.db.conn.executemany(
        "UPDATE proposals SET state = 'undone', decided_at = ? WHERE run_id = ? AND key = ?",
        [(now, run_id, key) for key in keys],
    )
    # Names that runs now undone found, or this one, and that nothing mentions any more.
    file.db.conn.execute(
        "DELETE FROM entities WHERE id NOT IN (SELECT entity_id FROM memory_entities) AND "
        "(run_id = ? OR run_id IN (SELECT id FROM runs WHERE outcome = 'undone'))",
        [run_id],
    )
