"""How a report is written: whole or not at all, to a new file or over an earlier report."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from slowwave.cli.files.writable import refuse_unwritable_folder
from slowwave.cli.terminal.output import writing_to_stdout
from slowwave.store.errors import StoreError
from slowwave.store.opening import is_database
from slowwave.store.sidecar import file_mode, sync_folder

# What each report begins with, as HTML and as Markdown: a comment that a reader does not see.
MARK = "<!-- a report of slowwave -->"
STDOUT = Path("-")
# So much of a file is looked at to know an earlier report by.
_BEGINNING = 200


def refuse_unwritable(path: Path) -> None:
    """Refuse a path that no report can be written to, before anything is done.

    Raises `StoreError`.
    """
    if path == STDOUT:
        return
    refuse_unwritable_folder(path.resolve().parent, str(path))
    if path.exists() and not _is_a_report(path):
        raise StoreError(
            f"{path} is no report of slowwave, and stays as it is.", "Give another name."
        )


def write_report(path: Path, text: str, memory_file: Path) -> None:
    """Write a report, or replace an earlier one by it; `-` is stdout.

    It holds what memories say: whoever may not read those may not read it either. Raises
    `StoreError`.
    """
    if path == STDOUT:
        with writing_to_stdout():
            sys.stdout.write(text)
        return
    refuse_unwritable(path)
    real = path.resolve()
    made = real.with_name(f".{real.name}.{os.getpid()}")
    try:
        _write(made, text, file_mode(memory_file) & 0o666)
        made.replace(real)
        sync_folder(real.parent)
    except OSError as error:
        raise StoreError(f"Cannot write {path}: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            made.unlink(missing_ok=True)


def _is_a_report(path: Path) -> bool:
    if not path.is_file() or is_database(path):
        return False
    try:
        with path.open("rb") as stream:
            beginning = stream.read(_BEGINNING)
    except OSError as error:
        raise StoreError(f"Cannot write {path}: {error.strerror}.") from error
    return beginning.removeprefix(b"<!DOCTYPE html>\n").startswith(MARK.encode())


def _write(path: Path, text: str, mode: int) -> None:
    # Private from the start; O_EXCL follows no link that somebody put there.
    opened = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(opened, "wb") as stream:
        stream.write(text.encode())
        stream.flush()
        os.fchmod(stream.fileno(), mode)
        os.fsync(stream.fileno())
