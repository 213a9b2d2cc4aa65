"""slowwave import: memories from JSON lines."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated

import typer

from slowwave.cli.arguments.options import ConfigOption, FileArgument, JsonOption, QuietOption
from slowwave.cli.files.places import refuse_foreign
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.wording import counted
from slowwave.store.errors import StoreError
from slowwave.store.opening import open_text
from slowwave.store.places import lines_of

# So much of what comes through a pipe is kept in memory, the rest on the disk.
_IN_MEMORY = 16 * 1024 * 1024


def import_(
    file: FileArgument,
    source: Annotated[
        Path | None,
        typer.Argument(metavar="SOURCE.jsonl|-", help="JSON lines; - for stdin.", readable=False),
    ] = None,
    empty: Annotated[
        bool,
        typer.Option(
            "--empty", allow_from_autoenv=False, help="Make FILE, new and empty, without a SOURCE."
        ),
    ] = False,
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Skip lines that are not valid, and report them.")
    ] = False,
    from_format: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="SOURCE is another agent's file: see 'slowwave formats'.",
        ),
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Add memories from JSON lines, in one transaction; FILE is made if it does not exist.

    With --from they come from the memory file of another agent, which is only read.
    """
    from slowwave.store.exchange import import_lines
    from slowwave.store.file import create_file, open_or_create

    output = Output(json, quiet)
    if empty:
        if source is not None:
            raise typer.BadParameter("--empty takes no SOURCE.")
        create_file(file)
        output.result({"command": "init", "file": str(file)})
        output.show(clean(f"Made {file}."))
        return
    if source is None:
        raise typer.BadParameter("Name a SOURCE, - for stdin, or pass --empty.")
    refuse_foreign(file)
    with (
        reading(source)
        if from_format is None
        else lines_of(source, from_format, lambda said: output.note(clean(said))) as lines,
        open_or_create(file) as opened,
        shown_progress(quiet) as progress,
    ):
        added, skipped = import_lines(
            opened,
            lines,
            datetime.now(UTC),
            skip_invalid,
            lambda done: progress.stage("importing", done, 0),
        )
    output.result(
        {
            "command": "import",
            "file": str(file),
            "imported": added,
            "skipped": [{"line": one.line, "reason": one.reason} for one in skipped],
        }
    )
    for one in skipped:
        output.note(clean(f"Line {one.line} left out: {one.reason}."))
    memories = counted(added, "memory", "memories")
    output.show(clean(f"Imported {memories} into {file}, left out {len(skipped)}."))


@contextmanager
def reading(source: Path) -> Iterator[Iterator[bytes]]:
    """Provide the lines of a file, or of stdin. Raises `StoreError`."""
    if str(source) == "-":
        with _all_of(sys.stdin.buffer, source) as whole:
            yield _lines(whole, source)
        return
    with _readable(source):
        stream = open_text(source)
    with stream:
        if source.is_file():
            yield _lines(stream, source)
            return
        with _all_of(stream, source) as whole:
            yield _lines(whole, source)


@contextmanager
def _all_of(stream: IO[bytes], source: Path) -> Iterator[IO[bytes]]:
    """Wait for all that a pipe brings: a slow writer must not keep the file locked."""
    with SpooledTemporaryFile(_IN_MEMORY) as whole:
        with _readable(source):
            shutil.copyfileobj(stream, whole)
            whole.seek(0)
        yield whole


def _lines(stream: IO[bytes], source: Path) -> Iterator[bytes]:
    with _readable(source):
        yield from stream


@contextmanager
def _readable(source: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"Cannot read {source}: {error.strerror}.", "Nothing was imported."
        ) from error
