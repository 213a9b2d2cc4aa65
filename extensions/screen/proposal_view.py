"""One proposal: its sources next to its draft, or the lineage of its sources."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import ContentSwitcher, Static, Tree
from textual.widgets.tree import TreeNode

from slowwave.cli.terminal.output import shortened
from slowwave.cli.views.lineage import DEPTH_OF_TEXT, Branch, trees_of
from slowwave.consolidation.running.review_queue import PendingProposal
from slowwave.store.file import open_reading
from slowwave.store.lineage import trace_sources
from slowwave.store.places import Place

from .texts import draft_of, reasons_of, sources_of

# How many characters of a memory the lineage shows, and how many sources are traced.
_MAX_TEXT = 200
_MAX_SOURCES = 200


class ProposalPane(ContentSwitcher):
    """Shows the proposal at the cursor."""

    DEFAULT_CSS = """
    ProposalPane { height: 1fr; border-top: solid $primary; }
    ProposalPane #texts { height: 1fr; }
    ProposalPane VerticalScroll { width: 1fr; padding-right: 1; scrollbar-size: 1 1; }
    ProposalPane #result { border-left: solid $primary; padding-left: 1; }
    """

    def __init__(self, place: Place) -> None:
        """place: the file with the lineage."""
        super().__init__(initial="texts")
        self.place = place
        self.shown: PendingProposal | None = None

    def compose(self) -> ComposeResult:
        """Lay it out."""
        with Horizontal(id="texts"):
            with VerticalScroll(id="sources", can_focus=False):
                yield Static(id="source-texts")
            with VerticalScroll(id="result", can_focus=False):
                yield Static(id="draft-text")
        yield Tree[None]("", id="lineage")

    def show(self, pending: PendingProposal | None) -> None:
        """Show the top of a proposal, or nothing. Raises `StoreError`."""
        self.shown = pending
        sources = result = Text("")
        if pending is not None:
            sources = sources_of(pending)
            result = Text("\n\n").join([draft_of(pending), reasons_of(pending)])
        self.query_one("#source-texts", Static).update(sources)
        self.query_one("#draft-text", Static).update(result)
        for pane in self.query(VerticalScroll):
            pane.scroll_home(animate=False)
        if self.current == "lineage":
            self._trace()

    def switch(self) -> bool:
        """Show the lineage, or the texts again; return whether it is the lineage.

        Raises `StoreError`.
        """
        if self.current == "lineage":
            self.current = "texts"
            return False
        self._trace()
        self.current = "lineage"
        self.query_one(Tree).focus()
        return True

    def scroll_pages(self, pages: int) -> None:
        """Scroll by pages."""
        for pane in (*self.query(VerticalScroll), self.query_one(Tree)):
            pane.scroll_relative(y=pages * max(pane.size.height - 1, 1), animate=False)

    def _trace(self) -> None:
        """Show the proposal, its sources, and their lineage. Raises `StoreError`."""
        if self.shown is None:
            return
        proposal, tree = self.shown.proposal, self.query_one(Tree)
        with self.place.reading() as memory_file, open_reading(memory_file) as opened:
            lineages = {
                memory_id: trees_of(trace_sources(opened, memory_id), DEPTH_OF_TEXT)
                for memory_id in proposal.sources[:_MAX_SOURCES]
            }
        tree.reset(Text(shortened(f"{proposal.operation}: {proposal.draft.text}", _MAX_TEXT)))
        tree.root.expand()
        for memory_id, trees in lineages.items():
            for number, (root, branches) in enumerate(trees):
                label = f"continued from {root}" if number else _label(self.shown, memory_id)
                _add(tree.root.add(Text(label), expand=True, allow_expand=bool(branches)), branches)


def _add(node: TreeNode[None], branches: tuple[Branch, ...]) -> None:
    for branch in branches:
        relative = branch.relative
        where = ", shown elsewhere" if branch.seen else ", continued below" * branch.continued
        label = shortened(f"{relative.operation}: {relative.content}", _MAX_TEXT)
        text = Text(f"{label} ({relative.status}{where})")
        _add(node.add(text, expand=True, allow_expand=bool(branch.behind)), branch.behind)


def _label(pending: PendingProposal, memory_id: str) -> str:
    memory = pending.memories.get(memory_id)
    if memory is None:
        return f"{memory_id} (no longer in the file)"
    return f"{shortened(memory.content, _MAX_TEXT)} ({memory.status}, {memory.id[:8]})"
