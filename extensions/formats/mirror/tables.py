"""The tables that make a memory file the mirror of another agent's file."""

from __future__ import annotations

from slowwave.store.extension_points import ExtensionTables

TABLE = "mirrored"
SCRIPT = """
CREATE TABLE IF NOT EXISTS mirrored (
    -- A row per mirror, only in one of another agent's file: of which format that is.
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    format TEXT NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS links (
    -- A row per memory that stands in the other file, and what names it there. It outlives the
    -- memory, which an undo may delete, until the entry has left the other file.
    memory_id TEXT PRIMARY KEY NOT NULL,
    key       TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS links_by_key ON links (key);

CREATE TABLE IF NOT EXISTS images (
    -- A row per memory that left the other file: how it stood there, so that it can come back.
    memory_id TEXT PRIMARY KEY NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    image     TEXT NOT NULL CHECK (json_valid(image))
) STRICT, WITHOUT ROWID;
"""
# Exports omit them: an imported file is not a mirror.
TABLES = ExtensionTables(SCRIPT, {}, lambda _: iter(()))
