"""Whether something can be written where a user wants it, asked before any work is spent on it."""

from __future__ import annotations

import os
from pathlib import Path

from slowwave.store.errors import StoreError


def refuse_unwritable_folder(folder: Path, place: str) -> None:
    """Refuse a folder in which no file can be made. Raises `StoreError`.

    place: what was to be written, as a sentence says it: "report.html", "into wiki".
    """
    if not folder.is_dir():
        raise StoreError(f"Cannot write {place}: there is no folder {folder}.", "Make that first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StoreError(f"Cannot write {place}: nothing can be written in {folder}.")
