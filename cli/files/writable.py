"""Checks that an output path is writable, before any work is done."""

from __future__ import annotations

import os
from pathlib import Path

from slowwave.store.errors import StoreError


def refuse_unwritable_folder(folder: Path, place: str) -> None:
    """Refuse a folder in which no file can be created. Raises `StoreError`.

    place: what could not be written, as the message names it: "report.html", "into wiki".
    """
    if not folder.is_dir():
        raise StoreError(f"Cannot write {place}: there is no folder {folder}.", "Create it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StoreError(f"Cannot write {place}: {folder} is read-only.")
