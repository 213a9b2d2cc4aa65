"""The migrations of a memory file, from an empty file on.

A released migration is never edited, including its comments: files contain the text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping

from .extension_points import complete_tables, run_script
from .schema import SCHEMA

# "slww" in ASCII: `PRAGMA application_id` tells our files from other SQLite files.
APPLICATION_ID = 0x736C7777
# The schema version that the first migration makes; earlier versions were never released.
OLDEST_VERSION = 10

# The columns of a memory that plans read.
_PLANNED = (
    "id, tenant, content, kind, layer, status, origin, trust, importance, pinned, generation, "
    "session, content_hash, observed_at, expires_at, superseded_by"
)
_COUNT = (
    # Without WHERE, SQLite would parse ON CONFLICT as a join condition.
    "INSERT INTO changes SELECT tenant, 1 FROM ({tenants}) WHERE true "
    "ON CONFLICT (tenant) DO UPDATE SET count = count + 1;"
)
# By table: the tenants of a changed row, and the columns that count.
_COUNTED = {
    "memories": ("SELECT {row}.tenant AS tenant", _PLANNED),
    "embeddings": ("SELECT tenant FROM memories WHERE id = {row}.memory_id", ""),
    "memory_entities": ("SELECT tenant FROM memories WHERE id = {row}.memory_id", ""),
    # Memories that mention it may have been moved to another tenant.
    "entities": (
        "SELECT {row}.tenant AS tenant UNION SELECT m.tenant FROM memory_entities "
        "JOIN memories m ON m.id = memory_id WHERE entity_id = {row}.id",
        "",
    ),
    "synthesized_from": (
        "SELECT tenant FROM memories WHERE id IN ({row}.derived_id, {row}.source_id)",
        "",
    ),
    "proposals": ("SELECT {row}.tenant AS tenant", ""),
}


def _counting_triggers() -> Iterator[str]:
    """Yield the statements of the triggers that count the changes of each tenant."""
    for table, (tenants, columns) in _COUNTED.items():
        for event, rows in (("INSERT", ["new"]), ("UPDATE", ["old", "new"]), ("DELETE", ["old"])):
            only = f" OF {columns}" if columns and event == "UPDATE" else ""
            counts = " ".join(_COUNT.format(tenants=tenants.format(row=row)) for row in rows)
            yield (
                f"CREATE TRIGGER {table}_{event.lower()}_counted AFTER {event}{only} ON {table} "
                f"BEGIN {counts} END"
            )
    # INSERT OR REPLACE does not fire DELETE triggers for the rows that it replaces.
    replaced = _COUNT.format(tenants="SELECT tenant FROM memories WHERE id = new.id")
    for event, when in (("INSERT", ""), ("UPDATE OF id", "WHEN new.id IS NOT old.id ")):
        yield (
            f"CREATE TRIGGER memories_{event[:6].lower()}_replaced BEFORE {event} ON memories "
            f"{when}BEGIN {replaced} END"
        )


def _create_schema(conn: sqlite3.Connection) -> None:
    run_script(conn, SCHEMA)
    for statement in _counting_triggers():
        conn.execute(statement)


# An agent's new text of a superseded memory is not in its successor: the memory is active again.
_REWRITTEN = """
DROP TRIGGER memories_content_changed;
CREATE TRIGGER memories_content_changed AFTER UPDATE OF content ON memories
WHEN new.content IS NOT old.content AND new.content_hash IS old.content_hash
BEGIN
    UPDATE memories SET content_hash = NULL WHERE id = new.id;
    -- A derived memory keeps one edge to its old texts, and a rule all: an audit names it.
    DELETE FROM synthesized_from WHERE source_id = new.id AND old.status = 'superseded'
    AND (SELECT status FROM memories WHERE id = new.id) = 'superseded'
    AND (operation = 'merge' OR operation <> 'extract' AND EXISTS (SELECT 1 FROM synthesized_from
        AS more WHERE more.derived_id = synthesized_from.derived_id AND more.source_id <> new.id));
    UPDATE memories SET status = 'active', superseded_by = NULL, superseded_at = NULL
    WHERE id = new.id AND old.status = 'superseded' AND status = 'superseded';
END;
"""


def _replace_trigger(conn: sqlite3.Connection) -> None:
    run_script(conn, _REWRITTEN)


# Names that runs found in texts are computed again; only those supplied with a memory are stored.
_WITHOUT_FOUND_NAMES = """
DELETE FROM journal WHERE table_name IN ('memory_entities', 'entity_scans');
DELETE FROM memory_entities WHERE run_id IS NOT NULL;
DELETE FROM entities WHERE run_id IS NOT NULL
AND id NOT IN (SELECT entity_id FROM memory_entities);
DROP TABLE entity_scans;
DROP TRIGGER memories_leave;
-- Lineage keeps the text of a deleted memory. The rest repeats the foreign keys, for agents whose
-- connection does not enforce them.
CREATE TRIGGER memories_leave AFTER DELETE ON memories
BEGIN
    UPDATE synthesized_from SET source_content = old.content
    WHERE source_id = old.id AND source_content IS NULL;
    UPDATE memories SET superseded_by = NULL WHERE superseded_by = old.id;
    DELETE FROM embeddings WHERE memory_id = old.id;
    DELETE FROM memory_entities WHERE memory_id = old.id;
END;
"""


def _drop_found_names(conn: sqlite3.Connection) -> None:
    run_script(conn, _WITHOUT_FOUND_NAMES)


# By name, oldest first.
STEPS: Mapping[str, Callable[[sqlite3.Connection], None]] = {
    f"version_{OLDEST_VERSION}": _create_schema,
    # Some files of version 10 lack parts of an extension that others have.
    "version_11": complete_tables,
    "version_12": _replace_trigger,
    "version_13": _drop_found_names,
}
