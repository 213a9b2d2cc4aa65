"""A lineage as trees: the sources of a memory and their sources, each shown once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slowwave.store.lineage import Ancestor, Lineage


@dataclass(frozen=True)
class Branch:
    """A memory at its place in a tree, with its sources."""

    ancestor: Ancestor
    behind: tuple[Branch, ...] = ()
    # Its sources are shown at another place: it was reached there before.
    seen: bool = False
    # Its sources are a tree of their own, further down.
    continued: bool = False


def trees_of(lineage: Lineage, depth: int) -> list[tuple[str, tuple[Branch, ...]]]:
    """Return a lineage as trees of so many generations, each with the memory that it starts from.

    The sources of a memory are shown once, however many paths lead to it.
    """
    roots, seen = [lineage.start], {lineage.start}

    def branch(ancestor: Ancestor, left: int) -> Branch:
        if ancestor.id not in lineage.steps:
            return Branch(ancestor)
        if ancestor.id in seen:
            return Branch(ancestor, seen=True)
        seen.add(ancestor.id)
        if left == 0:
            roots.append(ancestor.id)
            return Branch(ancestor, continued=True)
        return Branch(ancestor, branches(ancestor.id, left))

    def branches(memory_id: str, left: int) -> tuple[Branch, ...]:
        return tuple(branch(one, left - 1) for one in lineage.steps.get(memory_id, ()))

    # The list grows while it is walked.
    return [(root, branches(root, depth)) for root in roots]
