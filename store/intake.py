"""Messages of conversations: read ones, sources of memories, and parts queued for a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .file import MemoryFile
from .journal import Journal
from .records import json_text, parse_list, parse_object
from .rows import current_row

_READ = "read_messages"
_BEHIND = "memory_messages"
_QUEUED = "waiting_messages"
_IS_QUEUED = "state = 'waiting' AND (?1 = '[]' OR tenant IN (SELECT value FROM json_each(?1)))"
# SQL of what a memory of a conversation is about, after a line break; else empty.
SUBJECT_SQL = "coalesce(char(10) || json_extract(metadata, '$.subject'), '')"
# The key in a run's report of the parts that it could not read, with id, state and reason.
UNREAD = "unread"
# The key in a run's options of the conversations that it read.
INGESTED = "ingest"


@dataclass(frozen=True)
class KeptMessage:
    """A message that is the source of a memory."""

    chain: str
    conversation: str
    # The number of the message in its conversation, from 1.
    place: int
    role: str
    speaker: str | None
    said_at: str | None
    content: str
    quotes: tuple[str, ...]
    # The model that read it; None without a model.
    model: str | None


@dataclass(frozen=True)
class PartRow:
    """A part of a conversation that is or was queued for a model."""

    id: str
    tenant: str
    conversation: str
    content: dict[str, Any]
    why: str
    queued_at: str
    state: Literal["waiting", "read"] = "waiting"


@dataclass(frozen=True)
class Backlog:
    """The number of queued parts, when the oldest was queued, and the most tries of any."""

    parts: int = 0
    since: str | None = None
    tries: int = 0


def read_chains(file: MemoryFile, tenant: str, chains: Sequence[str]) -> frozenset[str]:
    """Return the hashes of the messages that were already read."""
    sql = (
        f"SELECT chain FROM {_READ} WHERE tenant = ? AND chain IN (SELECT value FROM json_each(?))"
    )
    return frozenset(file.column(sql, [tenant, json_text(list(chains))]))


def mark_as_read(file: MemoryFile, run_id: str, tenant: str, chains: Iterable[str]) -> None:
    """Mark messages as read, journaled, in the caller's transaction."""
    unique = list(dict.fromkeys(chains))
    already_read = read_chains(file, tenant, unique)
    new = (chain for chain in unique if chain not in already_read)
    rows = ({"tenant": tenant, "chain": chain, "run_id": run_id} for chain in new)
    Journal(file, run_id, "").insert(_READ, *rows)


def count_newly_read(file: MemoryFile, run_id: str) -> int:
    """Return how many messages a run marked as read."""
    return int(file.value(f"SELECT count(*) FROM {_READ} WHERE run_id = ?", [run_id]))


def store_messages_of(
    file: MemoryFile, run_id: str, proposal: str, memory_id: str, messages: Sequence[KeptMessage]
) -> None:
    """Store the messages behind a memory, journaled, in the caller's transaction."""
    for message in messages:
        key = {"memory_id": memory_id, "chain": message.chain}
        if current_row(file, _BEHIND, key) is None:
            columns = vars(message) | {"quotes": json_text(message.quotes), "run_id": run_id}
            Journal(file, run_id, proposal).insert(_BEHIND, key | columns)


def read_messages_of(file: MemoryFile, ids: Sequence[str]) -> dict[str, list[KeptMessage]]:
    """Return the messages behind memories, by memory id, in the order of each conversation.

    Raises `UnusableFile`.
    """
    messages: dict[str, list[KeptMessage]] = {}
    for row in file.rows(
        f"SELECT * FROM {_BEHIND} WHERE memory_id IN (SELECT value FROM json_each(?)) "
        "ORDER BY memory_id, conversation, place, chain",
        [json_text(list(ids))],
    ):
        memory_id = row.pop("memory_id")
        quotes = parse_list(row["quotes"], "the quotes", f"memory {memory_id}")
        del row["run_id"]
        message = KeptMessage(**row | {"quotes": tuple(map(str, quotes))})
        messages.setdefault(memory_id, []).append(message)
    return messages


def queue_part(file: MemoryFile, run_id: str, part: PartRow) -> None:
    """Queue a part unless it is queued already, journaled, in the caller's transaction."""
    key, columns, journal = {"id": part.id}, _columns(part), Journal(file, run_id, "")
    before = current_row(file, _QUEUED, key)
    if before is None:
        journal.insert(_QUEUED, columns | {"run_id": run_id})
    elif before["state"] != "waiting":
        names = ("state", "why", "content", "queued_at")
        journal.update(_QUEUED, [key], {name: columns[name] for name in names})


