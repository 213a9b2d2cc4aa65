"""Export the readable part of a damaged file as JSON Lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from .damaged_rows import EDGES, ENTITIES, MEMORIES, MENTIONS, VECTORS, Row, View, open_damaged
from .errors import UnusableFile, file_errors
from .jsonl import parse_line
from .records import COLUMNS, content_hash, json_text, read_json
from .vectors import is_sound, to_numbers


@dataclass
class Salvaged:
    """Counts of a salvage; final after the last line."""

    saved: int = 0
    # Saved memories of which a part is missing or corrupt.
    partly: int = 0
    # Memories whose text or id is unreadable.
    lost: int = 0
    # Unreadable rows of lineage, vectors and names.
    loose: int = 0


def salvage_lines(path: Path, everything: bool, count: Salvaged) -> Iterator[str]:
    """Yield a JSON line for each readable memory, and count them. Raises `UnusableFile`."""
    with file_errors("read", path, error_type=UnusableFile), open_damaged(path) as view:
        yield from _Salvager(view, everything, count).lines()


@dataclass
class _Salvager:
    """Assembles the lines of memories from their readable rows."""

    view: View
    everything: bool
    count: Salvaged
    # By id of a memory.
    keys: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    vectors: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)
    edges: dict[str, list[Row]] = field(default_factory=dict)
    # By embedding model.
    dimensions: dict[str, int] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """Yield the lines. Reads all keys first, but keeps no texts in memory."""
        self._find_memories()
        self._find_vectors()
        self._find_names()
        self._find_edges()
        for memory_id in sorted(self.keys):
            line = self._line(memory_id)
            if line is not None:
                yield line

    def _find_memories(self) -> None:
        listed = self.view.known(MEMORIES)
        for key in self.view.keys(MEMORIES):
            row = self.view.row(MEMORIES, key) or {}
            memory_id = _text(row.get("id"))
            if memory_id and row.get("content") and _is_memory(row):
                self.keys.setdefault(memory_id, key)
            elif row or key in listed:
                self.count.lost += 1

    def _find_vectors(self) -> None:
        sizes: dict[str, Counter[int]] = {}
        listed = self.view.known(VECTORS)
        for key in self.view.keys(VECTORS):
            row = self.view.row(VECTORS, key) or {}
            self.count.loose += key in listed and not row
            memory_id, model = _text(row.get("memory_id")), _text(row.get("model"))
            blob = row.get("vector", b"")
            if is_sound(blob) and model and memory_id in self.keys:
                self.vectors.setdefault(memory_id, []).append(key)
                sizes.setdefault(model, Counter())[len(blob) // 4] += 1
        self.dimensions = {model: count.most_common(1)[0][0] for model, count in sizes.items()}

    def _find_names(self) -> None:
        rows = (self.view.row(ENTITIES, key) for key in self.view.keys(ENTITIES))
        names = {row.get("id"): _text(row.get("name")) for row in rows if row}
        for key in self.view.keys(MENTIONS):
            name = names.get(key[1])
            self.count.loose += not name
            if name:
                self.names.setdefault(_text(key[0]), []).append(name)

    def _find_edges(self) -> None:
        for key in self.view.keys(EDGES):
            row = self.view.row(EDGES, key)
            self.count.loose += not row
            if row:
                edge = {name: _value(value) for name, value in row.items()}
                self.edges.setdefault(str(edge.pop("derived_id")), []).append(edge)

    def _line(self, memory_id: str) -> str | None:
        row = self.view.row(MEMORIES, self.keys[memory_id]) or {}
        fields = {name: _value(value) for name, value in row.items() if value is not None}
        if not self.everything and fields.get("status", "active") != "active":
            return None
        partly = _is_incomplete(row)
        text_hash = fields.pop("content_hash", None)
        fields |= self._belongings(memory_id, text_hash)
        if text_hash not in (None, content_hash(str(fields.get("content")))):
            fields["content_hash"], partly = text_hash, True
        for name in ("tags", "metadata"):
            fields[name] = read_json(fields.get(name))
        if "pinned" in fields:
            fields["pinned"] = bool(fields["pinned"])
        if not self.everything:
            fields.pop("superseded_by", None)
            fields.pop("superseded_at", None)
        elif fields.get("superseded_by") not in (None, *self.keys):
            del fields["superseded_by"]
            partly = True
        importable = _importable(fields)
        if importable is None:
            self.count.lost += 1
            return None
        self.count.saved += 1
        self.count.partly += partly or importable != fields
        return json_text(importable)

    def _belongings(self, memory_id: str, text_hash: object) -> Row:
        vectors = [self.view.row(VECTORS, key) or {} for key in self.vectors.get(memory_id, ())]
        embeddings = [
            {"model": model, "vector": to_numbers(row["vector"])}
            for row in vectors
            if (model := _text(row.get("model"))) in self.dimensions
            and len(row["vector"]) // 4 == self.dimensions[model]
            and _text(row.get("content_hash")) == text_hash
        ]
        edges = self.edges.get(memory_id, [])
        if not self.everything:
            edges = [edge | {"source_content": self._text_of(edge)} for edge in edges]
        return {
            "more_embeddings": embeddings,
            "entities": sorted(self.names.get(memory_id, [])),
            "synthesized_from": edges,
        }

    def _text_of(self, edge: Row) -> Any:
        """Return the text of a source that is not exported itself."""
        stored, source = edge.get("source_content"), self.keys.get(edge["source_id"])
        row = source and self.view.row(MEMORIES, source)
        if stored is not None or not row or row.get("status") == b"active":
            return stored
        return _value(row.get("content"))


def _importable(fields: Row) -> Row | None:
    """Return the fields that an import accepts; None if it would reject the memory."""
    remaining = dict(fields)
    for _ in range(len(fields) + 1):
        try:
            parse_line(json_text(remaining).encode())
            return remaining
        except ValidationError as error:
            places = {detail["loc"][:2] for detail in error.errors(include_url=False)}
            for name in {place[0] for place in places if place}:
                invalid = {place[1] for place in places if place[0] == name and len(place) > 1}
                items = remaining.pop(str(name))
                if isinstance(items, list) and invalid:
                    valid = [item for index, item in enumerate(items) if index not in invalid]
                    remaining[str(name)] = valid
            if "content" not in remaining or "id" not in remaining:
                return None
    return None


def _is_memory(row: Row) -> bool:
    """Whether a row is a memory, and not the remains of another table in a reused page."""
    return any(_is_date(row.get(name)) for name in ("observed_at", "created_at", "updated_at"))


def _is_date(value: object) -> bool:
    try:
        return bool(date.fromisoformat(_text(value)[:10]))
    except ValueError:
        return False


def _is_incomplete(row: Row) -> bool:
    """Whether columns are missing, or the text is not UTF-8."""
    return len(row) < len(COLUMNS) or row["content"] != _text(row["content"]).encode()


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else ""


def _value(value: object) -> Any:
    return _text(value) if isinstance(value, bytes) else value
