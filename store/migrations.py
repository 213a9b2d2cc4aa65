"""The migrations of a memory file, from an empty file on.

A released migration is never edited, including its comments: files contain the text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from .extension_points import complete_tables, run_script, statements_of
from .schema import VERSION_1, VERSION_3, VERSION_4, VERSION_5, VERSION_8

# "slww" in ASCII: `PRAGMA application_id` tells our files from other SQLite files.
APPLICATION_ID = 0x736C7777

# The tables with a closed list of operations; no foreign key refers to them.
_WITH_OPERATIONS = ("synthesized_from", "derivations", "proposals")
_THREE, _FOUR, _FIVE = (
    f"CHECK (operation IN ('merge', 'synthesize', 'extract'{more}))"
    for more in ("", ", 'update'", ", 'update', 'ingest'")
)


def _allow_operations(conn: sqlite3.Connection, tables: Sequence[str], operations: str) -> None:
    """Recreate tables with another CHECK of the operation, which SQLite cannot change.

    Each is filled from the old one, and gets its indexes and triggers, including an agent's.
    """
    # Otherwise the rename would also change the triggers and views that refer to the table.
    conn.execute("PRAGMA legacy_alter_table = ON")
    try:
        for table in tables:
            parts = conn.execute(
                "SELECT sql FROM sqlite_schema "
                "WHERE tbl_name = ? AND type <> 'table' AND sql IS NOT NULL",
                [table],
            ).fetchall()
            head = f"CREATE TABLE {table} ("
            created = next(sql for sql in statements_of(VERSION_1) if head in sql)
            conn.execute(f"ALTER TABLE {table} RENAME TO {table}_before")
            conn.execute(created.replace(_THREE, operations))
            conn.execute(f"INSERT INTO {table} SELECT * FROM {table}_before")
            conn.execute(f"DROP TABLE {table}_before")
            for (sql,) in parts:
                conn.execute(sql)
    finally:
        conn.execute("PRAGMA legacy_alter_table = OFF")


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


def _counting() -> Iterator[str]:
    for table, (tenants, columns) in _COUNTED.items():
        for event, rows in (("INSERT", ["new"]), ("UPDATE", ["old", "new"]), ("DELETE", ["old"])):
            of = f" OF {columns}" if columns and event == "UPDATE" else ""
            counts = " ".join(_COUNT.format(tenants=tenants.format(row=row)) for row in rows)
            yield (
                f"CREATE TRIGGER {table}_{event.lower()}_counted AFTER {event}{of} ON {table} "
                f"BEGIN {counts} END"
            )
    # INSERT OR REPLACE does not fire DELETE triggers for the rows that it replaces.
    replaced = _COUNT.format(tenants="SELECT tenant FROM memories WHERE id = new.id")
    for event, when in (("INSERT", ""), ("UPDATE OF id", "WHEN new.id IS NOT old.id ")):
        yield (
            f"CREATE TRIGGER memories_{event[:6].lower()}_replaced BEFORE {event} ON memories "
            f"{when}BEGIN {replaced} END"
        )


_VERSION_7 = """
CREATE TABLE read_messages (
    -- A row per message of a conversation that an ingest has read, so that none is read twice.
    tenant TEXT NOT NULL,
    -- A hash of what was said in the conversation up to and with this message.
    chain  TEXT NOT NULL,
    run_id TEXT NOT NULL,
    PRIMARY KEY (tenant, chain)
) STRICT, WITHOUT ROWID;

CREATE TABLE memory_messages (
    -- A row per message that a memory was taken from. It outlives the memory where lineage does.
    memory_id    TEXT NOT NULL,
    -- The message's own hash, as in `read_messages`.
    chain        TEXT NOT NULL,
    conversation TEXT NOT NULL,
    -- Which message of the conversation, from 1 on.
    place        INTEGER NOT NULL,
    role         TEXT NOT NULL,
    speaker      TEXT,
    said_at      TEXT,
    content      TEXT NOT NULL,
    -- The words of it that the memory rests on.
    quotes       TEXT NOT NULL CHECK (json_valid(quotes) AND json_type(quotes) = 'array'),
    -- Who read it: the model's name; NULL without one.
    model        TEXT,
    run_id       TEXT NOT NULL,
    PRIMARY KEY (memory_id, chain)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER memory_messages_leave AFTER DELETE ON memories
BEGIN
    DELETE FROM memory_messages WHERE memory_id = old.id
    AND NOT EXISTS (SELECT 1 FROM synthesized_from WHERE source_id = old.id);
END;

CREATE TABLE waiting_messages (
    -- A row per part of a conversation that a model was to read and could not.
    id           TEXT PRIMARY KEY NOT NULL,
    tenant       TEXT NOT NULL,
    conversation TEXT NOT NULL,
    -- The messages with what is needed to read them later.
    content      TEXT NOT NULL CHECK (json_valid(content) AND json_type(content) = 'object'),
    why          TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('waiting', 'read')),
    queued_at    TEXT NOT NULL,
    run_id       TEXT NOT NULL
) STRICT;
"""


def _count_changes(conn: sqlite3.Connection) -> None:
    run_script(conn, VERSION_3)
    for statement in _counting():
        conn.execute(statement)


def _keep_messages(conn: sqlite3.Connection) -> None:
    run_script(conn, _VERSION_7)
    _allow_operations(conn, ("proposals",), _FIVE)


def _nothing(conn: sqlite3.Connection) -> None:
    """Change nothing: extensions create their tables when they first write."""


# By name, oldest first.
STEPS: Mapping[str, Callable[[sqlite3.Connection], None]] = {
    "version_1": partial(run_script, script=VERSION_1),
    "version_2": partial(_allow_operations, tables=_WITH_OPERATIONS, operations=_FOUR),
    "version_3": _count_changes,
    "version_4": partial(run_script, script=VERSION_4),
    "version_5": partial(run_script, script=VERSION_5),
    "version_6": _nothing,
    "version_7": _keep_messages,
    "version_8": partial(run_script, script=VERSION_8),
    "version_9": _nothing,
    "version_10": _nothing,
    # A file of version 9 lacks parts of an extension that version 10 had.
    "version_11": complete_tables,
}
