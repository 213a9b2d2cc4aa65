"""slowwave correct: a person's word on one memory."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.options import (
    DryRunOption,
    MemoryArgument,
    OutputOptions,
    per_call,
)
from slowwave.cli.views.correction import make_correction
from slowwave.store.errors import StoreError
from slowwave.store.places import Place

if TYPE_CHECKING:
    from slowwave.consolidation.running.corrections import Correction
    from slowwave.store.file import MemoryFile


def correct(
    place: Place,
    memory: MemoryArgument,
    text: Annotated[
        str | None,
        per_call(metavar="TEXT", help="What is right: a new memory with this text supersedes it."),
    ] = None,
    supersedes: Annotated[
        list[str] | None,
        per_call(metavar="MEMORY", help="With --text, supersede this memory as well. Repeatable."),
    ] = None,
    pin: Annotated[bool, per_call("--pin", help="No run may supersede or archive it.")] = False,
    unpin: Annotated[bool, per_call("--unpin", help="Runs may supersede it again.")] = False,
    retract: Annotated[bool, per_call("--retract", help="Archive it: it is wrong.")] = False,
    dry_run: DryRunOption = False,
    *,
    output: OutputOptions,
) -> None:
    """Correct, pin, unpin or retract a memory; 'slowwave undo' undoes it.

    What a person states is trusted fully, and no run supersedes it. Reports
    memories derived from a wrong one, and memories that the new text repeats or contradicts.
    """
    if sum((text is not None, pin, unpin, retract)) != 1:
        raise typer.BadParameter("Pass exactly one of --text, --pin, --unpin and --retract.")
    if supersedes and text is None:
        raise typer.BadParameter("--supersedes requires --text.")

    def do(opened: MemoryFile) -> Correction:
        from slowwave.consolidation.running.corrections import Corrector

        corrector = Corrector(opened, datetime.now(UTC))
        if text is not None:
            return corrector.correct([memory, *(supersedes or ())], text)
        return corrector.retract(memory) if retract else corrector.pin(memory, pin)

    if text is not None and (why := place.no_new_texts_reason()) is not None:
        raise StoreError(why, "Nothing was changed.")
    make_correction("correct", place, do, dry_run, output)
