"""Write reports and metrics files atomically, overwriting only files that slowwave made."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from slowwave.cli.terminal.output import writing_to_stdout
from slowwave.store.errors import StoreError, file_errors
from slowwave.store.opening import is_database
from slowwave.store.sidecar import drafted, file_mode, sync_folder

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

# What each report starts with, as HTML and as Markdown: a comment, which no reader sees.
MARK = "<!-- a report of slowwave -->"
STDOUT = Path("-")
# What the names of our metrics start with.
PREFIX = "slowwave_"
# What the name of a report ends with, and whether it is a page then.
_IS_PAGE = {".html": True, ".htm": True, ".md": False}
# How a report, and a file of metrics, begin; another program may create the latter empty.
_REPORT = re.compile(f"(<!DOCTYPE html>\n)?{MARK}".encode())
_METRICS = re.compile(rf"# HELP {PREFIX}|\Z".encode())
_MAX_BEGINNING = 100


def is_page(path: Path) -> bool:
    """Whether a report of this name is HTML, not Markdown. Raises wrong usage if it is neither."""
    form = _IS_PAGE.get(path.suffix.lower())
    if form is None:
        raise typer.BadParameter(f"--report takes a name that ends in .html or .md, not '{path}'.")
    return form


def refuse_unwritable_folder(folder: Path, place: str) -> None:
    """Refuse a folder in which no file can be created. Raises `StoreError`.

    place: what could not be written, as the message names it: "report.html", "into wiki".
    """
    if not folder.is_dir():
        raise StoreError(f"Cannot write {place}: there is no folder {folder}.", "Create it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        hint = "Choose another folder, or change its permissions."
        raise StoreError(f"Cannot write {place}: {folder} is read-only.", hint)


def refuse_unwritable(path: Path) -> None:
    """Refuse a path to which no report can be written. Raises `StoreError`."""
    if path != STDOUT:
        _refuse_others(path, _REPORT, "is not a report")


def refuse_unwritable_metrics(path: Path) -> None:
    """Refuse a path to which no metrics can be written. Raises `StoreError`, and wrong usage."""
    _refuse_others(path, _METRICS, "does not contain metrics")
    if path.suffix != ".prom":
        raise typer.BadParameter(f"node_exporter reads only names that end in .prom, not '{path}'.")


def _refuse_others(path: Path, beginning: re.Pattern[bytes], problem: str) -> None:
    """Refuse a file that does not begin like ours. Raises `StoreError`."""
    real = _real(path)
    with file_errors("write", path):
        refuse_unwritable_folder(real.parent, str(path))
        if os.path.lexists(real) and not _starts_with(real, beginning):
            raise StoreError(
                f"{path} {problem} of slowwave, and was not changed.", "Specify another name."
            )


def _real(path: Path) -> Path:
    """Return where a link leads; a link that leads to itself stays one."""
    return Path(os.path.realpath(path))


def write_report(path: Path, text: str, memory_file: Path) -> None:
    """Write a report, or replace an earlier one; `-` is stdout. Raises `StoreError`.

    It contains texts of memories: only users who can read the memory file can read it.
    """
    if path == STDOUT:
        with writing_to_stdout():
            sys.stdout.write(text)
        return
    refuse_unwritable(path)
    real = _real(path)
    with (
        file_errors("write", path),
        drafted(real, text, file_mode(memory_file) & 0o666) as draft,
    ):
        draft.replace(real)
        sync_folder(real.parent)


def write_textfile(path: Path, registry: CollectorRegistry) -> None:
    """Write metrics as a Prometheus textfile, or replace an earlier one. Raises `StoreError`.

    See https://github.com/prometheus/node_exporter#textfile-collector.
    """
    from prometheus_client import write_to_textfile

    with file_errors("write", path):
        # It writes a neighboring file, and renames that.
        write_to_textfile(str(_real(path)), registry)


def _starts_with(path: Path, beginning: re.Pattern[bytes]) -> bool:
    if not path.is_file() or is_database(path):
        return False
    with path.open("rb") as stream:
        return beginning.match(stream.read(_MAX_BEGINNING)) is not None
