"""The values that go into and come out of a memory file, and the words they may use."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal, get_args

Kind = Literal["fact", "preference", "instruction", "context"]
Layer = Literal["ephemeral", "working", "stable", "core"]
Status = Literal["active", "superseded", "archived", "expired"]
Origin = Literal["human", "agent", "consolidation"]
# From the least to the most settled.
LAYERS: tuple[Layer, ...] = get_args(Layer)


@dataclass(frozen=True)
class Memory:
    """One row of `memories`. Times are ISO 8601 text in UTC, so that they sort as text."""

    id: str
    tenant: str
    content: str
    kind: str
    layer: str
    status: str
    origin: str
    trust: float
    importance: int
    pinned: bool
    generation: int
    source: str | None
    session: str | None
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    content_hash: str
    access_count: int
    observed_at: str
    created_at: str
    updated_at: str
    accessed_at: str | None
    expires_at: str | None
    superseded_by: str | None
    superseded_at: str | None

    @property
    def protected(self) -> bool:
        """Whether a run may supersede it only when told so explicitly."""
        return self.origin == "human" or self.pinned or self.layer == "core"

    def expired(self, now: str) -> bool:
        """Whether its time has ended by `now`."""
        return self.expires_at is not None and self.expires_at <= now


# In the order of the table's columns, which is the order of every statement.
COLUMNS = tuple(field.name for field in fields(Memory))
_TIMES = tuple(name for name in COLUMNS if name.endswith("_at"))


def content_hash(content: str) -> str:
    """Give the sha256 of a text, in hexadecimal: what a vector or a decision was made from."""
    return hashlib.sha256(content.encode()).hexdigest()


def new_id() -> str:
    """Give a fresh UUIDv7, which sorts by the time it was made (RFC 9562)."""
    from uuid6 import uuid7

    return str(uuid7())


def timestamp(moment: datetime) -> str:
    """Give a moment with an offset as the file writes it: ISO 8601 in UTC."""
    return moment.astimezone(UTC).isoformat()


def in_utc(text: str) -> str:
    """Give a time that an agent wrote its own way as the file writes it.

    Without an offset it is UTC, as SQLite's own functions give it. Of a time of day that nobody
    can read the date is left: the schema sees to that one.
    """
    try:
        moment = datetime.fromisoformat(text)
        return timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return f"{text[:10]}T00:00:00+00:00"


def to_row(memory: Memory) -> dict[str, Any]:
    """Give a memory as the row that SQLite keeps."""
    row = {name: getattr(memory, name) for name in COLUMNS}
    return row | {
        "pinned": int(memory.pinned),
        "tags": json_text(memory.tags),
        "metadata": json_text(memory.metadata),
    }


def from_row(row: dict[str, Any]) -> Memory:
    """Give a row of SQLite as a memory, with the hash of its text if the row lacks one."""
    times = {name: row[name] and in_utc(row[name]) for name in _TIMES}
    return Memory(
        **row
        | times
        | {
            "pinned": bool(row["pinned"]),
            "tags": tuple(str(tag) for tag in json.loads(row["tags"])),
            "metadata": json.loads(row["metadata"]),
            "content_hash": row["content_hash"] or content_hash(row["content"]),
        }
    )


def json_text(value: object) -> str:
    """Give a value as compact JSON whose bytes depend on the value alone."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    # Half a surrogate pair is no UTF-8, and `\ud800` is how JSON writes it.
    return text.encode(errors="backslashreplace").decode()
