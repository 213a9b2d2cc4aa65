"""Which superseded memories the next nights still need, to decide about the active ones.

Superseded memories keep their place in the clusters, and the guards read them. Without them a night
would bring together what their texts kept apart: on the night fixture, after a purge of all that
lineage could spare, 24 more syntheses were proposed, three of them of memories that contradict
each other. So a family, what one memory was made from, goes only as a whole, and only when no
active memory is near enough to any of it to be compared with it; then none was proposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from slowwave.consolidation.clustering.neighbours import similar_pairs
from slowwave.consolidation.thresholds import EXTRACT_SIMILARITY
from slowwave.store.purge import Purgeable

if TYPE_CHECKING:
    from slowwave.consolidation.snapshot.tenant_view import TenantView


def spare_neighbours(purgeable: Purgeable, views: Sequence[TenantView]) -> Purgeable:
    """Keep what the next nights compare active memories with."""
    spared = {one for view in views for one in _needed(view, purgeable.ids)}
    going = tuple(one for one in purgeable.ids if one not in spared)
    return Purgeable(going, replace(purgeable.kept, neighbours=len(purgeable.ids) - len(going)))


def _needed(view: TenantView, ids: Sequence[str]) -> list[str]:
    rows = [row for one in ids if (row := view.row(one)) is not None]
    if not rows:
        return []
    family = {row: _family(view, row) for row in rows}
    near = {family[row] for row in _near_active(view, rows, family)}
    return [view.memories[row].id for row in rows if family[row] in near]


def _family(view: TenantView, row: int) -> str:
    """Return the id of the memory that stands for this one by now."""
    memory, seen = view.memories[row], set[str]()
    while memory.superseded_by is not None and memory.id not in seen:
        seen.add(memory.id)
        after = view.row(memory.superseded_by)
        if after is None:
            return view.owners.get(memory.id, memory.superseded_by)
        memory = view.memories[after]
    return memory.id


def _near_active(view: TenantView, rows: Sequence[int], family: dict[int, str]) -> list[int]:
    """Return those of the rows that an active memory is near to, but for the one it became."""
    import numpy as np

    memories, chosen = view.memories, np.array(sorted(rows), dtype=np.intp)
    near = similar_pairs(view.vectors(range(len(memories))), EXTRACT_SIMILARITY, chosen)
    pairs = list(zip(near.left.tolist(), near.right.tolist(), strict=True))
    return sorted(
        {
            row
            for row, other in (*pairs, *((right, left) for left, right in pairs))
            if row in family
            and memories[other].status == "active"
            and memories[other].id != family[row]
        }
    )
