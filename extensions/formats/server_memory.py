"""The MCP memory server's memory.jsonl: entities with observations, and relations between them.

@modelcontextprotocol/server-memory, 2026.8.31. It drops whatever it does not know when it saves,
so nothing of ours can stand in the file. A memory is an observation, and its entity the tenant:
the subject often stands in the entity's name alone ("Prefers morning meetings").
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .base import New, Unreadable
from .document import Block, Document, Entry
from .text_file import TextFormat, lines_of, text_of

_BLANKS = " \t\r\n"
_DECODER = json.JSONDecoder()


class ServerMemory(TextFormat):
    """A file of the MCP memory server."""

    name = "mcp-server-memory"
    about = "the MCP memory server's memory.jsonl (MEMORY_FILE_PATH)"
    holds = "an observation of an entity; nothing is joined across entities"

    def recognises(self, path: Path) -> bool:
        """Whether each line is an entity or a relation, and there is one."""
        text = text_of(path)
        if text is None or not text.lstrip().startswith("{"):
            return False
        try:
            return any(isinstance(one, Block) for one in self.parse(text, path).parts)
        except Unreadable:
            return False

    def parse(self, text: str, path: Path) -> Document:
        """Take the lines apart, and of entities their observations."""
        parts: list[str | Block] = []
        for number, line in enumerate(lines_of(text), start=1):
            if line.strip():
                parts += _parts_of(line, f"Line {number} of {path}")
            else:
                parts.append(line)
        return Document(parts)

    def spell(self, new: New, document: Document) -> str:
        """Return a text as the server writes it: JSON, and letters beyond ASCII as they are."""
        return json.dumps(new.text, ensure_ascii=False)


def _parts_of(line: str, where: str) -> Iterator[str | Block]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise Unreadable(f"{where} is not JSON.") from None
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "entity" and _is_entity(value):
        start, end = _observations(line)
        yield line[: start + 1]
        yield Block(value["name"], ",", list(_entries(line[start + 1 : end])))
        yield line[end:]
    elif kind == "relation":
        yield line
    else:
        raise Unreadable(f"{where} is no entity and no relation.")


def _is_entity(value: dict[str, Any]) -> bool:
    observations = value.get("observations")
    return (
        isinstance(value.get("name"), str)
        and value["name"] != ""
        and isinstance(observations, list)
        and all(isinstance(one, str) for one in observations)
    )


def _observations(line: str) -> tuple[int, int]:
    """Return where the array of observations begins and ends; of several the last, as JSON has."""
    found = (0, 0)
    at = _next(line, line.index("{") + 1)
    while line[at] != "}":
        name, at = _DECODER.raw_decode(line, at)
        at = _next(line, _next(line, at) + 1)
        _, end = _DECODER.raw_decode(line, at)
        if name == "observations":
            found = (at, end - 1)
        at = _next(line, end)
        if line[at] == ",":
            at = _next(line, at + 1)
    return found


def _entries(inside: str) -> Iterator[Entry]:
    """Yield the strings of an array, each with the blanks around it."""
    at, start = _next(inside, 0), 0
    while at < len(inside):
        text, end = _DECODER.raw_decode(inside, at)
        comma = _next(inside, end)
        yield Entry(text, inside[start:comma])
        start = comma + 1
        at = _next(inside, start)


def _next(text: str, at: int) -> int:
    """Return the place of the next sign that is no blank."""
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at
