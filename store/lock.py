"""One maintenance run at a time, whatever agents do meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import FileHeld, StoreError
from .sidecar import create_beside, mode_of, sidecar_path
from .validate import refuse_what_is_no_database


@contextmanager
def maintenance_lock(path: Path) -> Iterator[None]:
    """Hold the file against other maintenance runs, not against agents.

    The operating system lets go of the lock when its process ends, however it ends. Raises
    `FileHeld` at once when another run has it.
    """
    import filelock

    refuse_what_is_no_database(path)  # otherwise a wrong name would leave a lock behind
    try:
        lock = filelock.FileLock(_lock_file(path), mode=mode_of(path))
        lock.acquire(blocking=False)
    except filelock.Timeout:
        raise FileHeld(
            f"Another maintenance run holds {path}.", "Wait until it has ended, then try again."
        ) from None
    except OSError as error:
        raise StoreError(
            f"Cannot lock {path}: {error.strerror}.",
            "The folder of the memory file must be writable.",
        ) from error
    try:
        yield
    finally:
        lock.release()


def _lock_file(path: Path) -> Path:
    """Return the file to lock; what is made of it has the memory file's owner and mode."""
    place = sidecar_path(path, ".maintenance.lock")
    if place.is_symlink():
        # The lock would empty whatever the link leads to.
        raise StoreError(f"{place} is a symbolic link.", "Remove it: nobody needs it.")
    try:
        return create_beside(path, place.name)
    except FileExistsError:
        return place
