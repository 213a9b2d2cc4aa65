"""Which memory of a mirror is which entry of the other file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from slowwave.extensions.formats.base import Image
from slowwave.store.extension_points import has_table, run_script
from slowwave.store.file import MemoryFile

from .tables import INHERITS, SCRIPT, TABLE


def format_of(file: MemoryFile) -> str | None:
    """Return the format that a mirror mirrors; None for a file that is not a mirror."""
    if not has_table(file.conn, TABLE):
        return None
    name = file.value("SELECT format FROM mirrored")
    return None if name is None else str(name)


def keep_format(file: MemoryFile, name: str) -> None:
    """Make a new file a mirror, in the caller's transaction."""
    run_script(file.conn, SCRIPT)
    file.conn.execute("INSERT INTO mirrored (id, format) VALUES (1, ?)", [name])


def read_links(file: MemoryFile) -> dict[str, str]:
    """Return the keys of the entries, by memory."""
    return {memory: key for memory, key in _links(file).items() if not key.startswith("{")}


def read_hidden(file: MemoryFile) -> dict[str, Image]:
    """Return the images of forgotten memories whose entries are hidden, not deleted, by memory."""
    links = _links(file).items()
    return {memory: json.loads(image) for memory, image in links if image.startswith("{")}


def _links(file: MemoryFile) -> dict[str, str]:
    return dict(file.conn.execute("SELECT memory_id, key FROM links ORDER BY 1").fetchall())


def link(file: MemoryFile, keys: Mapping[str, str]) -> None:
    """Store the entries of memories, in the caller's transaction."""
    file.conn.executemany("INSERT OR REPLACE INTO links VALUES (?, ?)", keys.items())


def unlink(file: MemoryFile, memory_ids: Iterable[str]) -> None:
    """Delete the links of memories, in the caller's transaction."""
    _delete(file, "links", memory_ids)


def rename(file: MemoryFile, keys: Mapping[str, str]) -> None:
    """Replace the keys of entries, given by their old keys, in the caller's transaction."""
    link(file, {memory: keys[key] for memory, key in read_links(file).items() if key in keys})


def keep_images(file: MemoryFile, images: Mapping[str, Image]) -> None:
    """Store the images of entries to remove, in the caller's transaction.

    Memories that an undo deleted are not restored, so they get none. An earlier image stays: a
    killed run may have removed a part of the entry since.
    """
    own_marks = read_own_marks(file)
    marked_images = {
        memory: image | ({"own": own_marks[memory]} if memory in own_marks else {})
        for memory, image in images.items()
    }
    _write(file, marked_images, f"WHERE {INHERITS}")


def keep_own_marks(file: MemoryFile, own: Mapping[str, Image | None]) -> None:
    """Store entries before they inherited marks, in the caller's transaction."""
    _write(file, {memory: {"standing": raw} for memory, raw in own.items() if raw is not None}, "")


def drop_own_marks(file: MemoryFile, own: Mapping[str, Image | None]) -> None:
    """Delete those of entries without inherited marks, in the caller's transaction."""
    drop_images(
        file, read_own_marks(file).keys() & {memory for memory, had in own.items() if not had}
    )


def drop_images(file: MemoryFile, memory_ids: Iterable[str]) -> None:
    """Delete the images of restored entries, in the caller's transaction."""
    _delete(file, "images", memory_ids)


def read_images(file: MemoryFile) -> dict[str, Image]:
    """Return the images of removed entries, by memory."""
    rows = file.conn.execute(f"SELECT memory_id, image FROM images WHERE NOT ({INHERITS})")
    return {memory: json.loads(image) for memory, image in rows.fetchall()}


def read_own_marks(file: MemoryFile) -> dict[str, Image]:
    """Return the entries of successors before they inherited marks, by memory."""
    rows = file.conn.execute(
        f"SELECT memory_id, image -> '$.standing' FROM images WHERE {INHERITS}"
    )
    return {memory: json.loads(image) for memory, image in rows.fetchall()}


def replace_images(file: MemoryFile, images: Mapping[str, Image]) -> None:
    """Replace the images of removed entries, in the caller's transaction."""
    _write(file, images, "WHERE image <> excluded.image")


def _write(file: MemoryFile, images: Mapping[str, Image], where: str) -> None:
    file.conn.executemany(
        "INSERT INTO images SELECT id, ? FROM memories WHERE id = ? "
        f"ON CONFLICT (memory_id) DO UPDATE SET image = excluded.image {where}",
        [(json.dumps(image), memory) for memory, image in images.items()],
    )


def _delete(file: MemoryFile, table: str, memory_ids: Iterable[str]) -> None:
    rows = [(memory_id,) for memory_id in memory_ids]
    file.conn.executemany(f"DELETE FROM {table} WHERE memory_id = ?", rows)