def write_part(file: MemoryFile, part: PartRow) -> None:
    """Insert or replace a part, as agents write memories: outside of any run."""
    row = _columns(part) | {"run_id": ""}
    file.conn.execute(
        f"INSERT INTO {_QUEUED} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))}) "
        "ON CONFLICT (id) DO UPDATE SET content = excluded.content",
        list(row.values()),
    )


def _columns(part: PartRow) -> dict[str, Any]:
    return vars(part) | {"content": json_text(part.content)}


def has_conversations(file: MemoryFile, tenant: str) -> bool:
    """Whether a part of a conversation of a tenant is or was queued for a model."""
    sql = f"SELECT EXISTS (SELECT 1 FROM {_QUEUED} WHERE tenant = ?)"
    return bool(file.value(sql, [tenant]))


def read_parts_of(file: MemoryFile, tenant: str, conversation: str) -> list[PartRow]:
    """Return the parts of a conversation in any state, oldest first. Raises `UnusableFile`."""
    return _parts(file, "tenant = ? AND conversation = ? ORDER BY rowid", [tenant, conversation])


def read_queued_rows(file: MemoryFile, tenants: Sequence[str] = ()) -> list[PartRow]:
    """Return the queued parts, oldest first, of the given tenants or of all.

    Raises `UnusableFile`.
    """
    return _parts(file, f"{_IS_QUEUED} ORDER BY queued_at, rowid", [json_text(list(tenants))])


def _parts(file: MemoryFile, condition: str, values: Sequence[str]) -> list[PartRow]:
    rows = file.rows(
        "SELECT id, tenant, conversation, content, why, queued_at, state "
        f"FROM {_QUEUED} WHERE {condition}",
        values,
    )
    return [
        PartRow(**row | {"content": parse_object(row["content"], "the messages", row["id"])})
        for row in rows
    ]


def count_queued(file: MemoryFile, tenants: Sequence[str] = ()) -> dict[str, int]:
    """Return the number of queued parts by tenant, of the given tenants or of all."""
    sql = f"SELECT tenant, count(*) FROM {_QUEUED} WHERE {_IS_QUEUED} GROUP BY tenant ORDER BY 1"
    return dict(file.tuples(sql, [json_text(list(tenants))]))


def read_backlog(file: MemoryFile, tenants: Sequence[str] = ()) -> Backlog:
    """Return the backlog of the given tenants, or of all.

    A run whose budget kept it from asking a model is not a try.
    """
    queued_at = dict(
        file.tuples(
            f"SELECT id, queued_at FROM {_QUEUED} WHERE {_IS_QUEUED}", [json_text(list(tenants))]
        )
    )
    if not queued_at:
        return Backlog()
    sql = (
        "SELECT json_extract(u.value, '$.id'), count(*) "
        f"FROM runs, json_each(report, '$.{UNREAD}') u "
        "WHERE json_extract(u.value, '$.state') = 'failed' GROUP BY 1"
    )
    tries = dict(file.tuples(sql))
    max_tries = max(tries.get(part, 0) for part in queued_at)
    return Backlog(len(queued_at), min(queued_at.values()), max_tries)


def close_parts_read_elsewhere(file: MemoryFile, run_id: str, tenant: str) -> None:
    """Close the parts whose messages were all read elsewhere, in the caller's transaction.

    Parts with the option `again` stay open.
    """
    rows = file.rows(
        f"SELECT id FROM {_QUEUED} w WHERE state = 'waiting' AND tenant = ?1 "
        "AND json_extract(content, '$.options.again') IS NOT 1 AND NOT EXISTS ("
        "SELECT 1 FROM json_each(content, '$.said') s "
        "WHERE json_extract(s.value, '$.is_new') IS NOT 0 AND json_extract(s.value, '$.chain') "
        f"NOT IN (SELECT chain FROM {_READ} WHERE tenant = ?1)) ORDER BY id",
        [tenant],
    )
    for row in list(rows):
        close_part(file, run_id, row["id"])


def close_part(file: MemoryFile, run_id: str, row_id: str) -> None:
    """Close a part that was read, in the caller's transaction."""
    key = {"id": row_id}
    if current_row(file, _QUEUED, key) is not None:
        Journal(file, run_id, "").update(_QUEUED, [key], {"state": "read"})
