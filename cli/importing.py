"""slowwave import: memories from JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from slowwave.store.errors import StoreError

from .output import Output, clean
from .progress import shown_progress
from .settings import ConfigOption, FileArgument, JsonOption, QuietOption


def import_(
    file: FileArgument,
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE.jsonl|-", help="JSON lines; - for stdin.")
    ],
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Leave out lines that are not valid.")
    ] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Add memories from JSON lines, all of them in one transaction; makes FILE if need be."""
    from slowwave.store.exchange import import_lines
    from slowwave.store.file import create_file, open_writing, remove_file

    output = Output(json, quiet)
    with _reading(source) as lines:
        is_new = not file.exists()
        if is_new:
            create_file(file)
        try:
            with open_writing(file) as opened, shown_progress(quiet) as progress:
                added, skipped = import_lines(
                    opened,
                    lines,
                    datetime.now(UTC),
                    skip_invalid,
                    lambda done: progress.stage("importing", done, 0),
                )
        except BaseException:
            if is_new:
                remove_file(file)
            raise
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
    output.show(clean(f"Imported {added} memories into {file}, left out {len(skipped)}."))


@contextmanager
def _reading(source: Path) -> Iterator[BinaryIO]:
    if str(source) == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = source.open("rb")
    except OSError as error:
        raise StoreError(
            f"Cannot read {source}: {error.strerror}.", "Nothing was imported."
        ) from error
    with stream:
        yield stream
