"""Update the mirror from the other file; proposals that need what the agent changed are stale."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from slowwave.consolidation.text.tokens import count_tokens
from slowwave.extensions.formats.base import Record, shortened
from slowwave.store.ageing import STATUS_AFTER
from slowwave.store.errors import InvalidLine
from slowwave.store.exchange import new_memory
from slowwave.store.file import MemoryFile
from slowwave.store.memories import add_memories, read_memories
from slowwave.store.purge import read_forgotten
from slowwave.store.records import (
    LINKED,
    MARKDOWN,
    ROW,
    SUBJECT,
    UNDATED,
    Memory,
    content_hash,
    json_text,
    timestamp,
)
from slowwave.store.undo.undo import correct_report, withdraw

from .links import link, read_images, read_links, unlink
from .push import follow_names, read_successors

# Ids are computed from a memory's text and its number among equal texts, so that a dry run and the
# run after it use the same ids.
_NAMESPACE = uuid.UUID("5e5c2a3e-7b1c-5d52-9f2a-1c6f6b0d8a41")

# Keys of a memory's metadata that depend on the file.
_MARKS = ("form", LINKED, SUBJECT)
_STALE = "the agent changed one of its memories during the run"


def pull(file: MemoryFile, records: Sequence[Record], now: datetime) -> dict[str, str]:
    """Update the mirror in the caller's transaction.

    Returns why proposals were withdrawn before they were written, by their keys.
    """
    entries = {record.key: record for record in records if _is_memory(record.text)}
    _follow_rewritten(file, entries)
    stale = _archive_deleted(file, entries, now)
    _follow_pins(file, entries)
    links = read_links(file)
    linked_keys = set(links.values())
    # Active memories without an entry: a killed run may have written them.
    unlinked = {
        (memory.tenant, memory.content): memory.id
        for memory in read_memories(file, status="active")
        if memory.id not in links
    }
    linked: dict[str, str] = {}
    added: list[Memory] = []
    forgotten = read_forgotten(file)
    counts: Counter[tuple[str, str]] = Counter()
    for key, record in entries.items():
        if key in linked_keys:
            continue
        memory_id = unlinked.pop((record.tenant, record.text), None)
        if memory_id is None:
            memory = _new_memory(file, record, counts, now)
            if memory.id in forgotten:
                continue
            added.append(memory)
            memory_id = memory.id
        linked[memory_id] = key
    add_memories(file, added)
    link(file, linked)
    follow_names(file, records)
    for run_id in set(stale.values()):
        correct_report(file, run_id, count_tokens)
    return dict.fromkeys(stale, _STALE)


def _is_memory(text: str) -> bool:
    """Whether a memory file can store a text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return bool(text.strip())


def _follow_rewritten(file: MemoryFile, entries: Mapping[str, Record]) -> None:
    """Link derived memories without their entry to an entry with their current text.

    A run may have been killed after it wrote the text and before it stored the entry's key.
    """
    links = read_links(file)
    linked_keys = set(links.values())
    free = {
        (entry.tenant, entry.text): key for key, entry in entries.items() if key not in linked_keys
    }
    deleted_ids = [memory_id for memory_id, key in links.items() if key not in entries]
    rewritten = {
        memory.id: key
        for memory in read_memories(file, deleted_ids)
        if memory.status == "active"
        and memory.generation > 0
        and (key := free.pop((memory.tenant, memory.content), None)) is not None
    }
    link(file, rewritten)


def _archive_deleted(
    file: MemoryFile, entries: Mapping[str, Record], now: datetime
) -> dict[str, str]:
    """Archive what the agent deleted or edited; withdraw unwritten proposals about it.

    Returns their runs, by their keys.
    """
    deleted_ids = [memory_id for memory_id, key in read_links(file).items() if key not in entries]
    stale: dict[str, str] = {}
    if not deleted_ids:
        return stale
    for run_id, key in _unwritten(file, deleted_ids, entries):
        # If a later run depends on it, its text stays, as after any run.
        if withdraw(file, run_id, key=key, state="stale", why=_STALE, now=timestamp(now)):
            stale[key] = run_id
    # No undo restores what a run aged while its agent removed it.
    ids, phases = set(deleted_ids) - read_images(file).keys(), json_text(list(STATUS_AFTER))
    file.conn.execute(
        "DELETE FROM journal WHERE table_name = 'memories' AND row_key ->> '$.id' IN "
        "(SELECT value FROM json_each(?)) AND proposal IN (SELECT value FROM json_each(?))",
        [json_text(sorted(ids)), phases],
    )
    unlink(file, deleted_ids)
    active = [memory.id for memory in read_memories(file, deleted_ids) if memory.status == "active"]
    file.conn.executemany(
        "UPDATE memories SET status = 'archived', updated_at = ? WHERE id = ?",
        [(timestamp(now), memory_id) for memory_id in active],
    )
    return stale


