"""The option --wiki: the pages that an extension writes after a change, and the report of them.

The extension registers `refuse_others_pages(folder, file)` and `write_out(memory_file, folder,
readers)`, which returns `WrittenPages`, as `wiki` under `slowwave.options`.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from slowwave.cli.arguments.options import OutputOptions, worker_of
from slowwave.cli.terminal.exits import fail_late
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.terminal.wording import counted, named
from slowwave.store.errors import StoreError, file_errors
from slowwave.store.places import Place

from .report_file import refuse_unwritable_folder


@dataclass(frozen=True)
class ChangeOutput(OutputOptions):
    """How a command that changes FILE prints, and the wiki that it updates."""

    wiki: Annotated[
        Path | None,
        typer.Option(
            "--wiki",
            metavar="DIR",
            help="Afterwards, write the file as Markdown pages, as 'slowwave export --wiki' does.",
        ),
    ] = None

    def refuse_changes(self, place: Place) -> None:
        """Refuse a file that cannot be changed, or a wiki that cannot be written."""
        place.refuse_changes()
        if self.wiki is not None:
            _refuse_unwritable(self.wiki, place.named)

    def report_change(
        self, command: str, place: Place, *text: Any, is_rehearsed: bool = False, **fields: Any
    ) -> None:
        """Report a change, and update the wiki. text: for people; fields: for JSON."""
        self.show(*text)
        pages = {} if is_rehearsed else self.update_wiki(place)
        self.result(command, file=str(place.named), **fields, **pages)

    def update_wiki(self, place: Place) -> dict[str, Any]:
        """Write the wiki of a changed file, if one was requested, and return its JSON.

        A failure does not hide the change: the command reports it at its end.
        """
        if self.wiki is None:
            return {}
        try:
            with signals_of_this_command().limited():
                return write_wiki(self.wiki, place, self)
        except StoreError as error:
            hint = f"The rest is done; only the wiki was not updated. {error.hint}".strip()
            fail_late(error.message, hint)
            return {}


@dataclass
class WrittenPages:
    """What an export did with the pages."""

    written: int = 0
    unchanged: int = 0
    removed: int = 0
    # The paths, in the folder, of pages that somebody else wrote or changed: they stay.
    kept: list[str] = field(default_factory=list)


def write_wiki(folder: Path, place: Place, output: Output) -> dict[str, Any]:
    """Write the wiki of a file into a folder, and return what became of the pages, for JSON.

    Raises `StoreError`.
    """
    with place.reading() as memory_file:
        pages = worker_of("wiki").write_out(memory_file, folder, place.named)
    written = f"{counted(pages.written, 'page')} written, {pages.unchanged:,} unchanged"
    output.show(clean(f"{folder}: {written}, {pages.removed:,} removed."))
    if pages.kept:
        output.note(
            "Not overwritten, because slowwave did not write them or they were edited: "
            f"{named(pages.kept)}"
        )
    return {"wiki": {"folder": str(folder), **asdict(pages)}}


def _refuse_unwritable(folder: Path, file: Path) -> None:
    """Refuse a folder to which the wiki of a file cannot be written. Raises `StoreError`."""
    writer = worker_of("wiki")
    with file_errors("write into", folder):
        is_folder = folder.is_dir()
        if os.path.lexists(folder) and not is_folder:
            raise StoreError(
                f"Cannot write into {folder}: it is not a folder.", "Specify another name."
            )
    refuse_unwritable_folder(folder if is_folder else folder.absolute().parent, f"into {folder}")
    if is_folder:
        writer.refuse_others_pages(folder, file.absolute().name)
