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
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        Binding("ctrl+s", "answer", "Apply"),
    ]

    def __init__(self, question: Text, yes: str, typed: Input | TextArea | None = None) -> None:
        """Set the question, the label of the button that answers it, and what is typed into."""
        super().__init__()
        self.question = question
        self.yes = yes
        self.typed = typed

    def compose(self) -> ComposeResult:
        """Lay it out."""
        with Vertical(id="asking"):
            yield Static(self.question)
            if self.typed is not None:
                yield self.typed
            with Horizontal():
                yield Button(self.yes, id="yes", variant="primary", compact=True)
                yield Button("Cancel", id="no", compact=True)

    @on(Input.Submitted)
    @on(Button.Pressed, "#yes")
    def action_answer(self) -> None:
        """Give what was typed as the answer, words as one line; without an input, the label."""
        if isinstance(self.typed, TextArea):
            self.dismiss(" ".join(self.typed.text.split()))
        else:
            self.dismiss(self.yes if self.typed is None else self.typed.value)

    @on(Button.Pressed, "#no")
    def action_cancel(self) -> None:
        """Leave without an answer."""
        self.dismiss(None)
