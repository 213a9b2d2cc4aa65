"""Errors of memory files and of requests to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .undo.obstacles import Obstacle


_CHECK_PATH = "Check the path, its permissions, and the free space of the disk."
# The hint for a damaged file.
SAVE_HINT = "Restore it from a backup, or save the readable part with 'slowwave export FILE --all'."


class SlowwaveError(Exception):
    """The request failed; nothing was changed. `hint` tells the user what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class StoreError(SlowwaveError):
    """A request to a memory file failed."""


class UnusableFile(StoreError):
    """The file is missing, damaged, not a memory file, or has a newer schema."""


class OutdatedFile(UnusableFile):
    """The file has an older schema."""


class DamagedRow(UnusableFile):
    """A row of the file has a value that no program may write; `translate_errors` adds the path."""

    def __init__(self, fault: str, hint: str = SAVE_HINT) -> None:
        """fault: what is wrong, without a full stop."""
        super().__init__(f"The file is damaged: {fault}.", hint)
        self.fault = fault


class FileHeld(StoreError):
    """Another maintenance run, or a long write, has locked the file."""


class RejectedChange(StoreError):
    """The database, such as a trigger of an agent, rejects a change that was rolled back alone."""


class InvalidLine(StoreError):
    """A line of an import is not a memory."""


class NotFound(StoreError):
    """No memory, run, proposal or tenant has that name."""


class Ambiguous(StoreError):
    """More than one object has that name."""


class ChangedSince(StoreError):
    """Rows have changed since a run, so that it cannot be undone; `obstacles` lists the changes."""

    def __init__(self, message: str, hint: str, obstacles: tuple[Obstacle, ...]) -> None:
        super().__init__(message, hint)
        self.obstacles = obstacles


@contextmanager
def file_errors(
    verb: str, path: Path, hint: str = _CHECK_PATH, error_type: type[SlowwaveError] = StoreError
) -> Iterator[None]:
    """Raise an `OSError` of the block as an error of slowwave: "Cannot <verb> <path>: ..."."""
    try:
        yield
    except OSError as error:
        raise error_type(f"Cannot {verb} {path}: {error.strerror}.", hint) from error
