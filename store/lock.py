"""The lock that allows one maintenance run at a time; agents are not blocked."""

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

# `is_held` takes the lock for a moment.
_ACQUIRE_TIMEOUT_S = 0.05


@contextmanager
def maintenance_lock(path: Path) -> Iterator[None]:
    """Lock a file against other maintenance runs, but not against agents.

    The operating system releases the lock when the process ends. Raises `FileHeld` at once if
    another run has the lock.
    """
    import filelock

    refuse_non_database(path)  # do not leave a lock for a wrong path
    place = sidecar_path(path, ".maintenance.lock")
    try:
        _make_lock_file(path, place)
        lock = filelock.FileLock(place, mode=file_mode(path) | stat.S_IWUSR)
        lock.acquire(timeout=_ACQUIRE_TIMEOUT_S, poll_interval=_ACQUIRE_TIMEOUT_S / 5)
    except filelock.Timeout:
        raise FileHeld(
            f"Another maintenance run has locked {path}.",
            "Wait until it has ended, then try again.",
        ) from None
    except OSError as error:
        raise StoreError(
            f"Cannot lock {path}: {place} cannot be opened: {error.strerror}.",
            "Make the lock file writable for this user, or delete it while no run is active.",
        ) from error
    try:
        yield
    finally:
        lock.release()


def is_held(path: Path) -> bool:
    """Whether a maintenance run has locked a file, or this user may not tell; creates nothing."""
    place = sidecar_path(path, ".maintenance.lock")
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _make_lock_file(path: Path, place: Path) -> None:
    """Create the lock file, if missing, with the memory file's owner and mode.

    The owner can write it, even if the memory file is read-only for now.
    """
    if place.is_symlink():
        # Locking would truncate the target of the link.
        raise StoreError(f"{place} is a symbolic link.", "Remove it.")
    with suppress(FileExistsError):
        created = create_sidecar(path, place.name)
        with suppress(PermissionError):  # some file systems have no modes
            created.chmod(file_mode(created) | stat.S_IWUSR)
