"""The values that go into and come out of a memory file, and the words they may use."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any, Literal, get_args

from .errors import UnusableFile

Kind = Literal["fact", "preference", "instruction", "context"]
Layer = Literal["ephemeral", "working", "stable", "core"]
Status = Literal["active", "superseded", "archived", "expired"]
Origin = Literal["human", "agent", "consolidation"]
# From the least to the most settled.
LAYERS: tuple[Layer, ...] = get_args(Layer)
# When something was observed of which nobody says when: files of other agents may hold such
# memories. It sorts before every day, and no two of them follow one another.
UNDATED = "1970-01-01T00:00:00+00:00"


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
        """Whether a run may supersede it only when the user asks for it."""
        return self.origin == "human" or self.pinned or self.layer == "core"

    def expired(self, now: str) -> bool:
        """Whether its time has ended by `now`."""
        return self.expires_at is not None and self.expires_at <= now


# In the order of the table's columns, which is the order of every statement.
COLUMNS = tuple(field.name for field in fields(Memory))
_TIMES = tuple(place for place, name in enumerate(COLUMNS) if name.endswith("_at"))
# An agent's row may lack the hash; a `Memory` has one.
_NULLABLE = {"content_hash", *(one.name for one in fields(Memory) if "None" in str(one.type))}
# The most characters of a memory that is written, or read by a night and by recall. Comparing takes
# more than linear time, and the embedding model sees about a thousand of them: what is longer is a
# document, not a memory.
MOST_CHARACTERS = 20_000
# What to do about a file in which something cannot be read.
SAVE = "Restore it from a backup, or save what can be read with 'slowwave export FILE --all'."
_NUMBERS = {
    "trust": (0, 1),
    "importance": (1, 5),
    "pinned": (0, 1),
    "generation": (0, 2**63),
    "access_count": (0, 2**63),
}
# The columns that hold JSON.
_JSON: dict[str, type] = {"tags": list, "metadata": dict}
# The columns that take one of a few words.
_WORDS: dict[str, tuple[str, ...]] = {
    "kind": get_args(Kind),
    "layer": LAYERS,
    "status": get_args(Status),
    "origin": get_args(Origin),
}


# Where what stands in a row's values. From `kind` on to `generation` they are words and numbers.
_CONTENT, _KIND, _PINNED, _SOURCE, _TAGS, _METADATA, _HASH, _COUNT = (
    COLUMNS.index(name)
    for name in (
        *("content", "kind", "pinned", "source", "tags", "metadata", "content_hash"),
        "access_count",
    )
)
_TEXTS = tuple(
    (place, name in _NULLABLE)
    for place, name in enumerate(COLUMNS)
    if name not in _NUMBERS and name not in _WORDS
)


def content_hash(content: str) -> str:
    """Return the sha256 of a text, in hexadecimal: what a vector or a decision was made from."""
    return hashlib.sha256(content.encode()).hexdigest()


def new_id() -> str:
    """Return a fresh UUIDv7, which sorts by the time it was made (RFC 9562)."""
    from uuid6 import uuid7

    return str(uuid7())


def timestamp(moment: datetime) -> str:
    """Return a moment with an offset as the file writes it: ISO 8601 in UTC."""
    return moment.astimezone(UTC).isoformat()


def next_moment(moment: str) -> str:
    """Return the next moment after one that `timestamp` wrote; as text, too, it is the later."""
    return timestamp(datetime.fromisoformat(moment) + timedelta(microseconds=1))


def in_utc(text: str) -> str:
    """Return a time that an agent wrote its own way as the file writes it.

    Without an offset it is UTC, as SQLite's own functions give it. Of a time of day that nobody
    can read the date is left: the schema sees to that one. Raises ValueError without a date.
    """
    try:
        moment = datetime.fromisoformat(text)
        return timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return f"{date.fromisoformat(text[:10]).isoformat()}T00:00:00+00:00"


_in_utc = lru_cache(maxsize=4_096)(in_utc)


def to_row(memory: Memory) -> dict[str, Any]:
    """Return a memory as the row that SQLite keeps."""
    row = {name: getattr(memory, name) for name in COLUMNS}
    return row | {
        "pinned": int(memory.pinned),
        "tags": json_text(memory.tags),
        "metadata": json_text(memory.metadata),
    }


def from_row(row: dict[str, Any]) -> Memory:
    """Return a row of SQLite as a memory, with the hash of its text if the row lacks one.

    Raises `UnusableFile` if it holds what neither we nor an agent could have written.
    """
    return from_values(tuple(row[name] for name in COLUMNS))


def from_values(values: tuple[Any, ...]) -> Memory:
    """Return the same of a row's values, in the order of the columns.

    100,000 rows are read each night: what few values repeat is looked at once.
    """
    settings = values[_KIND:_SOURCE]
    if not _are_possible(settings) or not _are_texts(values):
        _refuse_impossible(values)
    kept = list(values)
    for place in _TIMES:
        if kept[place] is not None:
            try:
                kept[place] = _in_utc(kept[place])
            except ValueError:
                raise _damaged(values[0], COLUMNS[place], kept[place]) from None
    tags, metadata, where = kept[_TAGS], kept[_METADATA], f"memory {values[0]}"
    kept[_PINNED] = bool(kept[_PINNED])
    # Most have none.
    kept[_TAGS] = () if tags == "[]" else tuple(map(str, parse_list(tags, "the tags", where)))
    has_more = metadata != "{}"
    kept[_METADATA] = parse_object(metadata, "the metadata", where) if has_more else {}
    kept[_HASH] = kept[_HASH] or content_hash(kept[_CONTENT])
    return Memory(*kept)


def require_text(value: object, what: str, where: str) -> str:
    """Return a text that the file keeps. Raises `UnusableFile` if it is not a text."""
    if not isinstance(value, str):
        raise UnusableFile(f"The file is damaged: {what} of {where}: no text.", SAVE)
    return value


def parse_object(text: object, what: str, where: str) -> dict[str, Any]:
    """Return a JSON object that the file keeps. Raises `UnusableFile` if it is not one."""
    found = _json(text)
    if not isinstance(found, dict):
        raise _unreadable(what, where, "object")
    return found


def parse_list(text: object, what: str, where: str) -> list[Any]:
    """Return a JSON array that the file keeps. Raises `UnusableFile` if it is not one."""
    found = _json(text)
    if not isinstance(found, list):
        raise _unreadable(what, where, "array")
    return found


def parse_claims(text: object, what: str, where: str) -> list[dict[str, Any]]:
    """Return the statements of a text that the file keeps. Raises `UnusableFile` if damaged."""
    found = parse_list(text, what, where)
    if not all(isinstance(one, dict) and isinstance(one.get("sources", []), list) for one in found):
        raise _unreadable(what, where, "array of statements")
    return found


def _json(text: object) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _unreadable(what: str, where: str, kind: str) -> UnusableFile:
    return UnusableFile(f"The file is damaged: {what} of {where}: no JSON {kind}.", SAVE)


@lru_cache(maxsize=1_024)
def _are_possible(settings: tuple[object, ...]) -> bool:
    """Whether the values from `kind` to `generation` are possible; a file has few of them."""
    return all(map(is_possible, COLUMNS[_KIND:_SOURCE], settings))


def _are_texts(values: tuple[object, ...]) -> bool:
    """Whether all others are texts, or missing where they may be; but for the last number."""
    return all(
        type(values[place]) is str or (values[place] is None and may_lack)
        for place, may_lack in _TEXTS
    ) and is_possible(COLUMNS[_COUNT], values[_COUNT])


def _refuse_impossible(values: tuple[object, ...]) -> None:
    for name, value in zip(COLUMNS, values, strict=True):
        if not is_possible(name, value):
            raise _damaged(values[0], name, value)


def is_possible(name: str, value: object) -> bool:
    """Whether a column of a memory can have a value, as far as that needs no other column."""
    if value is None:
        return name in _NULLABLE
    if name in _NUMBERS:
        least, most = _NUMBERS[name]
        return isinstance(value, int | float) and least <= value <= most
    if not isinstance(value, str) or value not in _WORDS.get(name, (value,)):
        return False
    if name.endswith("_at"):
        return _is_time(value)
    if name in _JSON:
        return isinstance(_json(value), _JSON[name])
    return value != "" or name not in ("content", "tenant")


def _is_time(text: str) -> bool:
    try:
        _in_utc(text)
    except ValueError:
        return False
    return True


def _damaged(memory_id: object, name: str, value: object) -> UnusableFile:
    return UnusableFile(
        f"The file is damaged: {name} of memory {memory_id} cannot be {value!r:.60}.", SAVE
    )


def json_text(value: object) -> str:
    """Return a value as compact JSON whose bytes depend on the value alone."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    # Half a surrogate pair is no UTF-8, and `\ud800` is how JSON writes it.
    return text.encode(errors="backslashreplace").decode()
