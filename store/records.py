"""The values that go into and come out of a memory file, and the words they may use."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

KINDS = ("fact", "preference", "instruction", "context")
LAYERS = ("ephemeral", "working", "stable", "core")
STATUSES = ("active", "superseded", "archived", "expired")
ORIGINS = ("human", "agent", "consolidation")


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


# In the order of the table's columns, which is the order of every statement.
COLUMNS = tuple(field.name for field in fields(Memory))


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
    return Memory(
        **row
        | {
            "pinned": bool(row["pinned"]),
            "tags": tuple(json.loads(row["tags"])),
            "metadata": json.loads(row["metadata"]),
            "content_hash": row["content_hash"] or content_hash(row["content"]),
        }
    )


def json_text(value: object) -> str:
    """Give a value as compact JSON whose bytes depend on the value alone."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
