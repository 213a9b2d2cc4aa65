"""Files of conversations, read for `slowwave ingest`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.cli.terminal.output import Output, clean
from slowwave.store.errors import StoreError
from slowwave.store.opening import open_text

if TYPE_CHECKING:
    from slowwave.store.conversations.messages import Conversation


def read_files(paths: Sequence[Path], format: str | None, output: Output) -> list[Conversation]:
    """Return the conversations in files, each named by its file; those without are noted.

    Raises `StoreError`.
    """
    found = []
    for path in paths:
        conversations = read_file(path, format)
        if not conversations:
            output.note(clean(f"{path}: no message of a user or an assistant is in it."))
        found += conversations
    return found


def read_file(path: Path, format: str | None) -> list[Conversation]:
    """Return the conversations in one file; "-" is stdin. Raises `StoreError`."""
    from slowwave.store.conversations.conversation_formats import read_conversations

    try:
        with nullcontext(sys.stdin.buffer) if str(path) == "-" else open_text(path) as stream:
            raw = stream.read()
    except OSError as error:
        raise StoreError(
            f"Cannot read {path}: {error.strerror}.", "Nothing was taken in."
        ) from error
    name = "stdin" if str(path) == "-" else path.name
    return read_conversations(raw, name, format)
