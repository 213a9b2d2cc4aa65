"""slowwave import: memories from JSON Lines."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.options import FileArgument, OutputOptions, SkipInvalidOption, per_call
from slowwave.cli.arguments.place_options import refuse_foreign
from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.wording import counted, named
from slowwave.store.errors import StoreError, file_errors
from slowwave.store.opening import open_text
from slowwave.store.places import lines_of

if TYPE_CHECKING:
    from slowwave.store.exchange import Skipped

_HINT = "Nothing was imported. SOURCE must be a JSON Lines file. Another agent's: --from FORMAT."
# How many bytes of a pipe are buffered in memory; the rest are on disk.
_IN_MEMORY = 16 * 1024 * 1024


def import_(
    file: FileArgument,
    source: Annotated[
        Path | None,
        typer.Argument(metavar="SOURCE.jsonl|-", help="JSON Lines; - for stdin.", readable=False),
    ] = None,
    empty: Annotated[
        bool, per_call("--empty", help="Create FILE, empty, without a SOURCE.")
    ] = False,
    skip_invalid: SkipInvalidOption = False,
    from_format: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="The format of another agent's SOURCE: see 'slowwave formats'.",
        ),
    ] = None,
    *,
    output: OutputOptions,
) -> None:
    """Add memories from JSON Lines in one transaction; create FILE if it does not exist.

    A line is an object with content and, optionally, id, tenant, kind, layer, origin, trust,
    importance, pinned, source, session, tags, metadata, observed_at, created_at, expires_at,
    entities, embedding and embedding_model; docs/reference.md has their values.
    With --from, import the memory file of another agent, which is only read.
    """
    from slowwave.store.exchange import import_lines
    from slowwave.store.file import create_file, open_or_create

    if empty:
        if source is not None:
            raise typer.BadParameter("--empty does not take a SOURCE.")
        create_file(file)
        output.result("init", file=str(file))
        output.show(clean(f"Created {file}."))
        return
    if source is None:
        raise typer.BadParameter("Specify a SOURCE, - for stdin, or pass --empty.")
    refuse_foreign(file)
    opened_source = (
        reading(source) if from_format is None else lines_of(source, from_format, output.note)
    )
    with opened_source as lines:
        first_lines = list(islice(lines, 1))
        if not first_lines and not os.path.lexists(file):
            hint = "No file was created. To create an empty one: slowwave import FILE --empty"
            raise StoreError("The source is empty: it contains no memories.", hint)
        with open_or_create(file) as opened, shown_progress(output.quiet) as progress:
            added, skipped = import_lines(
                opened,
                chain(first_lines, lines),
                datetime.now(UTC),
                skip_invalid,
                lambda count: progress.stage("importing", count, 0),
            )
    lines_skipped = [{"line": bad.line, "reason": bad.reason} for bad in skipped]
    output.result("import", file=str(file), imported=added, skipped=lines_skipped)
    # Of the lines with the same problem, the first is an example.
    kinds: dict[str, list[Skipped]] = {}
    for bad in skipped:
        kinds.setdefault(re.split(": |, at ", bad.reason)[0], []).append(bad)
    for first, *more in kinds.values():
        output.note(f"Skipped line {first.line}: {first.reason}.")
        if more:
            lines_of_kind = named([str(bad.line) for bad in more])
            count = counted(len(more), "more line")
            output.note(f"Skipped {count} for the same reason: {lines_of_kind}.")
    memories = counted(added, "memory", "memories")
    ending = f", skipped {counted(len(skipped), 'line')}" if skipped else ""
    ending = ending if first_lines else ": the source is empty"
    output.show(clean(f"Imported {memories} into {file}{ending}."))


@contextmanager
def reading(source: Path, hint: str = _HINT) -> Iterator[Iterator[bytes]]:
    """Provide the lines of a file, or of stdin. Raises `StoreError` with the hint."""
    is_stdin = str(source) == "-"
    with file_errors("read", source, hint):
        opened = nullcontext(sys.stdin.buffer) if is_stdin else open_text(source)
    with opened as stream:
        if source.is_file() and not is_stdin:
            yield _lines(stream, source, hint)
            return
        # A slow writer to a pipe must not keep the memory file locked.
        with SpooledTemporaryFile(_IN_MEMORY) as buffer:
            with file_errors("read", source, hint):
                shutil.copyfileobj(stream, buffer)
                buffer.seek(0)
            yield _lines(buffer, source, hint)


def _lines(stream: IO[bytes], source: Path, hint: str) -> Iterator[bytes]:
    with file_errors("read", source, hint):
        yield from stream
