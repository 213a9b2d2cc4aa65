"""What an agent says of a memory: it helped, or it did not; and what follows from that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .errors import ChangedSince
from .file import MemoryFile
from .lineage import Ancestor, trace_derived
from .memories import read_memory
from .records import Memory
from .undo.undo import undo_proposal

# What one word of praise or of blame does to the trust in a memory.
HELPED, MISLED = 0.05, -0.10
# Below this a memory that a run made is taken back: what it was made from speaks for itself again.
MIN_TRUST = 0.2


@dataclass(frozen=True)
class Feedback:
    """A memory after an agent's word on it."""

    # As it was before.
    memory: Memory
    trust: float
    # Where it was blamed: what stands in the file and was made from it, nearest first.
    derived: tuple[Ancestor, ...] = ()
    # The proposals that were taken back since too little trust was left, the latest first.
    undone: tuple[str, ...] = ()
    # Why not all of them could be.
    why_not: str | None = None


def judge(file: MemoryFile, memory_id: str, helpful: bool, now: str) -> Feedback:
    """Move the trust in a memory, whose id may be shortened, and name what was made from it.

    Raises `NotFound` or `Ambiguous`.
    """
    with file.transaction():
        memory = read_memory(file, memory_id)
        moved = memory.trust + (HELPED if helpful else MISLED)
        # A sum of tenths is none to the last digit.
        trust = round(min(1.0, max(0.0, moved)), 4)
        file.db.conn.execute(
            "UPDATE memories SET trust = ?, updated_at = ? WHERE id = ?", [trust, now, memory.id]
        )
        return Feedback(memory, trust, () if helpful else tuple(_made_from(file, memory.id)))


def must_be_undone(judged: Feedback) -> bool:
    """Whether so little trust is left in what a run made that it is to be taken back."""
    memory = judged.memory
    is_made = memory.generation > 0 and memory.status == "active"
    return is_made and judged.trust < MIN_TRUST


def undo_derived(
    file: MemoryFile, memory_id: str, now: str
) -> tuple[tuple[str, ...], str | None]:
    """Take back what runs did to a memory that a run made, the latest first.

    Gives the proposals taken back, and why the rest could not be. The caller has the lock.
    """
    undone: list[str] = []
    for run_id, key in _proposals_of(file, memory_id):
        try:
            undo_proposal(file, run_id, key, now)
        except ChangedSince as error:
            return tuple(undone), error.message
        undone.append(key)
    return tuple(undone), None


def _made_from(file: MemoryFile, memory_id: str) -> list[Ancestor]:
    """Return what stands in the file and was made from a memory, each once, nearest first."""
    steps = trace_derived(file, memory_id).steps
    found: dict[str, Ancestor] = {}
    waiting = [memory_id]
    while waiting:
        for one in steps.get(waiting.pop(0), ()):
            if one.id not in found:
                found[one.id] = one
                waiting.append(one.id)
    return [one for one in found.values() if one.status == "active"]


def _proposals_of(file: MemoryFile, memory_id: str) -> Sequence[tuple[str, str]]:
    """Return the run and the key of each proposal that stands and changed a memory."""
    rows = file.db.conn.execute(
        "SELECT d.run_id, d.proposal FROM derivations d "
        "JOIN proposals p ON p.run_id = d.run_id AND p.key = d.proposal "
        "JOIN runs r ON r.id = d.run_id "
        "WHERE d.memory_id = ? AND p.state = 'applied' ORDER BY r.rowid DESC",
        [memory_id],
    )
    return [(run_id, key) for run_id, key in rows.fetchall()]
