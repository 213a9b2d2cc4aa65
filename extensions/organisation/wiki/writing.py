"""What the option --wiki of the core's commands does."""

from __future__ import annotations

from pathlib import Path

from slowwave.cli.views.wiki import WrittenPages
from slowwave.store.check import refuse_unreadable
from slowwave.store.file import open_reading
from slowwave.store.sidecar import file_mode

from .folder import refuse_others_pages, write_wiki
from .pages import all_pages

__all__ = ["refuse_others_pages", "write_out"]


def write_out(memory_file: Path, folder: Path, readers: Path) -> WrittenPages:
    """Write the wiki of a memory file into a folder.

    readers: the file that the user named, whose permissions the pages get. Raises `StoreError`.
    """
    with open_reading(memory_file) as opened:
        refuse_unreadable(opened)
        # Another agent's file may be a folder, whose execute permission does not matter for pages.
        file = readers.absolute().name
        return write_wiki(folder, all_pages(opened, file), file, file_mode(readers) & 0o666)
