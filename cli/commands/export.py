"""slowwave export: memories as JSON Lines."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.options import OutputOptions, per_call
from slowwave.cli.arguments.settings import is_on_command_line
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import Output, clean, harmless_json, writing_to_stdout
from slowwave.cli.terminal.wording import counted
from slowwave.store.errors import OutdatedFile, UnusableFile
from slowwave.store.places import Place

if TYPE_CHECKING:
    from collections.abc import Iterable


def export(
    context: typer.Context,
    place: Place,
    all: Annotated[
        bool,
        typer.Option(
            "--all", help="Write everything, including runs: enough to recreate the file."
        ),
    ] = False,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Include vectors; an import can compute them again.")
    ] = False,
    wiki_folder: Annotated[
        Path | None,
        per_call(
            "--wiki",
            metavar="DIR",
            help="Write Markdown pages to a folder instead; later exports update changed pages.",
        ),
    ] = None,
    *,
    output: OutputOptions,
) -> None:
    """Write the active memories as JSON Lines to stdout, or as a wiki to a folder.

    --all adds all other memories, vectors, and what each run did and decided: after an import, runs
    can still be undone. If the file is damaged, writes what can be read and exits with 10. --json
    has no effect.
    """
    from slowwave.store.check import count_corrupt, refuse_unreadable
    from slowwave.store.exchange import export_lines
    from slowwave.store.file import open_reading
    from slowwave.store.history import history_lines

    if wiki_folder is not None:
        for name in ("all", "vectors"):
            if is_on_command_line(context, name):
                raise typer.BadParameter(f"--{name} has no effect with --wiki: omit one of them.")
        from slowwave.cli.views.wiki import write_wiki

        pages = write_wiki(wiki_folder, place, output)
        output.result("export", file=str(place.named), **pages)
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
            corrupt = count_corrupt(opened)
    except OutdatedFile:
        raise
    except UnusableFile as error:
        _salvage(place.named, all, output, error)
        raise typer.Exit(Code.UNUSABLE_FILE) from None
    if corrupt:
        output.error(
            f"{counted(corrupt, 'memory has', 'memories have')} a damaged text; the readable part "
            "was written.",
            "'slowwave check FILE' lists them; an import refuses them until you correct them.",
            Code.UNUSABLE_FILE,
        )
        raise typer.Exit(Code.UNUSABLE_FILE)


def _write(lines: Iterable[str]) -> None:
    with writing_to_stdout():
        for line in lines:
            sys.stdout.write(harmless_json(line) + "\n")


def _salvage(file: Path, everything: bool, output: Output, error: UnusableFile) -> None:
    """Write the readable part. Raises an error if nothing is readable."""
    from slowwave.store.salvage import Salvaged, salvage_lines

    count = Salvaged()
    try:
        _write(salvage_lines(file, everything, count))
    except UnusableFile as unsaved:
        # Unless its hint is to do what just failed, the first error says more.
        raise (unsaved if "'slowwave export" in error.hint else error) from None
    hint = (
        f"Saved {counted(count.saved, 'memory', 'memories')}, {count.partly} of them incomplete. "
        f"{counted(count.lost, 'memory', 'memories')} could not be read, and more may be missing, "
        "as may lineage and names. Import the saved ones into a new file: "
        "slowwave import NEW SAVED.jsonl"
    )
    output.error(error.message, clean(hint), Code.UNUSABLE_FILE)
