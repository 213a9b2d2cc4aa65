"""Exit codes, and the one place that maps errors to them."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from contextvars import ContextVar
from enum import IntEnum
from pathlib import Path

import typer

from slowwave.consolidation.errors import RecordingError
from slowwave.consolidation.runtime.interruption import OutOfTime
from slowwave.consolidation.runtime.redaction import without_secrets
from slowwave.store.errors import ChangedSince, FileHeld, SlowwaveError, UnusableFile

from .output import FILE_OPTIONS, LOST_STDOUT, NAMED_FILE, Output, unwritable
from .signals import CaughtSignals, caught_signals


class Code(IntEnum):
    """Exit codes; a program must treat an unknown one as a failure."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    PARTLY = 3
    WORK_TO_DO = 4
    UNUSABLE_FILE = 10
    HELD = 11
    DEFECT = 70
    OUTPUT = 74
    INTERRUPTED = 130
    TERMINATED = 143


# By the verdict of a run.
OF_VERDICT = {
    "done": Code.DONE,
    "partial": Code.PARTLY,
    "failed": Code.FAILED,
    "interrupted": Code.INTERRUPTED,
}
MEANINGS = {
    Code.DONE: "done, or nothing to do",
    Code.FAILED: "failed, and no memory was changed",
    Code.USAGE: "wrong usage",
    Code.PARTLY: "partly done: some proposals failed or all were rejected, a budget ran out, "
    "or the disk failed",
    Code.WORK_TO_DO: "with --dry-run --exit-code: there is something to do",
    Code.UNUSABLE_FILE: "no such file, not a memory file, damaged, unreadable, "
    "or of another schema version",
    Code.HELD: "another run has locked the file",
    Code.DEFECT: "an internal error in slowwave",
    Code.OUTPUT: "stdout could not be written; changes to the file are complete",
    Code.INTERRUPTED: "interrupted, but applied changes are complete",
    Code.TERMINATED: "terminated, but applied changes are complete",
}

# Shown at the end of --help-all.
EXIT_CODES = "\n".join(
    ("Exit codes:", *(f"  {code.value:>3}  {meaning}" for code, meaning in MEANINGS.items()))
)


# What failed after the running command had done its work: the message and the hint of each.
_LATE_FAILURES: ContextVar[tuple[tuple[str, str], ...]] = ContextVar("late_failures", default=())
# Whether a defect is shown with its traceback: --debug, or SLOWWAVE_DEBUG.
SHOWS_TRACEBACKS: ContextVar[bool] = ContextVar("shows_tracebacks", default=False)


def run_reported(command: Callable[[], object], file: Path | None, output: Output) -> int:
    """Run a command, report errors, signals and a lost stdout, and return the exit code.

    file: what messages call FILE. Wrong usage is raised.
    """
    token = NAMED_FILE.set(file)
    FILE_OPTIONS.set(())
    LOST_STDOUT.set(None)
    _LATE_FAILURES.set(())
    try:
        with caught_signals() as caught:
            code = report_late_failures(output, _run(command, output, caught))
    finally:
        NAMED_FILE.reset(token)
    return code or _lost(LOST_STDOUT.get(), output)


def _run(command: Callable[[], object], output: Output, caught: CaughtSignals) -> int:
    """Run a command, report its errors, and return the exit code."""
    try:
        command()
    except typer.Exit as end:
        return end.exit_code
    except typer.TyperException:
        raise
    except (KeyboardInterrupt, OutOfTime) as end:
        return _interrupted(end, caught, output)
    except typer.Abort as end:
        if caught.code is not None:  # Ctrl-C at a question
            return _interrupted(end, caught, output)
        output.error("Nothing was done.", "", Code.FAILED)
        return Code.FAILED
    except SlowwaveError as error:
        code = code_of(error)
        obstacles = error.obstacles if isinstance(error, ChangedSince) else ()
        output.error(error.message, error.hint, code, obstacles)
        return code
    except Exception as error:  # noqa: BLE001 - the last line of defense: no traceback is shown
        if caught.code is not None:
            # A library has replaced the interruption by an error of its own.
            return _interrupted(error, caught, output)
        return report_defect(error, output)
    return Code.DONE


def _interrupted(end: BaseException, caught: CaughtSignals, output: Output) -> int:
    caught.close()
    code = caught.code or Code.INTERRUPTED
    message, hint = getattr(end, "message", "Interrupted."), getattr(end, "hint", "")
    output.error(message, hint, code)
    return code


def _lost(error: OSError | None, output: Output) -> int:
    """Return the code of a command whose output was lost; `head` may stop reading at any time."""
    if error is None or isinstance(error, BrokenPipeError):
        return Code.DONE
    output.error(
        unwritable(error), "Changes to the file, if there are any, are complete.", Code.OUTPUT
    )
    return Code.OUTPUT


def fail_late(message: str, hint: str) -> None:
    """Remember a failure after what the command itself did, for `report_late_failures`."""
    _LATE_FAILURES.set((*_LATE_FAILURES.get(), (message, hint)))


def report_late_failures(output: Output, code: int) -> int:
    """Report the failures that were remembered, and return the exit code.

    Every command does it at its end, those of several runs after each run.
    """
    for message, hint in _LATE_FAILURES.get():
        code = Code.PARTLY if code in (Code.DONE, Code.WORK_TO_DO) else code
        output.error(message, hint, code)
    _LATE_FAILURES.set(())
    return code


def code_of(error: BaseException) -> Code:
    """Return the exit code of an error or an interruption."""
    codes = {
        UnusableFile: Code.UNUSABLE_FILE,
        FileHeld: Code.HELD,
        RecordingError: Code.USAGE,
        SlowwaveError: Code.FAILED,
        Exception: Code.DEFECT,
    }
    return next((code for kind, code in codes.items() if isinstance(error, kind)), Code.INTERRUPTED)


def report_defect(error: Exception, output: Output) -> int:
    """Report an error within slowwave, and return the exit code."""
    if SHOWS_TRACEBACKS.get():
        sys.stderr.write(without_secrets(traceback.format_exc()))
    hint = "Please report it with the output of 'slowwave --debug COMMAND ...'."
    output.error(describe_defect(error), hint, Code.DEFECT)
    return Code.DEFECT


def describe_defect(error: Exception) -> str:
    """Return what went wrong within slowwave, and where."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    problem = without_secrets(f"{type(error).__name__}: {error}")
    return f"Internal error: {problem} ({place})."
