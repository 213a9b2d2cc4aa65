"""An agent's feedback on a memory, helpful or misleading, and its effect on trust."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import ChangedSince
from .file import MemoryFile
from .lineage import Relative, read_active_derived
from .memories import read_memory
from .records import Memory
from .rows import set_columns
from .undo.undo import undo_proposal

# The change of trust for each feedback.
HELPED, MISLED = 0.05, -0.10
# A derived memory with less trust is undone, so that its sources are active again.
MIN_TRUST = 0.2
# The run and the key of each applied proposal that changed a memory, the latest first.
_PROPOSALS = (
    "SELECT d.run_id, d.proposal FROM derivations d JOIN proposals p ON p.run_id = d.run_id "
    "AND p.key = d.proposal JOIN runs r ON r.id = d.run_id "
    "WHERE d.memory_id = ? AND p.state = 'applied' ORDER BY r.rowid DESC"
)


@dataclass(frozen=True)
class Feedback:
    """A memory and its trust after feedback."""

    # The memory before the feedback.
    memory: Memory
    trust: float
    # After negative feedback: the active memories derived from it, nearest first.
    derived: tuple[Relative, ...] = ()
    # The undone proposals, the latest first.
    undone: tuple[str, ...] = ()
    # Why not all of them could be undone.
    why_not: str | None = None

    @property
    def requires_undo(self) -> bool:
        """Whether it is a derived memory with too little trust left."""
        is_derived = self.memory.generation > 0 and self.memory.status == "active"
        return is_derived and self.trust < MIN_TRUST


def record_feedback(file: MemoryFile, memory_id: str, helpful: bool, now: str) -> Feedback:
    """Change the trust in the memory whose id is, or starts with, `memory_id`.

    Raises `NotFound` or `Ambiguous`.
    """
    with file.transaction():
        memory = read_memory(file, memory_id)
        changed = memory.trust + (HELPED if helpful else MISLED)
        trust = round(min(1.0, max(0.0, changed)), 4)
        set_columns(file, "memories", [{"id": memory.id}], {"trust": trust, "updated_at": now})
        return Feedback(
            memory, trust, () if helpful else tuple(read_active_derived(file, memory.id))
        )


def undo_derived(file: MemoryFile, memory_id: str, now: str) -> tuple[tuple[str, ...], str | None]:
    """Undo the proposals that made and changed a derived memory, the latest first.

    Returns the undone proposals, and why the rest could not be undone. The caller holds the
    maintenance lock.
    """
    undone: list[str] = []
    for run_id, key in file.all_tuples(_PROPOSALS, [memory_id]):
        try:
            undo_proposal(file, run_id, key, now)
        except ChangedSince as error:
            return tuple(undone), error.message
        undone.append(key)
    return tuple(undone), None
