"""What the screen asks: why a proposal is declined, and other words for a draft."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static, TextArea


class Asking(ModalScreen[str | None]):
    """A question over the screen; None is the answer of who changed their mind."""

    CSS = """
    Asking { align: center middle; }
    #asking { width: 90%; height: auto; max-height: 90%; border: solid $primary; padding: 0 1; }
    #asking Input { margin: 1 0; }
    #asking TextArea { height: 8; margin: 1 0; }
    #asking Horizontal { height: 1; }
    #asking Button { margin-right: 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel")]

    def __init__(self, question: Text, yes: str) -> None:
        """Set the question, and the label of the button that answers it."""
        super().__init__()
        self.question = question
        self.yes = yes

    def buttons(self) -> ComposeResult:
        """Give what a mouse can press."""
        with Horizontal():
            yield Button(self.yes, id="yes", variant="primary", compact=True)
            yield Button("Cancel", id="no", compact=True)

    def action_cancel(self) -> None:
        """Leave without an answer."""
        self.dismiss(None)

    @on(Button.Pressed, "#no")
    def _no(self) -> None:
        self.dismiss(None)


class Confirm(Asking):
    """Whether to do what the question says; the answer is the label of the button."""

    def compose(self) -> ComposeResult:
        """Lay it out."""
        with Vertical(id="asking"):
            yield Static(self.question)
            yield from self.buttons()

    @on(Button.Pressed, "#yes")
    def _confirmed(self) -> None:
        self.dismiss(self.yes)


class AskReason(Asking):
    """Why something is declined; it may be left empty."""

    def compose(self) -> ComposeResult:
        """Lay it out."""
        with Vertical(id="asking"):
            yield Static(self.question)
            asked = "reason (optional), stored in the log"
            yield Input(placeholder=asked, compact=True)
            yield from self.buttons()

    @on(Input.Submitted)
    @on(Button.Pressed, "#yes")
    def _answered(self) -> None:
        self.dismiss(self.query_one(Input).value)


class AskWords(Asking):
    """Other words for a draft."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s", "save", "Apply")]

    def __init__(self, question: Text, words: str) -> None:
        """Take the question and the words to begin with."""
        super().__init__(question, "Apply ^s")
        self.words = words

    def compose(self) -> ComposeResult:
        """Lay it out."""
        with Vertical(id="asking"):
            yield Static(self.question)
            yield TextArea(self.words, compact=True)
            yield from self.buttons()

    @on(Button.Pressed, "#yes")
    def action_save(self) -> None:
        """Answer with the text."""
        self.dismiss(" ".join(self.query_one(TextArea).text.split()))
