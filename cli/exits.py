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

from slowwave.consolidation.errors import ConsolidationError
from slowwave.store.errors import FileHeld, StoreError, UnusableFile

from .output import Output

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
    Code.PARTLY: "partly done: some proposals failed, or a budget ran out",
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
    """Let the errors of a command, which takes `json` and `quiet`, end in a sentence and a code."""

    @functools.wraps(command)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        output = Output(json=bool(kwargs["json"]), quiet=bool(kwargs["quiet"]))
        try:
            command(*args, **kwargs)
        except (typer.Exit, typer.TyperException):
            raise
        except KeyboardInterrupt:
            output.error("Interrupted.", "", Code.INTERRUPTED)
            raise typer.Exit(Code.INTERRUPTED) from None
        except BrokenPipeError:
            _leave_closed_pipe()
        except (StoreError, ConsolidationError) as error:
            code = code_of(error)
            output.error(error.message, error.hint, code)
            raise typer.Exit(code) from None
        except Exception as error:  # noqa: BLE001 - the last line of defence: no traceback is shown
            output.error(_describe(error), "Please report it.", Code.DEFECT)
            raise typer.Exit(Code.DEFECT) from None

    return wrapped


def code_of(error: Exception) -> Code:
    """Give the exit code of an error of ours."""
    if isinstance(error, UnusableFile):
        return Code.UNUSABLE_FILE
    if isinstance(error, FileHeld):
        return Code.HELD
    return Code.FAILED


def _describe(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    return f"slowwave has a defect: {type(error).__name__}: {error} ({place})."


def _leave_closed_pipe() -> NoReturn:
    """End quietly when whoever reads our output has gone, as `head` does."""
    # Else Python complains once more when it flushes stdout at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(Code.DONE)
