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
    """A question over the screen, with a button to say yes.

    None is the answer of who changed their mind.
    """

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

    def compose(self) -> ComposeResult:
        """Lay it out."""
        with Vertical(id="asking"):
            yield Static(self.question)
            yield from self.inputs()
            with Horizontal():
                yield Button(self.yes, id="yes", variant="primary", compact=True)
                yield Button("Cancel", id="no", compact=True)

    def inputs(self) -> ComposeResult:
        """Yield what an answer is typed into."""
        return iter(())

    def answer(self) -> str:
        """Return what is answered: by default the label of the button."""
        return self.yes

    @on(Input.Submitted)
    @on(Button.Pressed, "#yes")
    def action_answer(self) -> None:
        """Give the answer."""
        self.dismiss(self.answer())

    @on(Button.Pressed, "#no")
    def action_cancel(self) -> None:
        """Leave without an answer."""
        self.dismiss(None)


class AskReason(Asking):
    """Why something is declined; it may be left empty."""

    def inputs(self) -> ComposeResult:
        """Yield a line."""
        yield Input(placeholder="reason (optional), stored in the log", compact=True)

    def answer(self) -> str:
        """Return the reason."""
        return self.query_one(Input).value


class AskWords(Asking):
    """Other words for a draft."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s", "answer", "Apply")]

    def __init__(self, question: Text, words: str) -> None:
        """Take the question and the words to begin with."""
        super().__init__(question, "Apply ^s")
        self.words = words

    def inputs(self) -> ComposeResult:
        """Yield an area with the words."""
        yield TextArea(self.words, compact=True)

    def answer(self) -> str:
        """Return the words as one line."""
        return " ".join(self.query_one(TextArea).text.split())
