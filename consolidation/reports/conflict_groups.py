"""Groups of conflicts, which a person settles together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowwave.consolidation.proposals import Conflict
from slowwave.store.records import content_hash, json_text


@dataclass(frozen=True)
class ConflictGroup:
    """Conflicts that share memories, which a person settles together."""

    conflicts: tuple[Conflict, ...]

    @property
    def memories(self) -> frozenset[str]:
        """The ids of the memories in conflict."""
        return frozenset(memory for conflict in self.conflicts for memory in conflict.sources)

    @property
    def id(self) -> str:
        """A hash of its memories: with another memory it is another group."""
        return content_hash(json_text(sorted(self.memories)))[:12]

    def rivals_of(self, memory_id: str) -> list[str]:
        """Return the memories that contradict one of the group."""
        return [
            rival
            for conflict in self.conflicts
            if memory_id in conflict.sources
            for rival in conflict.sources
            if rival != memory_id
        ]


def group_conflicts(conflicts: Sequence[Conflict]) -> list[ConflictGroup]:
    """Return conflicts by group, in the order of the first of each."""
    group_of: dict[str, list[Conflict]] = {}
    for conflict in conflicts:
        left, right = (group_of.setdefault(memory, []) for memory in conflict.sources)
        joining = [*(right if right is not left else ()), conflict]
        left += joining
        group_of |= dict.fromkeys((memory for member in joining for memory in member.sources), left)
    groups = (group_of[conflict.sources[0]] for conflict in conflicts)
    return [
        ConflictGroup(tuple(group)) for group in {id(group): group for group in groups}.values()
    ]
