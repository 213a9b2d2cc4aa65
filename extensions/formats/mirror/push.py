"""Work out what to write into the other file, as one change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from slowwave.extensions.formats.base import Change, New, Record, Written
from slowwave.store.errors import ChangedSince
from slowwave.store.file import MemoryFile
from slowwave.store.memories import read_memories
from slowwave.store.records import Memory, timestamp
from slowwave.store.undo.undo import undo_proposal_in_savepoint

from .links import (
    drop_images,
    drop_own_marks,
    keep_images,
    keep_own_marks,
    link,
    read_images,
    read_links,
    rename,
    unlink,
)
from .successors import successors


def due(file: MemoryFile, records: Sequence[Record]) -> Change:
    """Return the difference between the mirror and the other file."""
    links = read_links(file)
    there = {one.key: one for one in records}
    active = {one.id: one for one in read_memories(file, status="active")}
    # Of two memories that are one entry, such as a rule and the one that voices it, one is enough.
    linked = {key for memory, key in links.items() if memory in active}
    retire = {
        key: memory
        for memory, key in links.items()
        if memory not in active and key in there and key not in linked
    }
    changed = {
        memory: key
        for memory, key in links.items()
        if memory in active and key in there and there[key].text != active[memory].content
    }
    texts = {(one.tenant, one.text) for one in records if one.key not in retire}
    images = read_images(file)
    # What had an entry of its own gets it back, even if another entry now says the same.
    put = [
        one
        for one in active.values()
        if one.id not in links and (one.id in images or (one.tenant, one.content) not in texts)
    ]
    places = _places(file, put, links, retire)
    edited = [
        New(one, active[one].tenant, active[one].content, (key,)) for one, key in changed.items()
    ]
    coming = [
        New(one.id, one.tenant, one.content, places[one.id], images.get(one.id)) for one in put
    ]
    taking_over = successors(file, links, retire.values(), [one.id for one in put], changed)
    return Change(
        retire | {key: one for one, key in changed.items()},
        [*edited, *coming],
        {
            key: one.key
            for one in taking_over
            for key, memory in retire.items()
            if memory in one.stands_for and one.key is not None
        },
        taking_over,
        frozenset(_outdated(file, retire)),
    )


def _outdated(file: MemoryFile, retire: Mapping[str, str]) -> list[str]:
    """Return those that leave whose value another one replaced."""
    replaced = {
        source
        for (source,) in file.db.conn.execute(
            "SELECT source_id FROM synthesized_from WHERE operation = 'update'"
        ).fetchall()
    }
    return [key for key, memory in retire.items() if memory in replaced]


def take_back_latest(file: MemoryFile, now: datetime) -> str | None:
    """Take back the latest proposal whose text is not written yet, within the caller's transaction.

    One that adds a text and lets nothing leave goes first. Returns its key; None if there is none.
    """
    rows = file.db.conn.execute(
        "SELECT p.run_id, p.key FROM proposals p JOIN memories m ON m.id = p.derived "
        "LEFT JOIN links l ON l.memory_id = m.id "
        "WHERE p.state = 'applied' AND m.status = 'active' AND l.memory_id IS NULL "
        "ORDER BY p.operation <> 'extract', p.run_id DESC, p.key DESC"
    )
    for run_id, key in rows.fetchall():
        try:
            undo_proposal_in_savepoint(file, run_id, key, timestamp(now))
        except ChangedSince:
            continue  # a later one rests on it, and is among them
        return str(key)
    return None


def _places(
    file: MemoryFile,
    put: Sequence[Memory],
    links: Mapping[str, str],
    retire: Mapping[str, str],
) -> dict[str, tuple[str, ...]]:
    """Return the entries in whose place each text comes: its sources that leave."""
    places: dict[str, tuple[str, ...]] = {}
    for one in put:
        rows = file.db.conn.execute(
            "SELECT source_id FROM synthesized_from WHERE derived_id = ? ORDER BY 1", [one.id]
        )
        keys = [links[source] for (source,) in rows.fetchall() if source in links]
        places[one.id] = tuple(key for key in keys if key in retire)
    return places


def keep_what_leaves(file: MemoryFile, change: Change, written: Written) -> None:
    """Keep how the entries stood that leave for good, before the other file is written."""
    staying = {one.memory for one in change.put}
    leaving = {one: image for one, image in written.images.items() if one not in staying}
    keep_images(file, leaving)
    keep_own_marks(file, written.own)


def keep_what_was_written(file: MemoryFile, change: Change, written: Written) -> None:
    """Say which entries memories are now, once the other file is written."""
    unlink(file, change.retire.values())
    drop_images(file, written.keys)
    drop_own_marks(file, written.own)
    keep_own_marks(file, written.own)
    rename(file, written.renamed)
    link(file, written.keys)


def link_what_is_said_already(file: MemoryFile, records: Sequence[Record]) -> None:
    """Link memories whose text stands in an entry of another one to that entry."""
    links = read_links(file)
    keys = {(one.tenant, one.text): one.key for one in records}
    link(
        file,
        {
            one.id: keys[one.tenant, one.content]
            for one in read_memories(file, status="active")
            if one.id not in links and (one.tenant, one.content) in keys
        },
    )
