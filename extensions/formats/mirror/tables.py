"""The tables that make a memory file the mirror of another agent's file."""

from __future__ import annotations

from collections.abc import Sequence

from slowwave.store.erasing import Eraser
from slowwave.store.extension_points import ExtensionTables, has_table
from slowwave.store.file import MemoryFile
from slowwave.store.records import json_text

TABLE = "mirrored"
# Rows of `images` are either images of removed entries, or the entries of successors before they
# inherited marks.
INHERITS = "json_type(image, '$.standing') IS NOT NULL"
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


def erase(file: MemoryFile, ids: Sequence[str], eraser: Eraser) -> int:
    """Erase what images say of forgotten memories; a link names each image that a write erases.

    The caller's transaction deletes the images with the memories.
    """
    if not has_table(file.conn, TABLE):
        return 0
    conn, chosen = file.conn, [json_text(ids)]
    memories = "memory_id IN (SELECT value FROM json_each(?))"
    named = conn.execute(
        f"SELECT key FROM links WHERE {memories} UNION SELECT coalesce(image ->> '$.key', "
        f"image ->> '$.name') FROM images WHERE {memories} AND NOT ({INHERITS})",
        chosen * 2,
    ).fetchall()
    conn.execute(
        "INSERT OR REPLACE INTO links SELECT memory_id, json_object('key', image ->> '$.key', "
        "'archived', image ->> '$.archived', 'carried', image -> '$.carried') FROM images "
        f"WHERE {memories} AND NOT ({INHERITS}) "
        # Otherwise it was deleted, and nothing of it is left in the entry of its successor.
        "AND (image ->> '$.carried' IS NOT NULL "
        "OR image ->> '$.raw' IS NULL AND image ->> '$.content' IS NULL)",
        chosen,
    )
    # Neighbors are listed by keys, which are hashes of texts, or by lines that quote them.
    neighbors = [
        (f"$.{side}", key.split(" ")[0])
        for (key,) in named
        if key is not None  # Entries of a text are named by their memories once they left.
        for side in ("above", "below")
    ]
    conn.executemany(
        "UPDATE images SET image = json_set(image, ?1, (SELECT json_group_array(value) FROM "
        "json_each(image, ?1) WHERE NOT instr(value, ?2))) WHERE instr(image ->> ?1, ?2)",
        neighbors,
    )
    return eraser.update(file, "images", ["image"])


# Exports omit them: an imported file is not a mirror.
TABLES = ExtensionTables(SCRIPT, (), lambda _: iter(()), erase)
