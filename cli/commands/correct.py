"""slowwave correct: a person's word on one memory."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.options import (
    FileArgument,
    MemoryArgument,
    OutputOptions,
    RehearseOption,
    per_call,
)
from slowwave.cli.files.places import on_place
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import Output
from slowwave.cli.views.correction import (
    correction_as_json,
    correction_as_text,
    secrets_as_text,
)
from slowwave.cli.views.wiki import WikiOption, refuse_changes, write_after_change
from slowwave.store.errors import StoreError
from slowwave.store.places import Place

if TYPE_CHECKING:
    from slowwave.consolidation.running.corrections import Correction
    from slowwave.store.file import MemoryFile


@on_place
def correct(
    file: FileArgument,
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
    pin: Annotated[
        bool | None,
        per_call(
            "--pin/--unpin",
            help="Whether it is protected from being superseded, expired or archived.",
        ),
    ] = None,
    retract: Annotated[bool, per_call("--retract", help="Archive it: it is wrong.")] = False,
    rehearse: RehearseOption = False,
    wiki: WikiOption = None,
    *,
    output: OutputOptions,
) -> None:
    """Correct, pin, unpin or retract a memory; 'slowwave undo' undoes it.

    What a person states is trusted fully, and no run supersedes it. Reports
    memories derived from a wrong one, and memories that the new text repeats or contradicts.
    """
    if sum((text is not None, pin is not None, retract)) != 1:
        raise typer.BadParameter("Pass exactly one of --text, --pin, --unpin and --retract.")
    if supersedes and text is None:
        raise typer.BadParameter("--supersedes requires --text.")

    def do(opened: MemoryFile) -> Correction:
        from slowwave.consolidation.running.corrections import Corrector

        corrector = Corrector(opened, datetime.now(UTC))
        if text is not None:
            return corrector.correct([memory, *(supersedes or ())], text)
        return corrector.retract(memory) if retract else corrector.pin(memory, pin is True)

    if text is not None and (why := place.why_no_texts()) is not None:
        raise StoreError(why, "Nothing was changed.")
    carry_out("correct", place, do, rehearse, wiki, output)


def carry_out(
    command: str,
    place: Place,
    do: Callable[[MemoryFile], Correction],
    rehearse: bool,
    wiki: Path | None,
    output: Output,
) -> None:
    """Change the file, or only a copy of it, and report what was done."""
    wiki = None if rehearse else wiki
    if not rehearse:
        refuse_changes(place, wiki)
    done = place.rehearse(do) if rehearse else place.change(do)
    pages = write_after_change(wiki, place)
    named = {"command": command, "file": str(place.named), "dry_run": rehearse}
    # A rehearsal's run is in no file.
    found = correction_as_json(done) | ({"run": None} if rehearse else {})
    output.result({**named, **found, **pages.as_json()})
    if found["secrets"]:
        output.note(secrets_as_text(found["secrets"]))
    output.show(correction_as_text(done, place.named, rehearse))
    raise typer.Exit(pages.report(output, Code.DONE))
