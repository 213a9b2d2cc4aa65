"""`slowwave ingest --watch`: session logs read as they grow."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.store.errors import FileHeld, StoreError

from .conversation_files import read_file

if TYPE_CHECKING:
    from slowwave.store.conversations.messages import Conversation

_ENDINGS = frozenset({".jsonl", ".json", ".txt", ".md", ".log"})
# A file as it was: its size, when it was changed, and its number on the disk.
_State = tuple[int, int, int]


def watch_logs(
    folder: Path,
    interval_s: float,
    format: str | None,
    read: Callable[[Sequence[Conversation]], object],
    output: Output,
) -> NoReturn:
    """Read each log in a folder, and below, once it has been quiet for so long, until interrupted.

    Each log has its own state: which messages of it were read stands in the memory file, so that a
    watch that begins anew goes on where the last one was.
    """
    if not folder.is_dir():
        raise typer.BadParameter(f"--watch takes a folder, and {folder} is none.")
    signals = signals_of_this_command()
    states: dict[Path, _State] = {}
    is_there = True
    while True:
        if folder.is_dir() != is_there:
            is_there = not is_there
            if not is_there:
                output.note(clean(f"{folder} is gone: it is read when it is there again."))
        for path, state in _quiet(folder, interval_s):
            if states.get(path) != state and _is_read(path, format, read, output):
                states[path] = state
            if signals.asked:
                raise typer.Exit(signals.code or Code.INTERRUPTED)
            # What ends a run must end the wait for the next one, too.
            signals.open()
        time.sleep(interval_s)


def _is_read(
    path: Path,
    format: str | None,
    read: Callable[[Sequence[Conversation]], object],
    output: Output,
) -> bool:
    """Read a log, and say whether it need not be read again before it changes."""
    try:
        conversations = read_file(path, format)
    except StoreError as error:
        output.note(clean(f"{path} is left out: {error.message}"))
        return True
    try:
        if conversations:
            read(conversations)
    except FileHeld as error:
        output.note(clean(f"{error.message} It is tried again."))
        return False
    return True


def _quiet(folder: Path, interval_s: float) -> Iterator[tuple[Path, _State]]:
    """Yield the logs that nobody has written to for so long, each with its state."""
    for path in sorted(folder.rglob("*")):
        if path.suffix not in _ENDINGS:
            continue
        try:
            found = path.stat()
        except OSError:
            continue  # it has gone meanwhile, or may not be read
        if path.is_file() and time.time() - found.st_mtime >= interval_s:
            yield path, (found.st_size, found.st_mtime_ns, found.st_ino)
