"""slowwave export: memories as JSON lines."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.options import ConfigOption, FileArgument, JsonOption, QuietOption
from slowwave.cli.arguments.settings import is_on_command_line
from slowwave.cli.files.places import on_place
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import Output, clean, harmless_json, writing_to_stdout
from slowwave.store.errors import UnusableFile
from slowwave.store.places import Place

if TYPE_CHECKING:
    from collections.abc import Iterable


@on_place
def export(
    context: typer.Context,
    file: FileArgument,
    place: Place,
    all: Annotated[
        bool,
        typer.Option("--all", help="Everything, runs too: an import gives the same file."),
    ] = False,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="With their vectors; an import computes them anew.")
    ] = False,
    wiki_folder: Annotated[
        Path | None,
        typer.Option(
            "--wiki",
            metavar="DIR",
            allow_from_autoenv=False,
            help="As Markdown pages in a folder instead; later exports change what has changed.",
        ),
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write the active memories as JSON lines to stdout, or as a wiki into a folder.

    --json changes nothing about them. With --all also the others, their vectors, and what runs did
    and decided, so that a run can be undone in the file that an import makes. Of a damaged file
    what can be read is written, and the exit code is 10.
    """
    from slowwave.store.check import count_corrupt, refuse_unreadable
    from slowwave.store.exchange import export_lines
    from slowwave.store.file import open_reading
    from slowwave.store.history import history_lines

    output = Output(json, quiet)
    if wiki_folder is not None:
        _refuse_lines(context)
        _write_wiki(place, wiki_folder, output)
        return
    try:
        with place.reading() as memory_file, open_reading(memory_file) as opened:
            refuse_unreadable(opened)
            _write(
                chain(
                    export_lines(opened, all, with_vectors=all or vectors),
                    history_lines(opened) if all else (),
                )
            )
            spoiled = count_corrupt(opened)
    except UnusableFile as error:
        _salvage(file, all, output, error)
        raise typer.Exit(Code.UNUSABLE_FILE) from None
    if spoiled:
        output.error(
            f"The texts of {spoiled} memories are damaged; what can be read of them is written.",
            "'slowwave check' names them.",
            Code.UNUSABLE_FILE,
        )
        raise typer.Exit(Code.UNUSABLE_FILE)


def _refuse_lines(context: typer.Context) -> None:
    """Refuse what is said about lines where none are written."""
    for name in ("all", "vectors"):
        if is_on_command_line(context, name):
            raise typer.BadParameter(f"--{name} does not go with --wiki: every memory has a page.")


def _write_wiki(place: Place, folder: Path, output: Output) -> None:
    from slowwave.cli.views.wiki import write_wiki

    with place.reading() as memory_file:
        pages = write_wiki(memory_file, folder, place.named)
    output.result({"command": "export", "file": str(place.named), **pages.as_json()})
    pages.tell(output, Code.DONE)


def _write(lines: Iterable[str]) -> None:
    with writing_to_stdout():
        for line in lines:
            sys.stdout.write(harmless_json(line) + "\n")


def _salvage(file: Path, everything: bool, output: Output, error: UnusableFile) -> None:
    """Write what can be read. Raises `error` if that is nothing."""
    from slowwave.store.salvage import Salvaged, salvage_lines

    count = Salvaged()
    try:
        _write(salvage_lines(file, everything, count))
    except UnusableFile:
        raise _without_export(error) from None
    if not count.saved:
        raise _without_export(error)
    output.error(
        error.message,
        clean(
            f"Saved what can be read: {count.saved} memories, {count.partly} of them not whole; "
            f"{count.lost} more cannot be read, nor can {count.loose} rows of lineage, vectors and "
            "names. Take them into a new file with: slowwave import"
        ),
        Code.UNUSABLE_FILE,
    )


def _without_export(error: UnusableFile) -> UnusableFile:
    """Return an error that does not advise what was just tried."""
    if "'slowwave export" not in error.hint:
        return error
    return UnusableFile(error.message, "No memory in it can be read. Restore it from a backup.")
