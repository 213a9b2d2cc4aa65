"""One maintenance run at a time, whatever agents do meanwhile."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import FileHeld, StoreError
from .sidecar import create_sidecar, file_mode, sidecar_path
from .validate import refuse_non_database

# Who looks whether it is held has the lock for a moment.
_LOOKED_AT_S = 0.05


@contextmanager
def maintenance_lock(path: Path) -> Iterator[None]:
    """Hold the file against other maintenance runs, not against agents.

    The operating system lets go of the lock when its process ends, however it ends. Raises
    `FileHeld` at once when another run has it.
    """
    import filelock

    refuse_non_database(path)  # otherwise a wrong name would leave a lock behind
    place = sidecar_path(path, ".maintenance.lock")
    try:
        _make_lock_file(path, place)
        lock = filelock.FileLock(place, mode=file_mode(path) | stat.S_IWUSR)
        lock.acquire(timeout=_LOOKED_AT_S, poll_interval=_LOOKED_AT_S / 5)
    except filelock.Timeout:
        raise FileHeld(
            f"Another maintenance run holds {path}.", "Wait until it has ended, then try again."
        ) from None
    except OSError as error:
        raise StoreError(
            f"Cannot lock {path}: {place} cannot be opened: {error.strerror}.",
            "It must be writable for you: change its owner or its mode, or remove it while nothing "
            "runs.",
        ) from error
    try:
        yield
    finally:
        lock.release()


def is_held(path: Path) -> bool:
    """Whether a maintenance run holds the file now, as far as this user may look; makes nothing."""
    place = sidecar_path(path, ".maintenance.lock")
    try:
        opened = os.open(place, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(opened)
    return False


def _make_lock_file(path: Path, place: Path) -> None:
    """Make the file to lock if there is none; it has the memory file's owner and mode.

    Its owner may write it whatever that mode is: it must open once the memory file is writable, and
    says nothing.
    """
    if place.is_symlink():
        # The lock would empty whatever the link leads to.
        raise StoreError(f"{place} is a symbolic link.", "Remove it: nobody needs it.")
    with suppress(FileExistsError):
        create_sidecar(path, place.name)
    mode = file_mode(place)
    if not mode & stat.S_IWUSR:
        # Whose it is not may not change it, nor can they lock it: that is said then.
        with suppress(PermissionError):
            _set_mode(place, mode | stat.S_IWUSR)


def _set_mode(place: Path, mode: int) -> None:
    # What came to lie there since is followed nowhere.
    opened = os.open(place, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fchmod(opened, mode)
    finally:
        os.close(opened)
