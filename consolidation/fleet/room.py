"""Whether there is room in memory for the largest tenant of a file."""

from __future__ import annotations

from pathlib import Path

from slowwave.store.errors import StoreError
from slowwave.store.file import open_any_version
from slowwave.store.memories import largest_tenant

# What a night takes for each active memory of a tenant, beside what it takes anyway: of 100,000 it
# took 2.4 GB before sentences were compared by word vectors, and of 10,000 a third more since then
# (docs/performance.md).
BYTES_OF_A_MEMORY = 28_000
# For so many there is room wherever the model itself has it.
MEMORIES_WITH_ROOM = 20_000
_MEMINFO = Path("/proc/meminfo")
# Of a container: what it may use, and does; version 2 of control groups, then version 1.
_LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)
# A file that small holds no tenant for which there is no room: it is not looked into.
_SMALL_FILE = 20_000_000


def refuse_what_has_no_room(path: Path, workers: int) -> None:
    """Refuse a file of which one tenant would not fit into memory. Raises `StoreError`.

    workers: how many share this machine.
    """
    try:
        if path.stat().st_size < _SMALL_FILE:
            return
        with open_any_version(path) as file:
            tenant, memories = largest_tenant(file)
    except (OSError, StoreError):
        return  # the night says what is wrong with it
    free = free_memory()
    if free is None or memories <= MEMORIES_WITH_ROOM:
        return
    refuse_too_many(tenant, memories, free // workers)


def refuse_too_many(tenant: str, memories: int, room: int) -> None:
    """Refuse a tenant of so many memories where there is so much room, in bytes.

    Raises `StoreError`.
    """
    need = memories * BYTES_OF_A_MEMORY
    if need > room:
        raise StoreError(
            f"The tenant '{tenant}' has {memories:,} active memories: its night takes some "
            f"{need / 1e9:.1f} GB, and {room / 1e9:.1f} are free for it.",
            "Split it into tenants by user, session or subject, or give it more memory.",
        )


def free_memory() -> int | None:
    """Return how many bytes of memory are free, in the container if there is one.

    None where nobody says.
    """
    found = [one for one in (_of_the_machine(), *map(_of_a_group, _LIMITS)) if one is not None]
    return min(found, default=None)


def _of_the_machine() -> int | None:
    try:
        lines = _MEMINFO.read_text().splitlines()
    except OSError:
        return None
    found = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    return next((int(one) * 1024 for one in found), None)


def _of_a_group(paths: tuple[Path, Path]) -> int | None:
    try:
        most, used = (int(one.read_text()) for one in paths)
    except (OSError, ValueError):
        return None  # no container, or one without a limit
    return max(0, most - used)
