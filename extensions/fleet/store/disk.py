"""Memory files on a disk: their versions, and the kind of file system that they are on."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from slowwave.store.errors import StoreError
from slowwave.store.opening import first_bytes
from slowwave.store.sidecar import sidecar_path

# Linux' names of file systems that other hosts write to, too. SQLite's log needs memory that all
# processes which use the file share; hosts share none (https://www.sqlite.org/wal.html).
_OF_A_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|ncpfs|9p|afs|coda|ceph|lustre|gpfs|ocfs2|gfs2?|beegfs|pvfs2|orangefs"
    r"|glusterfs|virtiofs|fuse\..*|fuse"
)
# File systems in user space whose content is on the same machine.
_OF_THIS_MACHINE = re.compile(r"fuse\.(?:fuse-overlayfs|ntfs(?:-3g)?|exfat|gocryptfs|encfs)")
_MOUNTS = Path("/proc/self/mounts")
# The byte of SQLite's file format that tells how the file is written, and its value for a log.
_WRITE_VERSION, _LOG = 18, 2


def version_of(path: Path) -> str:
    """Return a value that changes whenever a memory file or its log does. Raises OSError."""
    status = path.stat()
    parts = [status.st_ino, status.st_size, status.st_mtime_ns]
    try:
        log = sidecar_path(path, "-wal").stat()
    except FileNotFoundError:
        log = None
    if log is not None and log.st_size:
        parts += [log.st_size, log.st_mtime_ns]
    return "-".join(f"{part:x}" for part in parts)


def refuse_shared_log(path: Path) -> None:
    """Refuse a file with a write-ahead log on a network file system. Raises `StoreError`.

    Works on Linux only: other systems do not list their mounts.
    """
    system = file_system_of(path.resolve(), _read_mounts())
    if system is None or not is_of_a_network(system):
        return
    try:
        header = first_bytes(path, _WRITE_VERSION + 1)
    except OSError:
        return  # opening it reports the error
    if header[_WRITE_VERSION:] == bytes([_LOG]):
        raise StoreError(
            f"{path} is in WAL mode on a network file system ({system}): two hosts that use it at "
            "the same time would damage it.",
            "Run slowwave on the host of the disk, or store the files in a bucket.",
        )


def file_system_of(path: Path, mounts: str) -> str | None:
    """Return the kind of file system that a path is on, by the lines of /proc/self/mounts.

    See https://man7.org/linux/man-pages/man5/proc_pid_mounts.5.html.
    """
    kinds = _kinds(mounts)
    folders = map(str, (path, *path.parents))
    return next((kinds[folder] for folder in folders if folder in kinds), None)


@lru_cache(maxsize=1)  # needed for each file, and rarely different
def _kinds(mounts: str) -> dict[str, str]:
    """Return the kind of file system that is mounted on each folder."""
    kinds = {}
    for line in mounts.splitlines():
        _, escaped, kind, *_ = line.split(" ")
        folder = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), escaped)
        kinds[folder] = kind  # a later mount hides an earlier one at the same place
    return kinds


def is_of_a_network(system: str) -> bool:
    """Whether other hosts may write to a file system of this kind."""
    return bool(_OF_A_NETWORK.fullmatch(system)) and not _OF_THIS_MACHINE.fullmatch(system)


def _read_mounts() -> str:
    try:
        return _MOUNTS.read_text("utf-8", errors="surrogateescape")
    except OSError:
        return ""
