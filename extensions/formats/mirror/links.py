"""Which memory of a mirror is which entry of the other file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from slowwave.extensions.formats.base import Image
from slowwave.store.extension_points import has_table, run_script
from slowwave.store.file import MemoryFile

from .tables import SCRIPT, TABLE


def format_of(file: MemoryFile) -> str | None:
    """Return the name of the format that a mirror mirrors; None for a file that is none."""
    if not has_table(file.db, TABLE):
        return None
    name = file.value("SELECT format FROM mirrored")
    return None if name is None else str(name)


def keep_format(file: MemoryFile, name: str) -> None:
    """Make a new file a mirror, within the transaction of the caller."""
    run_script(file.db, SCRIPT)
    file.db.conn.execute("INSERT INTO mirrored (id, format) VALUES (1, ?)", [name])


def read_links(file: MemoryFile) -> dict[str, str]:
    """Return the keys of the entries by their memories."""
    return dict(file.db.conn.execute("SELECT memory_id, key FROM links ORDER BY 1").fetchall())


def link(file: MemoryFile, keys: Mapping[str, str]) -> None:
    """Say which entries memories are, within the transaction of the caller."""
    file.db.conn.executemany("INSERT OR REPLACE INTO links VALUES (?, ?)", keys.items())


def unlink(file: MemoryFile, memories: Iterable[str]) -> None:
    """Say that memories are no entries any more, within the transaction of the caller."""
    file.db.conn.executemany("DELETE FROM links WHERE memory_id = ?", [(one,) for one in memories])


def rename(file: MemoryFile, keys: Mapping[str, str]) -> None:
    """Give entries their new keys, old ones first, within the transaction of the caller."""
    renamed = {one: keys[key] for one, key in read_links(file).items() if key in keys}
    link(file, renamed)


def keep_images(file: MemoryFile, images: Mapping[str, Image]) -> None:
    """Keep how entries stood that leave, within the transaction of the caller.

    Not of memories that an undo deleted, since they do not come back; and the first image counts:
    a killed run may have taken a part of the entry away.
    """
    own_marks = read_own_marks(file)
    kept = {
        memory: image | ({"own": own_marks[memory]} if memory in own_marks else {})
        for memory, image in images.items()
    }
    _write(file, kept, "WHERE json_type(image, '$.standing') IS NOT NULL")


def keep_own_marks(file: MemoryFile, own: Mapping[str, Image | None]) -> None:
    """Keep how entries stood before they took marks over, within the caller's transaction."""
    rows = {memory: {"standing": one} for memory, one in own.items() if one is not None}
    _write(file, rows, "")


def drop_own_marks(file: MemoryFile, own: Mapping[str, Image | None]) -> None:
    """Forget it of those that gave everything back, within the caller's transaction."""
    drop_images(file, read_own_marks(file).keys() & {one for one, had in own.items() if not had})


def _write(file: MemoryFile, images: Mapping[str, Image], where: str) -> None:
    file.db.conn.executemany(
        "INSERT INTO images SELECT id, ? FROM memories WHERE id = ? "
        f"ON CONFLICT (memory_id) DO UPDATE SET image = excluded.image {where}",
        [(json.dumps(image), memory) for memory, image in images.items()],
    )


def drop_images(file: MemoryFile, memories: Iterable[str]) -> None:
    """Forget how entries stood that are back, within the transaction of the caller."""
    file.db.conn.executemany("DELETE FROM images WHERE memory_id = ?", [(m,) for m in memories])


def read_images(file: MemoryFile) -> dict[str, Image]:
    """Return how memories stood in the other file when they left it."""
    rows = file.db.conn.execute(
        "SELECT memory_id, image FROM images WHERE json_type(image, '$.standing') IS NULL"
    )
    return {memory: json.loads(image) for memory, image in rows.fetchall()}


def read_own_marks(file: MemoryFile) -> dict[str, Image]:
    """Return how memories stood that took marks over, before they did."""
    rows = file.db.conn.execute(
        "SELECT memory_id, image -> '$.standing' FROM images "
        "WHERE json_type(image, '$.standing') IS NOT NULL"
    )
    return {memory: json.loads(image) for memory, image in rows.fetchall()}
