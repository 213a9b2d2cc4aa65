"""Where the sources of a proposal came from, as a tree to open and close."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from slowwave.cli.terminal.output import shortened
from slowwave.cli.views.lineage import Branch, trees_of
from slowwave.store.file import open_reading
from slowwave.store.lineage import trace_sources

if TYPE_CHECKING:
    from textual.widgets import Tree
    from textual.widgets.tree import TreeNode

    from slowwave.consolidation.running.review_queue import WaitingProposal
    from slowwave.store.places import Place

_DEPTH = 12
_MOST_SAID = 200
# So many sources are traced; a proposal has rarely more than a dozen.
_MOST_SOURCES = 200

Lineages = list[tuple[str, list[tuple[str, tuple[Branch, ...]]]]]


def read_lineages(place: Place, waiting: WaitingProposal) -> Lineages:
    """Return of each source what it says, and the trees of what it was made from.

    Raises `StoreError`.
    """
    with place.reading() as memory_file, open_reading(memory_file) as opened:
        return [
            (_said(waiting, one), trees_of(trace_sources(opened, one), _DEPTH))
            for one in waiting.kept.proposal.sources[:_MOST_SOURCES]
        ]


def grow(tree: Tree[None], waiting: WaitingProposal, lineages: Lineages) -> None:
    """Show a proposal, what it would be made of, and what that was made of."""
    proposal = waiting.kept.proposal
    tree.reset(Text(shortened(f"{proposal.operation}: {proposal.draft.text}", _MOST_SAID)))
    tree.root.expand()
    for said, trees in lineages:
        for number, (root, branches) in enumerate(trees):
            label = said if number == 0 else f"further on from {root}"
            node = tree.root.add(Text(label), expand=True, allow_expand=bool(branches))
            _add(node, branches)


def _add(node: TreeNode[None], branches: tuple[Branch, ...]) -> None:
    for one in branches:
        ancestor = one.ancestor
        where = ", shown in another place" if one.seen else ", goes on below" * one.continued
        label = f"{ancestor.operation}: {ancestor.content}"
        text = Text(f"{shortened(label, _MOST_SAID)} ({ancestor.status}{where})")
        _add(node.add(text, expand=True, allow_expand=bool(one.behind)), one.behind)


def _said(waiting: WaitingProposal, memory_id: str) -> str:
    memory = waiting.memories.get(memory_id)
    if memory is None:
        return f"{memory_id} (no longer in the file)"
    return f"{shortened(memory.content, _MOST_SAID)} ({memory.status}, {memory.id[:8]})"
