"""What can be wrong with a memory file or with what is asked of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .undo.obstacles import Obstacle


class StoreError(Exception):
    """The request cannot be carried out; nothing was changed.

    `hint` says what the user can do about it.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        """Keep the message and the hint apart, so that each can be shown in its place."""
        super().__init__(message)
        self.message = message
        self.hint = hint


class UnusableFile(StoreError):
    """No such file, not a memory file, damaged, or of a newer schema."""


class FileHeld(StoreError):
    """Another maintenance run, or a long write, holds the file."""


class InvalidLine(StoreError):
    """A line of an import is not a memory."""


class NotFound(StoreError):
    """No memory, run, proposal or tenant goes by that name."""


class Ambiguous(StoreError):
    """More than one goes by that name."""


class ChangedSince(StoreError):
    """Rows are no longer what a run left, so the run cannot be taken back.

    `obstacles` names each change that stands in the way.
    """

    def __init__(self, message: str, hint: str, obstacles: tuple[Obstacle, ...]) -> None:
        """Keep what stands in the way apart, so that a program can read it."""
        super().__init__(message, hint)
        self.obstacles = obstacles
