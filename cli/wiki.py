"""A memory file written out as a wiki of Markdown pages."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .memory_texts import counted
from .output import clean

if TYPE_CHECKING:
    from .output import Output
    from .wiki_folder import WrittenPages

# So many pages are named that stayed as they were.
_MOST_NAMED = 5


def write_out(memory_file: Path, folder: Path, readers: Path) -> WrittenPages:
    """Write the wiki of a memory file into a folder.

    readers: the file whose mode says who may read the pages. Raises `StoreError`.
    """
    from slowwave.store.check import refuse_unreadable
    from slowwave.store.file import open_reading
    from slowwave.store.sidecar import mode_of

    from .wiki_folder import write_wiki
    from .wiki_pages import all_pages

    with open_reading(memory_file) as opened:
        refuse_unreadable(opened)
        # Another agent's file may be a folder: what lets one enter that is no matter of pages.
        return write_wiki(folder, all_pages(opened), mode_of(readers) & 0o666)


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
