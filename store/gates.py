"""When the last run was, and how much is new since: for the gates before a run."""

from __future__ import annotations

from collections.abc import Sequence

from .ageing import PHASE
from .file import MemoryFile
from .purge import OPTION
from .records import json_text

# Runs of 'maintain': a night's record has what it was to do, the others say what they were. What a
# person decides one by one, and what an ingester writes, is none.
_OF_MAINTAIN = " OR ".join(
    f"json_extract(options, '$.{name}') IS NOT NULL" for name in ("only", OPTION, PHASE)
)


def last_run(file: MemoryFile) -> str | None:
    """Return when the last run of 'maintain' that changed something began; None without one.

    One that failed, or was broken off, is not counted: the next is to do its work.
    """
    found = file.value(
        "SELECT max(started_at) FROM runs WHERE outcome IN ('done', 'partial', 'undone') "
        f"AND ({_OF_MAINTAIN})"
    )
    return None if found is None else str(found)


def count_new(file: MemoryFile, tenants: Sequence[str]) -> int:
    """Return how many active memories of the tenants no night has read yet."""
    return int(
        file.value(
            "SELECT count(*) FROM memories m WHERE status = 'active' AND generation = 0 "
            "AND origin <> 'consolidation' AND tenant IN (SELECT value FROM json_each(?)) "
            "AND NOT EXISTS (SELECT 1 FROM entity_scans WHERE memory_id = m.id)",
            [json_text(tenants)],
        )
    )
