"""What of a command that may ask a model was given in vain, or went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from slowwave.cli.arguments.settings import is_on_command_line
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import Output

if TYPE_CHECKING:
    from slowwave.consolidation.model.recording import Recordings
    from slowwave.consolidation.writing.writer import Writer
    from slowwave.store.errors import StoreError

# The options by which a model is asked, or its answers come from a recording.
ASKING = ("model", "replay")


def refuse_missing(context: typer.Context, needs: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Refuse options on the command line that make no sense without one of some others."""
    given = {name for name, value in context.params.items() if value not in (None, False)}
    for one, others in needs:
        if is_on_command_line(context, one) and given.isdisjoint(others):
            named = " or ".join(f"--{other.replace('_', '-')}" for other in others)
            raise typer.BadParameter(f"--{one.replace('_', '-')} goes with {named}.")


def tell_problems(
    output: Output,
    code: int,
    writer: Writer,
    recordings: Recordings | None,
    broken_off: StoreError | None,
    in_short: str,
) -> int:
    """Report on stderr what went wrong, and return the exit code.

    in_short: what a quiet run has not said otherwise.
    """
    if recordings is not None and recordings.problem is not None:
        code = code or Code.PARTLY
        output.error(recordings.problem, "The answers are kept in the memory file.", code)
    if broken_off is not None:
        output.error(broken_off.message, broken_off.hint, code)
    elif writer.refused is not None:
        output.error(f"The model refuses every call: {writer.refused}", "", code)
    elif code in (Code.PARTLY, Code.FAILED) and output.quiet:
        output.error(in_short, "'slowwave log' shows the run.", code)
    return code
