"""A memory file written out as a wiki of Markdown pages."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowwave.cli.files.writable import refuse_unwritable_folder
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.terminal.wording import counted
from slowwave.store.errors import StoreError

if TYPE_CHECKING:
    from slowwave.cli.files.foreign import Place
    from slowwave.cli.terminal.output import Output

    from .folder import WrittenPages

WikiOption = Annotated[
    Path | None,
    typer.Option(
        "--wiki",
        metavar="DIR",
        help="Afterwards, write the file out as Markdown pages, as 'slowwave export --wiki'.",
    ),
]
_DONE = "What was to be done before the pages is done."
# So many pages are named that stayed as they were.
_MOST_NAMED = 5


def refuse_unwritable_wiki(folder: Path | None, file: Path) -> None:
    """Refuse a folder that no wiki of a file can be written to, before anything is done.

    Raises `StoreError`.
    """
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"Cannot write into {folder}: it is no folder.", "Name another one.")
    there = folder.is_dir()
    refuse_unwritable_folder(folder if there else folder.absolute().parent, f"into {folder}")
    if there:
        from .folder import refuse_others_pages

        refuse_others_pages(folder, file.absolute().name)


def write_out(memory_file: Path, folder: Path, readers: Path) -> WrittenPages:
    """Write the wiki of a memory file into a folder.

    readers: the file as it is named; its mode says who may read the pages. Raises `StoreError`.
    """
    from slowwave.store.check import refuse_unreadable
    from slowwave.store.file import open_reading
    from slowwave.store.sidecar import file_mode

    from .folder import write_wiki
    from .pages import all_pages

    with open_reading(memory_file) as opened:
        refuse_unreadable(opened)
        # Another agent's file may be a folder: what lets one enter that is no matter of pages.
        file = readers.absolute().name
        return write_wiki(folder, all_pages(opened, file), file, file_mode(readers) & 0o666)


@dataclass(frozen=True)
class WikiOfRun:
    """The wiki after a run, which is done whether or not that could be written."""

    # None: none is wanted.
    folder: Path | None
    written: WrittenPages | None = None
    problem: StoreError | None = None

    def as_json(self) -> dict[str, Any]:
        """Return what became of the pages, for programs; nothing where none were written."""
        if self.folder is None or self.written is None:
            return {}
        return {"wiki": wiki_as_json(self.folder, self.written)}

    def tell(self, output: Output, code: int) -> int:
        """Say what became of the pages or why there are none, and return the exit code."""
        if self.folder is not None and self.written is not None:
            tell_wiki(output, self.folder, self.written)
        if self.problem is None:
            return code
        code = code if code not in (Code.DONE, Code.WORK_TO_DO) else Code.PARTLY
        output.error(self.problem.message, f"{_DONE} {self.problem.hint}".strip(), code)
        return code


def write_after_run(
    folder: Path | None, reading: Path | AbstractContextManager[Path], readers: Path
) -> WikiOfRun:
    """Write the wiki after a run, if one is wanted, and let no failure hide the run.

    reading: the memory file, or what provides it. readers: as in `write_out`.
    """
    if folder is None:
        return WikiOfRun(None)
    memory_file = nullcontext(reading) if isinstance(reading, Path) else reading
    try:
        with signals_of_this_command().limited(), memory_file as path:
            return WikiOfRun(folder, write_out(path, folder, readers))
    except StoreError as error:
        return WikiOfRun(folder, problem=error)


def write_after_change(folder: Path | None, place: Place) -> WikiOfRun:
    """Write the wiki of a file that a person has just had changed, if one is wanted."""
    return write_after_run(folder, place.reading(), place.named)


def wiki_as_json(folder: Path, written: WrittenPages) -> dict[str, Any]:
    """Return what became of the pages, for programs."""
    return {"folder": str(folder), **asdict(written)}


def tell_wiki(output: Output, folder: Path, written: WrittenPages) -> None:
    """Say what became of the pages."""
    pages = counted(written.written, "page", "pages")
    output.show(
        clean(
            f"{folder}: {pages} written, {written.unchanged:,} unchanged, "
            f"{written.removed:,} removed."
        )
    )
    if written.kept:
        named = ", ".join(written.kept[:_MOST_NAMED])
        more = len(written.kept) - _MOST_NAMED
        output.note(
            clean(
                f"Changed by hand or not by slowwave, and left so: {named}"
                + (f" and {more} more" if more > 0 else "")
            )
        )
