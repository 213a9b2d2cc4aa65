"""Whether the largest tenant of a file fits into memory."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path

from slowwave.store.errors import StoreError
from slowwave.store.file import open_any_version
from slowwave.store.memories import count_clustered

# Bytes that a run needs, and those for each active or superseded memory of a tenant: nights on
# 10,000 and 100,000 took 1.0 and 2.0 GB (docs/performance.md), and texts that are more alike take
# more.
BYTES_OF_A_RUN = 1_000_000_000
BYTES_OF_A_MEMORY = 12_000
# Memories that fit wherever the model itself fits.
MEMORIES_WITH_ROOM = 20_000
_MEMINFO = Path("/proc/meminfo")
# What a container may use and does, and the part of that which is only a cache of files; version 2
# of control groups, then version 1.
_GROUPS = (
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current", "inactive_file"),
    (
        Path("/sys/fs/cgroup/memory"),
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)
# Bytes; the tenants of a smaller file always fit, so it is not opened.
_SMALL_FILE = 20_000_000


def refuse_without_room(
    path: Path, chosen: Sequence[str] = (), idle: Container[str] = (), workers: int = 1
) -> None:
    """Refuse a file of which one tenant would not fit into memory. Raises `StoreError`.

    chosen: the tenants of the run, all if empty. idle: those that are not read. workers: how many
    share this machine.
    """
    try:
        if path.stat().st_size < _SMALL_FILE:
            return
        with open_any_version(path) as file:
            counts = count_clustered(file)
    except (OSError, StoreError):
        return  # the run reports what is wrong with it
    read = [tenant for tenant in counts if tenant in (chosen or counts) and tenant not in idle]
    largest = max(read, key=lambda tenant: counts[tenant], default="")
    free = free_memory()
    if largest and free is not None and counts[largest] > MEMORIES_WITH_ROOM:
        refuse_too_many(largest, counts[largest], free // workers)


def refuse_too_many(tenant: str, memories: int, room: int) -> None:
    """Refuse a tenant with too many memories. Raises `StoreError`.

    room: free memory in bytes.
    """
    need = BYTES_OF_A_RUN + memories * BYTES_OF_A_MEMORY
    if need > room:
        raise StoreError(
            f"The tenant '{tenant}' has {memories:,} active and superseded memories: a run "
            f"requires about {need / 10**9:.1f} GB, and {room / 10**9:.1f} GB are free.",
            "Split it into tenants (UPDATE memories SET tenant = ... WHERE session = ...), or "
            "provide more memory.",
        )


def free_memory() -> int | None:
    """Return the free memory in bytes, of the container if there is one; None if unknown."""
    found = [
        free
        for free in (_of_the_machine(), *(free_in_group(*group) for group in _GROUPS))
        if free is not None
    ]
    return min(found, default=None)


def _of_the_machine() -> int | None:
    try:
        lines = _MEMINFO.read_text().splitlines()
    except OSError:
        return None
    found = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    return next((int(size) * 1024 for size in found), None)


def free_in_group(folder: Path, limit_file: str, used_file: str, cached: str) -> int | None:
    """Return the free memory of a control group in bytes; None if it has no limit.

    limit_file, used_file: the names of its files. cached: the key in memory.stat of the part of the
    use that is freed when memory is needed.
    """
    try:
        limit, current = (int((folder / name).read_text()) for name in (limit_file, used_file))
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return max(0, limit - current + int(stat[cached]))
    except (OSError, ValueError, KeyError):
        return None  # no container, or one without a limit
