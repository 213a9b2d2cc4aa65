"""Exit codes, and the one place where an error becomes one."""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import NoReturn, ParamSpec

import typer

from slowwave.consolidation.errors import ConsolidationError, RecordingError
from slowwave.consolidation.runtime.interruption import OutOfTime
from slowwave.consolidation.runtime.redaction import without_secrets
from slowwave.store.errors import ChangedSince, FileHeld, StoreError, UnusableFile

from .output import Output
from .signals import Caught, caught_signals

Parameters = ParamSpec("Parameters")


class Code(IntEnum):
    """What each exit code means; a program must take an unknown one for a failure."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    PARTLY = 3
    WORK_TO_DO = 4
    UNUSABLE_FILE = 10
    HELD = 11
    DEFECT = 70
    INTERRUPTED = 130
    TERMINATED = 143


MEANINGS = {
    Code.DONE: "done, or nothing to do",
    Code.FAILED: "failed; nothing was changed",
    Code.USAGE: "wrong usage",
    Code.PARTLY: "partly done: some proposals failed, a budget ran out, or the disk failed",
    Code.WORK_TO_DO: "only with --dry-run --exit-code: there is something to do",
    Code.UNUSABLE_FILE: "no such file, not a memory file, damaged, or of a newer schema",
    Code.HELD: "another maintenance run holds the file",
    Code.DEFECT: "a defect of slowwave",
    Code.INTERRUPTED: "interrupted; what was applied stays whole",
    Code.TERMINATED: "terminated; what was applied stays whole",
}

# Shown at the end of each command's help.
EPILOG = "Exit codes: " + "; ".join(f"{code.value} {meaning}" for code, meaning in MEANINGS.items())


def reporting(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Let the errors of a command, which takes `json` and `quiet`, end in a sentence and a code.

    So do signals, whatever the command is about.
    """

    @functools.wraps(command)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        output = Output(json=bool(kwargs["json"]), quiet=bool(kwargs["quiet"]))
        with caught_signals() as caught:
            try:
                command(*args, **kwargs)
            except (typer.Exit, typer.TyperException):
                raise
            except (KeyboardInterrupt, OutOfTime) as end:
                _end_interrupted(end, caught, output)
            except BrokenPipeError:
                _leave_closed_pipe()
            except (StoreError, ConsolidationError) as error:
                code = code_of(error)
                obstacles = error.obstacles if isinstance(error, ChangedSince) else ()
                output.error(without_secrets(error.message), error.hint, code, obstacles)
                raise typer.Exit(code) from None
            except Exception as error:  # noqa: BLE001 - the last line of defence: no traceback is shown
                if caught.code is not None:
                    # A library made an error of its own of the interruption.
                    _end_interrupted(error, caught, output)
                output.error(_describe(error), "Please report it.", Code.DEFECT)
                raise typer.Exit(Code.DEFECT) from None

    return wrapped


def _end_interrupted(end: BaseException, caught: Caught, output: Output) -> NoReturn:
    caught.close()
    code = caught.code or Code.INTERRUPTED
    message, hint = getattr(end, "message", "Interrupted."), getattr(end, "hint", "")
    output.error(message, hint, code)
    raise typer.Exit(code) from None


def code_of(error: Exception) -> Code:
    """Give the exit code of an error of ours."""
    if isinstance(error, UnusableFile):
        return Code.UNUSABLE_FILE
    if isinstance(error, FileHeld):
        return Code.HELD
    if isinstance(error, RecordingError):
        return Code.USAGE
    return Code.FAILED


def _describe(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    said = without_secrets(f"{type(error).__name__}: {error}")
    return f"slowwave has a defect: {said} ({place})."


def _leave_closed_pipe() -> NoReturn:
    """End quietly when whoever reads our output has gone, as `head` does."""
    # Else Python complains once more when it flushes stdout at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(Code.DONE)
