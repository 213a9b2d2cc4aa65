"""Problems of a command that may ask a model, reported on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import Output

if TYPE_CHECKING:
    from slowwave.consolidation.errors import ConsolidationError
    from slowwave.consolidation.model.recording import Recordings
    from slowwave.consolidation.writing.writer import Writer
    from slowwave.store.errors import StoreError


def tell_problems(
    output: Output,
    code: int,
    writer: Writer,
    recordings: Recordings | None,
    broken_off: StoreError | ConsolidationError | None,
    summary: str,
    hint: str = "'slowwave log' shows the run.",
) -> int:
    """Report on stderr what went wrong, and return the exit code.

    summary, hint: for a quiet run, which reported nothing else.
    """
    if recordings is not None and recordings.problem is not None:
        code = code or Code.PARTLY
        output.error(recordings.problem, "The answers are kept in the memory file.", code)
    if broken_off is not None:
        output.error(broken_off.message, broken_off.hint, code)
    elif writer.refused is not None:
        output.error(f"The model refuses every call: {writer.refused}", "", code)
    elif code in (Code.PARTLY, Code.FAILED) and output.quiet:
        output.error(summary, hint, code)
    return code
