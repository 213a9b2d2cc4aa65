"""Files next to a memory file, with its permissions and created atomically."""

from __future__ import annotations

import errno
import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import StoreError
from .places import Address


def sidecar_path(path: Path, suffix: str) -> Path:
    """Return the path with this suffix next to the file itself, not to a link to it."""
    real = path.resolve()
    return real.with_name(f"{real.name}{suffix}")


def file_mode(path: Path) -> int:
    """Return the mode of a file, as chmod takes it; files about an address are for their owner."""
    if isinstance(path, Address):
        return 0o600
    return stat.S_IMODE(path.stat().st_mode) & 0o777


def file_size(path: Path) -> int:
    """Return the size of a file in bytes, or 0 if it does not exist."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def create_sidecar(path: Path, name: str) -> Path:
    """Create an empty file in the folder of `path`, with the permissions of `path`.

    It gets the mode of `path`, and its owner and group where permitted. Raises `FileExistsError`,
    and `StoreError` if it cannot be created.
    """
    real = path.resolve()
    sidecar = real.with_name(name)
    try:
        like = real.stat()
        # Private until it has its owner; O_EXCL does not follow links.
        descriptor = os.open(sidecar, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    except FileExistsError:
        raise
    except OSError as error:
        raise StoreError(
            f"Cannot create {sidecar}: {error.strerror}.",
            "The folder must be writable, and the disk must have space.",
        ) from error
    try:
        _copy_ownership(descriptor, like)
    except BaseException:
        sidecar.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    return sidecar


def remove_file(path: Path) -> None:
    """Delete a file that slowwave created, with SQLite's files next to it. Raises `StoreError`."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        try:
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"Cannot remove {path}{suffix}: {error.strerror}.",
                f"Check the permissions of its folder, then: rm {shlex.quote(f'{path}{suffix}')}",
            ) from error


@contextmanager
def drafted(path: Path, text: str, mode: int) -> Iterator[Path]:
    """Provide a synced file next to `path` with a text, and remove it unless it was renamed."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        # Private from the start; O_EXCL follows no link that another user put there.
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text.encode())
            stream.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        yield draft
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def link_into_place(draft: Path, path: Path) -> None:
    """Rename a complete, synced and closed file to a path that must be free.

    Raises `FileExistsError`, also if another process creates the path at the same time.
    """
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links, such as FAT: reserve the name with an empty file, which
        # a kill at this moment would leave behind.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        draft.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that a rename or removal in it survives a power failure."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        return  # a folder that may be written but not read cannot be synced
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems cannot sync a folder, and report one of these.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def _copy_ownership(descriptor: int, like: os.stat_result) -> None:
    mode = stat.S_IMODE(like.st_mode) & 0o777
    try:
        # Only root can change the owner; owners can set one of their own groups.
        os.fchown(descriptor, like.st_uid if os.geteuid() == 0 else -1, like.st_gid)
    except PermissionError:
        # Do not grant the permissions of the group of `path` to another group.
        mode &= ~stat.S_IRWXG
    # Some file systems, such as FAT, have the same mode for all files.
    with suppress(PermissionError):
        os.fchmod(descriptor, mode)
