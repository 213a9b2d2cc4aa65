"""Whether the tenants that a run reads fit into memory."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from slowwave.store.errors import StoreError
from slowwave.store.file import open_reading
from slowwave.store.memories import count_clustered

# Bytes that a run needs, and those for each active or superseded memory that it reads: nights on
# 10,000 and 100,000 took 0.5 and 1.2 GB (docs/performance.md), and texts that are more alike take
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
# Bytes; the tenants of a smaller file always fit.
_SMALL_FILE = 20_000_000


class NoRoom(StoreError):
    """What a run would read does not fit into memory."""


def refuse_without_room(
    path: Path, chosen: Sequence[str] = (), idle: Container[str] = (), workers: int = 1
) -> None:
    """Refuse a file if the tenants of a run would not fit into memory. Raises `NoRoom`.

    chosen: the tenants of the run, all if empty. idle: those that are not read. workers: how many
    share this machine.
    """
    if path.stat().st_size < _SMALL_FILE:
        return
    with open_reading(path) as file:
        counts = count_clustered(file)
    read = {
        tenant: count
        for tenant, count in counts.items()
        if tenant in (chosen or counts) and tenant not in idle
    }
    free = free_memory()
    if free is not None and sum(read.values()) > MEMORIES_WITH_ROOM:
        refuse_too_many(read, free // workers)


def refuse_too_many(counts: Mapping[str, int], room: int) -> None:
    """Refuse tenants with too many memories, which a run reads together. Raises `NoRoom`.

    counts: the memories of each, at least one tenant. room: free memory in bytes.
    """
    largest, total = max(counts, key=counts.__getitem__), sum(counts.values())
    if BYTES_OF_A_RUN + total * BYTES_OF_A_MEMORY <= room:
        return
    who, memories = f"{len(counts)} tenants have", total
    hint = "Process some of the tenants at a time (--tenant NAME)"
    if BYTES_OF_A_RUN + counts[largest] * BYTES_OF_A_MEMORY > room:
        who, memories = f"The tenant '{largest}' has", counts[largest]
        hint = "Split it into tenants (UPDATE memories SET tenant = ... WHERE session = ...)"
    need = BYTES_OF_A_RUN + memories * BYTES_OF_A_MEMORY
    raise NoRoom(
        f"{who} {memories:,} active and superseded memories: a run requires about "
        f"{need / 10**9:.1f} GB, and only {room / 10**9:.1f} GB is free.",
        f"{hint}, or provide more memory.",
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
