"""Compute what to write into the other file, as one change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from slowwave.consolidation.text.tokens import count_tokens
from slowwave.extensions.formats.base import (
    Change,
    Image,
    New,
    Record,
    RemovedEntry,
    Successor,
    Written,
)
from slowwave.store.file import MemoryFile
from slowwave.store.memories import read_memories
from slowwave.store.purge import read_forgotten
from slowwave.store.records import UNDATED, timestamp
from slowwave.store.undo.undo import correct_report, withdraw

from .links import (
    drop_images,
    drop_own_marks,
    keep_images,
    keep_own_marks,
    link,
    read_hidden,
    read_images,
    read_links,
    read_own_marks,
    rename,
    replace_images,
    unlink,
)

# The lists of neighbors in an image.
_SIDES = ("above", "below")


def compute_change(file: MemoryFile, records: Sequence[Record]) -> Change:
    """Return the difference between the mirror and the other file."""
    links = read_links(file)
    entries = {record.key: record for record in records}
    active = {memory.id: memory for memory in read_memories(file, status="active")}
    # An entry of two memories, such as a rule and its only source, stays while one is active.
    needed = {key for memory, key in links.items() if memory in active}
    retire = {
        key: memory
        for memory, key in links.items()
        if memory not in active and key in entries and key not in needed
    }
    changed = {
        memory: key
        for memory, key in links.items()
        if memory in active and key in entries and entries[key].text != active[memory].content
    }
    texts = {(record.tenant, record.text) for record in records if record.key not in retire}
    images, forgotten = read_images(file), read_forgotten(file)
    # A memory that had an entry of its own gets it again, even if another entry has its text.
    added_memories = [
        memory
        for memory in active.values()
        if memory.id not in links
        and (memory.id in images or (memory.tenant, memory.content) not in texts)
    ]
    removed = {memory: key for key, memory in retire.items()}
    successors = _successors(
        file,
        links={memory: key for memory, key in links.items() if memory in active},
        images=images,
        removed=removed.keys(),
        added={memory.id for memory in added_memories},
        changed=changed.keys(),
    )
    edited = [
        New(memory, active[memory].tenant, active[memory].content, (key,))
        for memory, key in changed.items()
    ]
    unchanged = {memory: key for memory, key in links.items() if memory not in changed}
    added = [
        New(
            memory.id,
            memory.tenant,
            memory.content,
            tuple(removed[source] for source in replaced if source in removed),
            _with_keys(images[memory.id], unchanged) if memory.id in images else None,
            "" if memory.observed_at == UNDATED else memory.observed_at,
        )
        for memory in added_memories
        for replaced in [successors[memory.id].replaces if memory.id in successors else ()]
    ]
    successor_of = {
        source: successor for successor in successors.values() for source in successor.replaces
    } | {memory: successors[memory] for memory in changed}
    updated = file.column("SELECT source_id FROM synthesized_from WHERE operation = 'update'")
    outdated = set(updated) - changed.keys()
    # Of two memories of an entry, one removes it.
    leaving = retire | {key: memory for memory, key in changed.items()}
    removals = [
        RemovedEntry(key, memory, successor_of.get(memory), memory in outdated, memory in forgotten)
        for key, memory in leaving.items()
    ]
    return Change(removals, [*edited, *added], [*successors.values()], read_hidden(file))


def _successors(
    file: MemoryFile,
    links: Mapping[str, str],
    images: Mapping[str, Image],
    removed: Collection[str],
    added: Collection[str],
    changed: Collection[str],
) -> dict[str, Successor]:
    """Return the memories that inherit marks, or may have to return some.

    links: of active memories; images: of all without an entry; removed, added, changed: the
    memories whose entries are removed, written, and get another text.
    """
    own_marks = read_own_marks(file)
    present = links.keys() | added
    gone = {*removed} | (images.keys() - present)
    replaced: dict[str, dict[str, Image | None]] = defaultdict(dict)
    for memory, successor in sorted(_final_successors(file, gone, present).items()):
        replaced[successor][memory] = None if memory in removed else images[memory]
    return {
        memory: Successor(
            memory,
            links.get(memory),
            own_marks[memory] if memory in own_marks else images.get(memory, {}).get("own"),
            replaced[memory],
        )
        for memory in sorted((replaced.keys() | own_marks.keys() | set(changed)) & present)
    }


def _with_keys(image: Image, keys: Mapping[str, str]) -> Image:
    """Return an image with the new keys of neighbors, given by their memories or old keys."""
    sides = {side: [keys.get(name, name) for name in image.get(side, ())] for side in _SIDES}
    return image | {side: names for side, names in sides.items() if names}


def _final_successors(
    file: MemoryFile, gone: Collection[str], present: Collection[str]
) -> dict[str, str]:
    """Return for each removed memory the one that replaces it, after any number of runs."""
    successors = read_successors(file)
    final: dict[str, str] = {}
    for memory in gone:
        successor = successors.get(memory)
        while successor is not None and (successor in gone or successor not in present):
            successor = successors.get(successor)
        if successor is not None:
            final[memory] = successor
    return final


def read_successors(file: MemoryFile) -> dict[str, str]:
    """Return the memory that supersedes each superseded memory."""
    sql = "SELECT id, superseded_by FROM memories WHERE superseded_by IS NOT NULL"
    return dict(file.conn.execute(sql).fetchall())


def reject_latest(file: MemoryFile, why: str, now: datetime) -> str | None:
    """Withdraw the latest proposal whose text is not written yet, in the caller's transaction.

    Proposals that only add a text come first. It is not made again until its sources change. why:
    why the other file does not get it. Returns its key; None if there is none.
    """
    rows = file.conn.execute(
        "SELECT p.run_id, p.key FROM proposals p JOIN memories m ON m.id = p.derived "
        "LEFT JOIN links l ON l.memory_id = m.id "
        "WHERE p.state = 'applied' AND m.status = 'active' AND l.memory_id IS NULL "
        "ORDER BY p.operation <> 'extract', p.run_id DESC, p.key DESC"
    )
    for run_id, key in rows.fetchall():
        # A later one that depends on it is among them.
        if withdraw(file, run_id, key=key, state="rejected", why=why, now=timestamp(now)):
            correct_report(file, run_id, count_tokens)
            return str(key)
    return None


def store_removed_images(file: MemoryFile, change: Change, written: Written) -> set[str]:
    """Store the images of removed entries before the write; return the memories without any."""
    staying, stored = {new.memory for new in change.put}, read_images(file).keys()
    images = {memory: image for memory, image in written.images.items() if memory not in staying}
    keep_images(file, images)
    keep_own_marks(file, written.own)
    return images.keys() - stored


def keep_what_was_written(file: MemoryFile, change: Change, written: Written) -> None:
    """Store the new links, after the other file was written."""
    unlink(file, [*(removal.memory for removal in change.removals), *change.hidden])
    drop_images(file, written.keys)
    drop_own_marks(file, written.own)
    keep_own_marks(file, written.own)
    rename(file, written.renamed)
    # Another entry may get the key of a removed one.
    names = {**{removal.key: removal.memory for removal in change.removals}, **written.renamed}
    images = read_images(file).items()
    earlier = {memory: image for memory, image in images if memory not in written.images}
    replace_images(file, {memory: _with_keys(image, names) for memory, image in earlier.items()})
    link(file, written.keys)


def link_existing_texts(file: MemoryFile, records: Sequence[Record]) -> None:
    """Link each memory without an entry to the entry with its text, and update all names."""
    links = read_links(file)
    keys = {(record.tenant, record.text): record.key for record in records}
    link(
        file,
        {
            memory.id: keys[memory.tenant, memory.content]
            for memory in read_memories(file, status="active")
            if memory.id not in links and (memory.tenant, memory.content) in keys
        },
    )
    follow_names(file, records)


def follow_names(file: MemoryFile, records: Sequence[Record]) -> None:
    """Update the names of files and rows in the mirror."""
    names = {record.key: record.file for record in records if record.file}
    file.conn.executemany(
        "UPDATE memories SET source = ?1 WHERE id = ?2 AND source IS NOT ?1",
        [(names[key], memory) for memory, key in read_links(file).items() if key in names],
    )
