"""The option --wiki: the pages that an extension writes after a run, and the report of them.

The extension registers `refuse_others_pages(folder, file)` and `write_out(memory_file, folder,
readers)`, which returns `WrittenPages`, as `wiki` under `slowwave.options`.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from slowwave.cli.arguments.options import OutputOptions, worker_of
from slowwave.cli.terminal.exits import Code, report_after
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.terminal.wording import counted, named
from slowwave.store.errors import StoreError, file_errors
from slowwave.store.places import Place

from .report_file import refuse_unwritable_folder

WikiOption = Annotated[
    Path | None,
    typer.Option(
        "--wiki",
        metavar="DIR",
        help="Afterwards, write the file as Markdown pages, as 'slowwave export --wiki' does.",
    ),
]


@dataclass(frozen=True)
class ChangeOutput(OutputOptions):
    """How a command that changes FILE prints, and the wiki that it updates."""

    wiki: WikiOption = None

    def refuse_changes(self, place: Place) -> None:
        """Refuse a file that cannot be changed, or a wiki that cannot be written."""
        refuse_changes(place, self.wiki)

    def report_change(
        self, command: str, place: Place, text: str, is_rehearsed: bool = False, **fields: Any
    ) -> int:
        """Update the wiki, report a change, and return the exit code. fields: for JSON."""
        pages = write_after_change(None if is_rehearsed else self.wiki, place)
        self.result(command, file=str(place.named), **fields, **pages.as_json())
        self.show(text)
        return pages.report(self, Code.DONE)


@dataclass
class WrittenPages:
    """What an export did with the pages."""

    written: int = 0
    unchanged: int = 0
    removed: int = 0
    # The paths, in the folder, of pages that somebody else wrote or changed: they stay.
    kept: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class WikiOfRun:
    """The wiki after a run, which is finished even if the wiki could not be written."""

    # None: none was requested.
    folder: Path | None
    written: WrittenPages | None = None
    problem: StoreError | None = None

    def as_json(self) -> dict[str, Any]:
        """Return what became of the pages; nothing if none were written."""
        if self.folder is None or self.written is None:
            return {}
        return {"wiki": {"folder": str(self.folder), **asdict(self.written)}}

    def report(self, output: Output, code: int) -> int:
        """Report what became of the pages, or why there are none, and return the exit code."""
        if self.written is not None:
            self._report_written(output, self.written)
        if self.problem is None:
            return code
        hint = f"The rest is done; only the wiki was not updated. {self.problem.hint}".strip()
        return report_after(output, self.problem.message, hint, code)

    def _report_written(self, output: Output, written: WrittenPages) -> None:
        pages = counted(written.written, "page")
        unwritten = f"{written.unchanged:,} unchanged, {written.removed:,} removed."
        output.show(clean(f"{self.folder}: {pages} written, {unwritten}"))
        if written.kept:
            output.note(
                "Not overwritten, because slowwave did not write them or they were edited: "
                f"{named(written.kept)}"
            )


def refuse_changes(place: Place, wiki: Path | None) -> None:
    """Refuse a file that cannot be changed, or a wiki that cannot be written."""
    place.refuse_changes()
    refuse_unwritable_wiki(wiki, place.named)


def refuse_unwritable_wiki(folder: Path | None, file: Path) -> None:
    """Refuse a folder to which the wiki of a file cannot be written. Raises `StoreError`."""
    if folder is None:
        return
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


def write_wiki(memory_file: Path, folder: Path, readers: Path) -> WikiOfRun:
    """Write the wiki of a memory file into a folder.

    readers: the file as it is named; its mode decides who may read the pages. Raises `StoreError`.
    """
    return WikiOfRun(folder, worker_of("wiki").write_out(memory_file, folder, readers))


def write_after_run(
    folder: Path | None, reading: Path | AbstractContextManager[Path], readers: Path
) -> WikiOfRun:
    """Write the wiki after a run, if one was requested; a failure does not hide the run.

    reading: the memory file, or what provides it. readers: as in `write_wiki`.
    """
    if folder is None:
        return WikiOfRun(None)
    memory_file = nullcontext(reading) if isinstance(reading, Path) else reading
    try:
        with signals_of_this_command().limited(), memory_file as path:
            return write_wiki(path, folder, readers)
    except StoreError as error:
        return WikiOfRun(folder, problem=error)


def write_after_change(folder: Path | None, place: Place) -> WikiOfRun:
    """Write the wiki of a file that a person has just changed, if one was requested."""
    return write_after_run(folder, place.reading(), place.named)
