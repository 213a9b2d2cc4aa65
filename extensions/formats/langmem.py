"""LangMem's memories as values of LangGraph's stores, whichever database those lie in.

A memory is a value {"content": "..."} or {"kind": "Memory", "content": {"content": "..."}};
profiles and whatever has another form are left alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from slowwave.store.records import timestamp

from .base import Record, Unreadable
from .lent_model import LentModel

# What leaves moves to this namespace: no search of the package's own finds it there.
ARCHIVE = "slowwave_superseded"
# How the keys of texts that we added begin: these do not move, they go.
OURS = "slowwave-"


def key_of(prefix: str, name: str, text: str) -> str:
    """Return what identifies a memory until somebody edits it."""
    said = sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
    return json.dumps([prefix, name, said])


def place_of(key: str) -> tuple[str, str]:
    """Return a memory's namespace and its name there."""
    prefix, name, _ = json.loads(key)
    return prefix, name


def spelled(value: object) -> str:
    """Return JSON as the package writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def value_saying(text: str, like: object) -> dict[str, Any]:
    """Return a text as a value of the form that another one has."""
    content = {"content": text}
    is_of_a_kind = isinstance(like, dict) and "kind" in like
    return {"kind": "Memory", "content": content} if is_of_a_kind else content


def indexed(value: object, field: str) -> str | None:
    """Return what the package computes a field's vector of; None if that is not known."""
    if field == "$":
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    for name in field.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def all_indexed(value: object, fields: Sequence[str]) -> list[str]:
    """Return what the package computes the vectors of some fields of, as far as is known."""
    return [text for text in (indexed(value, field) for field in fields) if text is not None]


def vector_of(value: object, field: str, model: LentModel | None) -> bytes:
    """Return the vector of a value's field. Raises `Unreadable` if there can be none."""
    text = indexed(value, field)
    if text is None or model is None:
        raise Unreadable(f"The store has vectors of a field that slowwave cannot fill: {field}")
    return model.vector(text)


def text_of(value: bytes | str) -> str | None:
    """Return what a memory says; None of a value of another form."""
    try:
        found: Any = json.loads(value)
    except ValueError:
        return None
    if isinstance(found, dict) and found.keys() == {"kind", "content"}:
        found = found["content"] if found["kind"] == "Memory" else None
    if not isinstance(found, dict) or found.keys() != {"content"}:
        return None
    return found["content"] if isinstance(found["content"], str) else None


def record_of(prefix: str, name: str, value: bytes | str, created: str | None) -> Record | None:
    """Return the memory that a value is; None of a value of another form."""
    text = text_of(value)
    if text is None:
        return None
    moment = None if created is None else moment_of(created)
    return Record(key_of(prefix, name, text), prefix, text, moment)


def moment_of(text: str) -> str | None:
    """Return a time as slowwave spells it; None of what is none."""
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
