"""Open the screen at a terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import typer

from slowwave.cli.terminal.output import with_file
from slowwave.store.extras import install_hint

if TYPE_CHECKING:
    from slowwave.consolidation.running.review_queue import Choice
    from slowwave.consolidation.vectors.embedder import Embedder
    from slowwave.store.places import Place

_WITHOUT = "'slowwave review FILE' works without it."
_MISSING = f"--tui requires the package textual; {install_hint('tui')}. {_WITHOUT}"


def show_screen(place: Place, choice: Choice, embedder: Embedder) -> str:
    """Let a person decide at the screen; return a summary of the decisions.

    Raises `StoreError` if the file cannot be read, and wrong usage without a terminal or Textual.
    """
    _refuse_without_terminal()
    try:
        from .screen import ReviewScreen
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "textual":
            raise
        raise typer.BadParameter(with_file(_MISSING)) from None
    from .session import Session

    session = Session(place, embedder, choice)
    session.load()
    ReviewScreen(session, str(place.named)).run()
    return session.summary()


def _refuse_without_terminal() -> None:
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if not is_terminal or os.environ.get("TERM", "dumb") == "dumb":
        what = " that can draw, unlike TERM=dumb" if is_terminal else ""
        raise typer.BadParameter(with_file(f"--tui requires a terminal{what}. {_WITHOUT}"))
