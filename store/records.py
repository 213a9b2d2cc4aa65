"""The values of a memory file: memories, their columns and their validation."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any, Literal, get_args

from .errors import DamagedRow, StoreError

Kind = Literal["fact", "preference", "instruction", "context"]
Layer = Literal["ephemeral", "working", "stable", "core"]
Status = Literal["active", "superseded", "archived", "expired"]
Origin = Literal["human", "agent", "consolidation"]
# From the least to the most stable.
LAYERS: tuple[Layer, ...] = get_args(Layer)
# The observation time of memories without one, from other agents' files. It sorts before all
# others, and does not order such memories among each other.
UNDATED = "1970-01-01T00:00:00+00:00"
# The value of `form` in the metadata of memories that an agent keeps as files of Markdown.
MARKDOWN = "markdown"
# The value of `form` in the metadata of memories that are rows of a table.
ROW = "row"
# The key in the metadata of what a memory is about.
SUBJECT = "subject"
# The key in the metadata of a memory that others link to, in a mirror of an agent's files.
LINKED = "slowwave_linked"


@dataclass(frozen=True)
class Claim:
    """One statement of a derived memory or of a draft, with the ids of its sources."""

    text: str
    sources: tuple[str, ...]
    # The model that wrote it, or `human`, and the model that checked it; None if a source says it
    # verbatim.
    written_by: str | None = None
    checked_by: str | None = None


@dataclass(frozen=True)
class Memory:
    """A row of `memories`. Times are ISO 8601 in UTC, so that they sort as text."""

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
    def is_protected(self) -> bool:
        """Whether a run supersedes it only with the user's permission."""
        return self.origin == "human" or self.pinned or self.layer == "core"

    @property
    def subject(self) -> str:
        """What it is about, in a word or two, as an ingest records it; else empty."""
        subject = self.metadata.get(SUBJECT)
        return subject if isinstance(subject, str) else ""

    @property
    def unmentioned_subject(self) -> str:
        """Its subject if its text does not mention it as a word of its own; else empty."""
        words = rf"(?<!\w){re.escape(self.subject)}(?!\w)"
        return "" if re.search(words, self.content, re.IGNORECASE) else self.subject

    def has_expired(self, now: str) -> bool:
        """Whether it has expired at `now`."""
        return self.expires_at is not None and self.expires_at <= now

    @property
    def is_note(self) -> bool:
        """Whether it is Markdown of several lines, which are kept, and whose headings count."""
        return self.metadata.get("form") == MARKDOWN and "\n" in self.content

    @property
    def file(self) -> str:
        """The name of its file or row, if an agent keeps it as one of its own; else empty."""
        return self.source or "" if self.metadata.get("form") in (MARKDOWN, ROW) else ""

    @property
    def is_linked(self) -> bool:
        """Whether it is only pinned because others link to its place in another agent's file.

        A new text may be written there, but the place must not be given up.
        """
        return self.pinned and self.metadata.get(LINKED) is True


# In the order of the table.
COLUMNS = tuple(field.name for field in fields(Memory))
# The maximum length of a memory, for writing, runs and recall. Comparisons take more than linear
# time, and the embedding model reads about a thousand characters.
MAX_CHARACTERS = 20_000

# What `timestamp` returns, which takes four times as long as this pattern.
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.(?!0{6})\d{6})?\+00:00", re.ASCII)
_TIMES = tuple(place for place, name in enumerate(COLUMNS) if name.endswith("_at"))
_CONTENT, _PINNED, _TAGS, _METADATA, _HASH = map(
    COLUMNS.index, ("content", "pinned", "tags", "metadata", "content_hash")
)


def content_hash(content: str) -> str:
    """Return the sha256 of a text in hexadecimal."""
    return hashlib.sha256(content.encode()).hexdigest()


def new_id() -> str:
    """Return a new UUIDv7, which sorts by creation time (RFC 9562)."""
    from uuid6 import uuid7

    return str(uuid7())


def timestamp(moment: datetime) -> str:
    """Return a time with an offset in the format of the file: ISO 8601 in UTC."""
    return moment.astimezone(UTC).isoformat()


def timestamp_of(value: datetime | str | None, time_of_day: time, option: str) -> str | None:
    """Return a day or a time that a user gave, in the format of the file; None stays None.

    time_of_day: what a day means, its start or its end. Without an offset it is UTC. Raises
    `StoreError`, which names the option.
    """
    if value is None:
        return None
    text = value.isoformat() if isinstance(value, datetime) else value
    try:
        moment = datetime.fromisoformat(text)
        if len(text.strip()) <= len("2026-01-01"):
            moment = datetime.combine(moment.date(), time_of_day)
        return timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (TypeError, ValueError, OverflowError):
        raise StoreError(
            f"{option} takes a day or a time (2026-03-31, 2026-03-31T18:00+02:00), not '{text}'."
        ) from None


