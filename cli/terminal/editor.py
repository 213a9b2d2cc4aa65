"""A text in the user's own editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from slowwave.store.errors import StoreError


def edited(text: str) -> str | None:
    """Open a text in $VISUAL, $EDITOR or vi, and return the saved text; None if unchanged.

    Raises `StoreError` if the editor does not run, or fails.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    # Only its owner can read the folder: memories are private.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "draft.txt"
        path.write_text(f"{text}\n", "utf-8")
        try:
            # It is the user's own program.
            subprocess.run([*shlex.split(editor), str(path)], check=True)  # noqa: S603
            saved = path.read_text("utf-8").strip()
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise StoreError(
                f"The editor '{editor}' failed: {error}.", "Specify the text with --text."
            ) from error
    return None if saved == text.strip() else saved
