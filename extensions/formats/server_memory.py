"""The MCP memory server's memory.jsonl: entities with observations, and relations between them.

@modelcontextprotocol/server-memory, 2026.8.31. It drops what it does not know when it saves, so
the file cannot contain marks of slowwave. A memory is an observation, and its entity the tenant:
often only the entity's name has the subject ("Prefers morning meetings").
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .base import New, Unreadable
from .document import Block, Document, Entry
from .text_file import TextFormat, lines_of, split_byte_order_mark, text_of

_SPACES = " \t\r\n"
# The start of an entity as the server writes it; the rest of the line may be broken.
_ENTITY = re.compile(r'^\ufeff?\s*\{[^\n]*"type"\s*:\s*"entity"', re.MULTILINE)
_DECODER = json.JSONDecoder()


class ServerMemory(TextFormat):
    """A file of the MCP memory server."""

    name = "mcp-server-memory"
    about = "the MCP memory server's memory.jsonl (MEMORY_FILE_PATH)"
    holds = "an observation of an entity; different entities are never merged"

    def recognises(self, path: Path) -> bool:
        """Whether a line is an entity, even if others are broken."""
        text = text_of(path)
        return text is not None and _ENTITY.search(text) is not None

    def parse(self, text: str, path: Path) -> Document:
        """Split the lines, and the observations of entities."""
        if split_byte_order_mark(text)[0]:
            raise Unreadable(
                f"{path} starts with a byte order mark, with which its agent cannot read it.",
                "Save it as UTF-8 without the mark.",
            )
        parts: list[str | Block] = []
        for number, line in enumerate(lines_of(text), start=1):
            if line.strip():
                parts += _parts_of(line, f"Line {number} of {path}")
            else:
                parts.append(line)
        return Document(parts)

    def spell(self, new: New, document: Document) -> str:
        """Return a text as the server writes it: JSON, with letters beyond ASCII unescaped."""
        return json.dumps(new.text, ensure_ascii=False)


def _parts_of(line: str, where: str) -> Iterator[str | Block]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise Unreadable(f"{where} is not JSON.", "Correct or remove the line.") from None
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "entity":
        if fault := _fault(value):
            raise Unreadable(f"{where} is an entity {fault}.", "Correct or remove the line.")
        start, end = _observations(line)
        yield line[: start + 1]
        yield _block(value["name"], list(_entries(line[start + 1 : end])))
        yield line[end:]
    elif kind == "relation":
        yield line
    else:
        raise Unreadable(
            f"{where} is neither an entity nor a relation.", "Correct or remove the line."
        )


def _block(tenant: str, entries: list[Entry]) -> Block:
    """Return the entries of an entity; spaces after each comma are between them."""
    for entry in entries[1:]:
        start = _skip_spaces(entry.raw, 0)
        entry.gap, entry.raw = f",{entry.raw[:start]}", entry.raw[start:]
    separator = next((entry.gap for entry in entries[1:] if entry.gap), ",")
    return Block(tenant, separator, entries, subject=tenant)


def _fault(entity: dict[str, Any]) -> str | None:
    """Return what is wrong with an entity, or None."""
    name, observations = entity.get("name"), entity.get("observations")
    if not isinstance(name, str) or not name:
        return "without a name"
    if not isinstance(observations, list):
        return "without a list of observations"
    numbers = (n for n, text in enumerate(observations, start=1) if not isinstance(text, str))
    return next((f"whose observation {number} is not text" for number in numbers), None)


def _observations(line: str) -> tuple[int, int]:
    """Return where the array of observations begins and ends; of duplicate keys the last counts."""
    span = (0, 0)
    position = _skip_spaces(line, line.index("{") + 1)
    while line[position] != "}":
        name, position = _DECODER.raw_decode(line, position)
        position = _skip_spaces(line, _skip_spaces(line, position) + 1)
        _, end = _DECODER.raw_decode(line, position)
        if name == "observations":
            span = (position, end - 1)
        position = _skip_spaces(line, end)
        if line[position] == ",":
            position = _skip_spaces(line, position + 1)
    return span


def _entries(inside: str) -> Iterator[Entry]:
    """Yield the strings of an array, each with the spaces around it."""
    position, start = _skip_spaces(inside, 0), 0
    while position < len(inside):
        text, end = _DECODER.raw_decode(inside, position)
        comma = _skip_spaces(inside, end)
        yield Entry(text, inside[start:comma])
        start = comma + 1
        position = _skip_spaces(inside, start)


def _skip_spaces(text: str, position: int) -> int:
    while position < len(text) and text[position] in _SPACES:
        position += 1
    return position
