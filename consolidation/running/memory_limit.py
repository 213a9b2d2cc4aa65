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
# The control group of a container.
_GROUP = Path("/sys/fs/cgroup")


class NoRoom(StoreError):
    """What a run would read does not fit into memory."""


def refuse_without_room(
    path: Path, tenants: Sequence[str], idle: Container[str], workers: int
) -> None:
    """Refuse a file if the tenants of a run would not fit into memory. Raises `NoRoom`.

    tenants: those of the run, all if empty. idle: those that are not read. workers: how many share
    this machine.
    """
    with open_reading(path) as file:
        counts = count_clustered(file)
    counts = {
        tenant: count
        for tenant, count in counts.items()
        if tenant in (tenants or counts) and tenant not in idle
    }
    free = free_memory()
    if free is not None and sum(counts.values()) > MEMORIES_WITH_ROOM:
        refuse_too_many(counts, free // workers)


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
    limits = (_free_in_machine(), free_in_group(_GROUP))
    return min((free for free in limits if free is not None), default=None)


def _free_in_machine() -> int | None:
    try:
        lines = _MEMINFO.read_text().splitlines()
    except OSError:
        return None
    sizes = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    return next((int(size) * 1024 for size in sizes), None)


def free_in_group(folder: Path) -> int | None:
    """Return the free memory of a control group (version 2) in bytes; None if it has no limit."""
    try:
        limit, used = (int((folder / f"memory.{name}").read_text()) for name in ("max", "current"))
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        # The cache of files is freed when memory is needed.
        return max(0, limit - used + int(stat["inactive_file"]))
    except (OSError, ValueError, KeyError):
        return None  # no container, or one without a limit
