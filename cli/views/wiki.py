"""The option --wiki: the pages that an extension writes, and the report of them.

The extension registers `refuse_others_pages(folder, file)` and `write_out(memory_file, folder,
readers)`, which returns `WrittenPages`, as `wiki` under `slowwave.options`.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from slowwave.cli.arguments.options import worker_of
from slowwave.cli.terminal.exits import fail_late
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.terminal.wording import counted, named
from slowwave.store.errors import StoreError, file_errors
from slowwave.store.places import Place

from .report_file import refuse_unwritable_folder


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


def update_wiki(folder: Path | None, place: Place, output: Output) -> dict[str, Any]:
    """Write the wiki of a file after a run, if one is wanted, and return what became of it.

    A failure does not hide the run: the command reports it at its end.
    """
    if folder is None:
        return {}
    try:
        with signals_of_this_command().limited():
            return write_wiki(folder, place, output)
    except StoreError as error:
        hint = f"The rest is done; only the wiki was not updated. {error.hint}".strip()
        fail_late(error.message, hint)
        return {}


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
