"""Read the memories with traces of tasks."""

from __future__ import annotations

from slowwave.store.file import MemoryFile
from slowwave.store.memories import NO_RAW_EXPERIENCE, SELECT
from slowwave.store.records import Memory, from_values


def read_traces(file: MemoryFile, tenant: str) -> list[Memory]:
    """Return the memories of a tenant with traces of tasks, ordered by id."""
    rows = file.tuples(
        f"{SELECT} WHERE tenant = ? AND NOT ({NO_RAW_EXPERIENCE}) ORDER BY id", [tenant]
    )
    return list(map(from_values, rows))
