"""Files next to a memory file: readable by its owner only, and put in place whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from .errors import StoreError
from .places import Address


def sidecar_path(path: Path, suffix: str) -> Path:
    """Return the name with this suffix next to the file, as SQLite does, not to its link."""
    real = path.resolve()
    return real.with_name(f"{real.name}{suffix}")


def file_mode(path: Path) -> int:
    """Return who may do what with a file, as chmod takes it.

    What is written about an address is only for its owner, like the mirror of another file.
    """
    if isinstance(path, Address):
        return 0o600
    return stat.S_IMODE(path.stat().st_mode) & 0o777


def file_size(path: Path) -> int:
    """Return the length of a file; none has no length."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def create_sidecar(path: Path, name: str) -> Path:
    """Create an empty file in the folder of `path`, which nobody may read who may not read `path`.

    It has the mode of `path`, and its owner and group where we may give them. Raises
    `FileExistsError` if something has the name, and `StoreError` if it cannot be created.
    """
    real = path.resolve()
    made = real.with_name(name)
    try:
        like = real.stat()
        # For nobody else until it has its owner; O_EXCL follows no link that somebody put there.
        opened = os.open(made, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    except FileExistsError:
        raise
    except OSError as error:
        raise StoreError(
            f"Cannot create {made}: {error.strerror}.",
            "The folder of the memory file must be writable, with room in it.",
        ) from error
    try:
        _copy_ownership(opened, like)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    finally:
        os.close(opened)
    return made


def remove_file(path: Path) -> None:
    """Delete a file that slowwave created, with what SQLite put next to it. Raises `StoreError`."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        try:
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"Cannot remove {path}{suffix}: {error.strerror}.", "Remove it by hand."
            ) from error


def link_into_place(made: Path, path: Path) -> None:
    """Give a file that is whole, synced and closed its name, which no other file may have.

    Raises `FileExistsError`; of two that put theirs in one place, one gets this error.
    """
    try:
        path.hardlink_to(made)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links, such as FAT: the name is taken by an empty file first,
        # which a kill in this very moment would leave behind.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        made.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that a rename or removal in it survives a loss of power."""
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        return  # one may write in it, but not open it: then there is no way to sync it
    try:
        os.fsync(opened)
    except OSError as error:
        # Some file systems cannot sync a folder; they say so in one of these ways.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(opened)


def _copy_ownership(opened: int, like: os.stat_result) -> None:
    mode = stat.S_IMODE(like.st_mode) & 0o777
    try:
        # Only root may give a file away; to one of their own groups anyone may.
        os.fchown(opened, like.st_uid if os.geteuid() == 0 else -1, like.st_gid)
    except PermissionError:
        # What the group of `path` may do must not become what ours may.
        mode &= ~stat.S_IRWXG
    # A file system such as FAT knows one mode for all its files, and refuses another.
    with suppress(PermissionError):
        os.fchmod(opened, mode)
