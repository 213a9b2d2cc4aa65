"""The time of the last run and the number of new memories, for the gates before a run."""

from __future__ import annotations

from collections.abc import Sequence

from .ageing import PHASE
from .file import MemoryFile
from .purge import OPTION
from .records import json_text

# Runs of 'maintain' have one of these options; reviews and ingests do not.
_OF_MAINTAIN = " OR ".join(
    f"json_extract(options, '$.{name}') IS NOT NULL" for name in ("only", OPTION, PHASE)
)

_IS_INGEST = "(json_extract(options, '$.ingest') IS NOT NULL)"


def last_run(file: MemoryFile, tenants: Sequence[str]) -> str | None:
    """Return the start time of the last run of 'maintain' for the tenants; None without one.

    Failed and interrupted runs do not count, nor do runs for only some of the tenants.
    """
    found = file.value(
        "SELECT max(started_at) FROM runs WHERE outcome IN ('done', 'partial', 'undone') "
        f"AND ({_OF_MAINTAIN}) AND (coalesce(json_array_length(options, '$.tenant'), 0) = 0 "
        "OR NOT EXISTS (SELECT 1 FROM json_each(?) WHERE value NOT IN "
        "(SELECT value FROM json_each(options, '$.tenant'))))",
        [json_text(tenants)],
    )
    return None if found is None else str(found)


def count_new(file: MemoryFile, tenants: Sequence[str]) -> int:
    """Return how many active memories of the tenants no consolidation run has read yet.

    A run records each text that it reads. An ingest also records the texts that it stores: these
    are new until a later consolidation run has written something, or found nothing to do.
    """
    night = file.value(
        "SELECT max(id) FROM runs WHERE json_extract(options, '$.only') IS NOT NULL "
        f"AND NOT {_IS_INGEST}"
    )
    return int(
        file.value(
            "SELECT count(*) FROM memories m LEFT JOIN entity_scans s ON s.memory_id = m.id "
            "WHERE status = 'active' AND generation = 0 AND origin <> 'consolidation' "
            "AND m.tenant IN (SELECT value FROM json_each(?)) AND (s.run_id IS NULL "
            f"OR s.run_id > ? AND s.run_id IN (SELECT id FROM runs WHERE {_IS_INGEST}) "
            "AND NOT EXISTS (SELECT 1 FROM standing JOIN changes c USING (tenant) "
            "WHERE tenant = m.tenant AND standing.changes = c.count))",
            [json_text(tenants), night or ""],
        )
    )