def _follow_pins(file: MemoryFile, entries: Mapping[str, Record]) -> None:
    """Update whether unchanged memories are pinned, and their form: others may link to one by now.

    What a run has changed stays as it left it, so that it can be undone.
    """
    changed = "SELECT row_key ->> '$.id' FROM journal WHERE table_name = 'memories'"
    journaled = {memory_id for (memory_id,) in file.conn.execute(changed)}
    links = read_links(file)
    for memory in read_memories(file, sorted(links.keys() - journaled)):
        record = entries.get(links[memory.id])
        if record is None or memory.status != "active":
            continue
        own = {key: value for key, value in memory.metadata.items() if key not in _MARKS}
        wanted = int(record.pinned), json_text(own | _marks_of(record))
        if wanted != (int(memory.pinned), json_text(memory.metadata)):
            sql = "UPDATE memories SET pinned = ?, metadata = ? WHERE id = ?"
            file.conn.execute(sql, [*wanted, memory.id])


def _unwritten(
    file: MemoryFile, deleted_ids: Sequence[str], entries: Mapping[str, Record]
) -> Iterator[tuple[str, str]]:
    """Yield the proposals about a deleted memory that are not in the other file yet, latest first.

    Such a proposal still removes an entry, or its text is missing.
    """
    links, successors = read_links(file), read_successors(file)
    active = {memory.id for memory in read_memories(file, status="active")}
    needed = {key for memory_id, key in links.items() if memory_id in active}
    # Entries that a killed run may have removed.
    imaged = {links[memory_id] for memory_id in read_images(file) if memory_id in links}
    linked_keys = set(links.values())
    texts = {(entry.tenant, entry.text) for entry in entries.values()}
    free = {(item.tenant, item.text) for key, item in entries.items() if key not in linked_keys}
    rows = file.conn.execute(
        "SELECT p.run_id, p.key, p.sources, p.derived, m.id, m.tenant, m.content FROM proposals p "
        "JOIN memories m ON m.id = coalesce(p.derived, p.survivor) "
        "WHERE p.state = 'applied' AND EXISTS (SELECT 1 FROM json_each(?) g WHERE g.value = m.id "
        "OR g.value IN (SELECT value FROM json_each(p.sources))) ORDER BY p.run_id DESC, (SELECT "
        "max(sequence) FROM journal j WHERE j.run_id = p.run_id AND j.proposal = p.key) DESC",
        [json_text(list(deleted_ids))],
    ).fetchall()
    for run_id, proposal, sources, derived, memory_id, *text in rows:
        if derived and tuple(text) in free:
            continue
        replaced = {source for source in json.loads(sources) if successors.get(source) == memory_id}
        leaving = {links[source] for source in replaced & links.keys()} - needed
        if leaving:
            is_unwritten = any(key in entries or key not in imaged for key in leaving)
        elif memory_id in links:
            is_unwritten = links[memory_id] in entries and entries[links[memory_id]].text != text[1]
        else:
            is_unwritten = tuple(text) not in texts
        if is_unwritten and (leaving or memory_id in active):
            yield run_id, proposal


def _new_memory(
    file: MemoryFile, record: Record, counts: Counter[tuple[str, str]], now: datetime
) -> Memory:
    """Return a new memory; the ids of memories of the same text are in the order of the file."""
    text = record.tenant, record.text
    if text not in counts:
        counts[text] = int(
            file.value(
                "SELECT count(*) FROM memories WHERE tenant = ? AND content_hash = ? "
                "AND generation = 0",
                [record.tenant, content_hash(record.text)],
            )
        )
    first = uuid.uuid5(_NAMESPACE, f"{record.tenant}\0{record.text}\0001")
    # Of equal memories the one with the lowest id stays.
    memory_id = uuid.UUID(int=first.int + counts[text])
    counts[text] += 1
    return _checked(record, _fields(record) | {"id": str(memory_id)}, now)


def lines_of(records: Iterable[Record], now: datetime) -> Iterator[bytes]:
    """Yield entries as lines of an import. Raises `InvalidLine`."""
    for record in records:
        if _is_memory(record.text):
            _checked(record, _fields(record), now)
            yield json_text(_fields(record)).encode()


def _checked(record: Record, fields: dict[str, object], now: datetime) -> Memory:
    """Return an entry as a memory. Raises `InvalidLine` that names the entry."""
    try:
        return new_memory(fields, now)
    except InvalidLine as error:
        error.message = f"{record.file or shortened(record.text)}: {error.message}"
        error.hint = "Nothing was changed. Correct or remove the entry."
        raise


def _fields(record: Record) -> dict[str, object]:
    return {
        "content": record.text,
        "tenant": record.tenant,
        "origin": record.origin,
        "pinned": record.pinned,
        "source": record.file,
        "session": record.session,
        "observed_at": record.observed_at or UNDATED,
        "metadata": _marks_of(record),
    }


def _marks_of(record: Record) -> dict[str, object]:
    form = MARKDOWN if record.is_markdown else ROW if record.file else None
    marks = {"form": form, LINKED: record.is_linked, SUBJECT: record.subject}
    return {name: value for name, value in marks.items() if value}
