"""Bring the mirror up to date with the other file; proposals whose sources changed become stale."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from slowwave.extensions.formats.base import Record
from slowwave.store.errors import ChangedSince
from slowwave.store.exchange import new_memory
from slowwave.store.file import MemoryFile
from slowwave.store.memories import add_memories, read_memories
from slowwave.store.records import UNDATED, Memory, content_hash, timestamp
from slowwave.store.undo.undo import undo_proposal_in_savepoint

from .links import link, read_links, unlink

# Ids are made of what a memory says and of which one it is, so that a dry run and the run after it
# speak of the same ones.
_NAMESPACE = uuid.UUID("5e5c2a3e-7b1c-5d52-9f2a-1c6f6b0d8a41")


@dataclass
class Pulled:
    """What a pull changed in the mirror."""

    added: int = 0
    gone: int = 0
    # Why proposals were taken back before they were written, by their keys.
    stale: dict[str, str] = field(default_factory=dict)

    def include(self, others: Iterable[Pulled]) -> None:
        """Count what others changed, too."""
        for one in others:
            self.added += one.added
            self.gone += one.gone
            self.stale |= one.stale


def pull(file: MemoryFile, records: Sequence[Record], now: datetime) -> Pulled:
    """Bring the mirror up to date, within the transaction of the caller."""
    there = {one.key: one for one in records if _is_memory(one.text)}
    _follow_what_was_rewritten(file, there)
    pulled = Pulled()
    texts = {(one.tenant, one.text) for one in there.values()}
    _take_what_is_gone(file, set(there), texts, now, pulled)
    links = read_links(file)
    known = set(links.values())
    waiting = _waiting(file, links)
    linked: dict[str, str] = {}
    added: list[Memory] = []
    counts: dict[tuple[str, str], int] = {}
    for one in there.values():
        if one.key in known:
            continue
        memory = waiting.pop((one.tenant, one.text), None)
        if memory is None:
            made = _memory(file, one, counts, now)
            added.append(made)
            memory = made.id
        linked[memory] = one.key
    add_memories(file, added)
    link(file, linked)
    pulled.added = len(added)
    return pulled


def _is_memory(text: str) -> bool:
    """Whether a memory file can hold a text: it is not blank, and it is text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return bool(text.strip()) and "\0" not in text


def _follow_what_was_rewritten(file: MemoryFile, there: Mapping[str, Record]) -> None:
    """Link derived memories to the entries that say what they say now, if theirs are gone.

    A run may have been killed after it had written another text, and before it had kept its key.
    """
    links = read_links(file)
    known = set(links.values())
    free = {(one.tenant, one.text): key for key, one in there.items() if key not in known}
    gone = [memory for memory, key in links.items() if key not in there]
    link(
        file,
        {
            one.id: free.pop((one.tenant, one.content))
            for one in read_memories(file, gone)
            if one.status == "active" and one.generation > 0 and (one.tenant, one.content) in free
        },
    )


def _take_what_is_gone(
    file: MemoryFile,
    keys: set[str],
    texts: set[tuple[str, str]],
    now: datetime,
    pulled: Pulled,
) -> None:
    """Archive what the agent deleted; a proposal that was not written yet and used it is stale."""
    gone = [memory for memory, key in read_links(file).items() if key not in keys]
    if not gone:
        return
    for memory in read_memories(file, gone):
        if memory.status != "superseded":
            continue
        for run_id, key in _unwritten(file, memory.id, texts):
            try:
                undo_proposal_in_savepoint(file, run_id, key, timestamp(now))
                pulled.stale[key] = "the other agent changed a source meanwhile"
            except ChangedSince:
                pass  # a later run rests on it: what it says stays, as after any run
    unlink(file, gone)
    still = [one.id for one in read_memories(file, gone) if one.status == "active"]
    file.db.conn.executemany(
        "UPDATE memories SET status = 'archived', updated_at = ? WHERE id = ?",
        [(timestamp(now), one) for one in still],
    )
    pulled.gone = len(still)


def _unwritten(
    file: MemoryFile, memory_id: str, texts: set[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the proposals that superseded a memory, and whose texts are not in the file yet."""
    rows = file.db.conn.execute(
        "SELECT DISTINCT j.run_id, j.proposal, m.tenant, m.content FROM journal j "
        "JOIN proposals p ON p.run_id = j.run_id AND p.key = j.proposal AND p.state = 'applied' "
        "JOIN memories m ON m.id = coalesce(p.derived, p.survivor) "
        "LEFT JOIN links l ON l.memory_id = m.id "
        "WHERE j.table_name = 'memories' AND json_extract(j.row_key, '$.id') = ? "
        "AND m.status = 'active' AND l.memory_id IS NULL",
        [memory_id],
    )
    return [(run, key) for run, key, tenant, text in rows.fetchall() if (tenant, text) not in texts]


def _waiting(file: MemoryFile, links: dict[str, str]) -> dict[tuple[str, str], str]:
    """Return the active memories that are no entry yet: a killed run may have written them."""
    return {
        (one.tenant, one.content): one.id
        for one in read_memories(file, status="active")
        if one.id not in links
    }


def _memory(
    file: MemoryFile, record: Record, counts: dict[tuple[str, str], int], now: datetime
) -> Memory:
    """Return a new memory, with an id of its own among those of the same text."""
    said = record.tenant, record.text
    if said not in counts:
        counts[said] = int(
            file.value(
                "SELECT count(*) FROM memories WHERE tenant = ? AND content_hash = ? "
                "AND generation = 0",
                [record.tenant, content_hash(record.text)],
            )
        )
    counts[said] += 1
    identity = f"{record.tenant}\0{record.text}\0{counts[said]}"
    return new_memory(_fields(record) | {"id": str(uuid.uuid5(_NAMESPACE, identity))}, now)


def line_of(record: Record) -> dict[str, object] | None:
    """Return an entry as an import takes it; None of what can be no memory."""
    return _fields(record) if _is_memory(record.text) else None


def _fields(record: Record) -> dict[str, object]:
    return {
        "content": record.text,
        "tenant": record.tenant,
        "origin": record.origin,
        "pinned": record.pinned,
        "session": record.session,
        "observed_at": record.observed_at or UNDATED,
    }
