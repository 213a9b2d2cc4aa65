"""One proposal: its sources beside its draft, or where the sources came from."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import ContentSwitcher, Static, Tree

from slowwave.consolidation.running.review_queue import WaitingProposal
from slowwave.store.places import Place

from .lineage import grow, read_lineages
from .texts import draft_of, reasons_of, sources_of


class ProposalPane(ContentSwitcher):
    """Shows the proposal that the cursor stands on."""

    DEFAULT_CSS = """
    ProposalPane { height: 1fr; border-top: solid $primary; }
    ProposalPane #texts { height: 1fr; }
    ProposalPane VerticalScroll { width: 1fr; padding-right: 1; scrollbar-size: 1 1; }
    ProposalPane #result { border-left: solid $primary; padding-left: 1; }
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
