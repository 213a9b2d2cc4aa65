"""One proposal: its sources next to its draft, or their lineage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import ContentSwitcher, Static, Tree

from slowwave.cli.pages.branches import Branch, trees_of
from slowwave.cli.terminal.output import shortened
from slowwave.consolidation.running.review_queue import WaitingProposal
from slowwave.store.file import open_reading
from slowwave.store.lineage import trace_sources
from slowwave.store.places import Place

from .texts import draft_of, reasons_of, sources_of

if TYPE_CHECKING:
    from textual.widgets.tree import TreeNode


class ProposalView(ContentSwitcher):
    """Shows the proposal at the cursor."""

    DEFAULT_CSS = """
    ProposalView { height: 1fr; border-top: solid $primary; }
    ProposalView #texts { height: 1fr; }
    ProposalView VerticalScroll { width: 1fr; padding-right: 1; scrollbar-size: 1 1; }
    ProposalView #result { border-left: solid $primary; padding-left: 1; }
    """

    def __init__(self, place: Place) -> None:
        """Take the file that lineage is read from."""
        super().__init__(initial="texts")
        self.place = place
        self.shown: WaitingProposal | None = None

    def compose(self) -> ComposeResult:
        """Lay it out."""
        with Horizontal(id="texts"):
            with VerticalScroll(id="sources", can_focus=False):
                yield Static(id="source-texts")
            with VerticalScroll(id="result", can_focus=False):
                yield Static(id="draft-text")
        yield Tree[None]("", id="lineage")

    def show(self, waiting: WaitingProposal | None) -> None:
        """Show a proposal from its top; nothing if there is none. Raises `StoreError`."""
        self.shown = waiting
        sources = result = Text("")
        if waiting is not None:
            sources = sources_of(waiting)
            result = Text("\n\n").join([draft_of(waiting), reasons_of(waiting)])
        self.query_one("#source-texts", Static).update(sources)
        self.query_one("#draft-text", Static).update(result)
        for pane in self.query(VerticalScroll):
            pane.scroll_home(animate=False)
        if self.current == "lineage":
            self._trace()

    def switch(self) -> bool:
        """Show the lineage, or the texts again; say whether it is the lineage.

        Raises `StoreError`.
        """
        if self.current == "lineage":
            self.current = "texts"
            return False
        self._trace()
        self.current = "lineage"
        self.query_one(Tree).focus()
        return True

    def turn(self, pages: int) -> None:
        """Turn pages of what is longer than the screen."""
        for pane in (*self.query(VerticalScroll), self.query_one(Tree)):
            pane.scroll_relative(y=pages * max(pane.size.height - 1, 1), animate=False)

    def _trace(self) -> None:
        if self.shown is not None:
            grow(self.query_one(Tree), self.shown, read_lineages(self.place, self.shown))


_DEPTH = 12
_MOST_SAID = 200
# Maximum sources that are traced; a proposal rarely has more than a dozen.
_MOST_SOURCES = 200

Lineages = list[tuple[str, list[tuple[str, tuple[Branch, ...]]]]]


def read_lineages(place: Place, waiting: WaitingProposal) -> Lineages:
    """Return of each source what it says, and the trees of what it was made from.

    Raises `StoreError`.
    """
    with place.reading() as memory_file, open_reading(memory_file) as opened:
        return [
            (_said(waiting, source), trees_of(trace_sources(opened, source), _DEPTH))
            for source in waiting.kept.proposal.sources[:_MOST_SOURCES]
        ]


def grow(tree: Tree[None], waiting: WaitingProposal, lineages: Lineages) -> None:
    """Show a proposal, what it would be made of, and what that was made of."""
    proposal = waiting.kept.proposal
    tree.reset(Text(shortened(f"{proposal.operation}: {proposal.draft.text}", _MOST_SAID)))
    tree.root.expand()
    for lineage, trees in lineages:
        for number, (root, branches) in enumerate(trees):
            label = lineage if number == 0 else f"continued from {root}"
            node = tree.root.add(Text(label), expand=True, allow_expand=bool(branches))
            _add(node, branches)


def _add(node: TreeNode[None], branches: tuple[Branch, ...]) -> None:
    for branch in branches:
        ancestor = branch.ancestor
        where = ", shown elsewhere" if branch.seen else ", continued below" * branch.continued
        label = f"{ancestor.operation}: {ancestor.content}"
        text = Text(f"{shortened(label, _MOST_SAID)} ({ancestor.status}{where})")
        _add(node.add(text, expand=True, allow_expand=bool(branch.behind)), branch.behind)


def _said(waiting: WaitingProposal, memory_id: str) -> str:
    memory = waiting.memories.get(memory_id)
    if memory is None:
        return f"{memory_id} (no longer in the file)"
    return f"{shortened(memory.content, _MOST_SAID)} ({memory.status}, {memory.id[:8]})"
