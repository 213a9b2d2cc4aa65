"""slowwave import: memories from JSON lines."""

from __future__ import annotations

import json as jsonlib
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
from slowwave.cli.files.foreign import refuse_another_format, refuse_foreign
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.wording import counted
from slowwave.store.errors import StoreError
from slowwave.store.opening import open_text

# So much of what comes through a pipe is kept in memory, the rest on the disk.
_IN_MEMORY = 16 * 1024 * 1024


def import_(
    file: FileArgument,
    source: Annotated[
        Path,
        typer.Argument(metavar="SOURCE.jsonl|-", help="JSON lines; - for stdin.", readable=False),
    ],
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Leave out lines that are not valid.")
    ] = False,
    from_format: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FORMAT", help="SOURCE is another agent's file: see formats."
        ),
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Add memories from JSON lines; makes FILE if need be.

    All of them are added in one transaction. With --from they come from the memory file of another
    agent, which is only read.
    """
    from slowwave.store.exchange import import_lines
    from slowwave.store.file import open_or_create

    refuse_foreign(file)
    output = Output(json, quiet)
    with (
        reading(source)
        if from_format is None
        else _lines_from(source, from_format, output) as lines,
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
def _lines_from(source: Path, format: str, output: Output) -> Iterator[Iterator[bytes]]:
    """Provide the memories of another agent's file as lines."""
    from slowwave.store.formats.known_formats import format_named
    from slowwave.store.mirror.pull import line_of

    named = format_named(format)
    refuse_another_format(named, source)
    if (remark := named.remark(source)) is not None:
        output.note(clean(remark))
    with named.opened(source, writes=False) as other:
        lines = [line_of(record) for record in other.records]
    yield (jsonlib.dumps(line).encode() for line in lines if line is not None)


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
