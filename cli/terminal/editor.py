"""A text in the person's own editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from slowwave.store.errors import StoreError


def edited(text: str) -> str | None:
    """Open a text in $VISUAL, $EDITOR or vi, and return what was saved; None if nothing changed.

    Raises `StoreError` if the editor does not run, or ends with a failure.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    # A folder that only its owner can read: memories are private.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "draft.txt"
        path.write_text(f"{text}\n", "utf-8")
        try:
            # It is the person's own program.
            subprocess.run([*shlex.split(editor), str(path)], check=True)  # noqa: S603
            saved = path.read_text("utf-8").strip()
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise StoreError(
                f"The editor '{editor}' failed: {error}.", "Say the text with --text."
            ) from error
    return None if saved == text.strip() else saved