def next_moment(moment: str) -> str:
    """Return the time one microsecond after a `timestamp`, which also sorts after it as text."""
    return timestamp(datetime.fromisoformat(moment) + timedelta(microseconds=1))


def in_utc(text: str) -> str:
    """Return an agent's time in the format of the file.

    A time without an offset is taken as UTC, as by SQLite. If the time of day is unreadable, only
    the date counts, which the schema guarantees. Raises ValueError without a date.
    """
    if text.startswith("0000-"):  # a year of SQLite's calendar, but not of Python's
        return UNDATED
    try:
        moment = datetime.fromisoformat(text)
        if _TIMESTAMP.fullmatch(text):
            return text
        return timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return f"{date.fromisoformat(text[:10]).isoformat()}T00:00:00+00:00"


_in_utc = lru_cache(maxsize=4_096)(in_utc)


def to_row(memory: Memory) -> dict[str, Any]:
    """Return the row of a memory."""
    row = {name: getattr(memory, name) for name in COLUMNS}
    return row | {
        "pinned": int(memory.pinned),
        "tags": json_text(memory.tags),
        "metadata": json_text(memory.metadata),
    }


def from_values(values: tuple[Any, ...]) -> Memory:
    """Return the memory of a row's values, in the order of `COLUMNS`; computes a missing hash.

    Raises `DamagedRow` if one is invalid. A run reads 100,000 rows: their values are checked at
    once, and singly only to name a fault.
    """
    from .column_types import fit_columns, is_valid  # loads msgspec

    if not fit_columns(values):
        for name, value in zip(COLUMNS, values, strict=True):
            if not is_valid(name, value):
                raise _damaged(values[0], name, value)
    row = list(values)
    for place in _TIMES:
        if row[place] is not None:
            try:
                row[place] = _in_utc(row[place])
            except ValueError:
                raise _damaged(values[0], COLUMNS[place], row[place]) from None
    tags, metadata, where = row[_TAGS], row[_METADATA], f"memory {row[0]}"
    row[_PINNED] = bool(row[_PINNED])
    row[_TAGS] = () if tags == "[]" else tuple(map(str, parse_list(tags, "the tags", where)))
    has_more = metadata != "{}"
    row[_METADATA] = parse_object(metadata, "the metadata", where) if has_more else {}
    row[_HASH] = row[_HASH] or content_hash(row[_CONTENT])
    return Memory(*row)


def parse_object(text: object, name: str, owner: str) -> dict[str, Any]:
    """Parse a JSON object of the file. Raises `DamagedRow`, which names it and its owner."""
    if not isinstance(parsed := read_json(text), dict):
        raise _unreadable(name, owner, "object")
    return parsed


def parse_list(text: object, name: str, owner: str) -> list[Any]:
    """Parse a JSON array of the file. Raises `DamagedRow` if it is invalid."""
    if not isinstance(parsed := read_json(text), list):
        raise _unreadable(name, owner, "array")
    return parsed


def parse_time(text: object, name: str, owner: str) -> str:
    """Return a time of the file, in UTC. Raises `DamagedRow` if it is invalid."""
    try:
        return in_utc(str(text))
    except ValueError:
        raise DamagedRow(f"{name} of {owner} is not a time") from None


def parse_claims(text: object, name: str, owner: str) -> list[Claim]:
    """Parse the statements of a text. Raises `DamagedRow` if they are invalid."""
    claims = parse_list(text, name, owner)
    if not all(
        isinstance(claim, dict) and isinstance(claim.get("sources", []), list) for claim in claims
    ):
        raise _unreadable(name, owner, "array of statements")
    return [
        Claim(
            str(claim.get("text", "")),
            tuple(map(str, claim.get("sources", ()))),
            claim.get("written_by"),
            claim.get("checked_by"),
        )
        for claim in claims
    ]


def read_json(text: object) -> Any:
    """Parse JSON; return None for a value that is not JSON."""
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _unreadable(name: str, owner: str, kind: str) -> DamagedRow:
    return DamagedRow(f"{name} of {owner} must be a JSON {kind}")


def _damaged(memory_id: object, name: str, value: object) -> DamagedRow:
    return DamagedRow(f"{name} of memory {memory_id} cannot be {value!r:.60}")


def json_text(value: object) -> str:
    """Return a value as compact, canonical JSON."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    # Half a surrogate pair is not valid UTF-8; JSON escapes it as `\ud800`.
    return text.encode(errors="backslashreplace").decode()
