"""A lineage as trees: what lies behind a memory, and behind that, each shown once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slowwave.store.lineage import Ancestor, Lineage


@dataclass(frozen=True)
class Branch:
    """A memory where it stands in a tree, with what lies behind it."""

    ancestor: Ancestor
    behind: tuple[Branch, ...] = ()
    # What lies behind it stands in another place: it was reached there before.
    seen: bool = False
    # What lies behind it is a tree of its own, further down.
    continued: bool = False


def trees_of(lineage: Lineage, depth: int) -> list[tuple[str, tuple[Branch, ...]]]:
    """Return a lineage as trees of so many generations, each with the memory that it starts from.

    What lies behind a memory is shown once, however many ways lead to it.
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
