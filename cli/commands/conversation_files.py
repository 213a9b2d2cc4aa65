"""Files of conversations, read for `slowwave ingest`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.store.errors import StoreError

if TYPE_CHECKING:
    from slowwave.store.conversations.messages import Conversation


def read_files(paths: Sequence[Path], format: str | None) -> list[Conversation]:
    """Return the conversations in files, each named by its file. Raises `StoreError`."""
    return [one for path in paths for one in read_file(path, format)]


def read_file(path: Path, format: str | None) -> list[Conversation]:
    """Return the conversations in one file; "-" is stdin. Raises `StoreError`."""
    from slowwave.store.conversations.registry import read_conversations

    try:
        raw = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise StoreError(
            f"Cannot read {path}: {error.strerror}.", "Nothing was taken in."
        ) from error
    name = "stdin" if str(path) == "-" else path.name
    return read_conversations(raw, name, format)
