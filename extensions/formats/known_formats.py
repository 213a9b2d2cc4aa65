"""The formats that there are: ours, and those that other packages declare."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from slowwave.store.errors import NotFound

from .base import Format

GROUP = "slowwave.formats"


@cache
def own_formats() -> dict[str, type[Format]]:
    """Return the formats that slowwave brings along, by their names."""
    from .claude_code import ClaudeCode
    from .claude_mem import ClaudeMem
    from .hermes import Hermes
    from .langgraph import LangGraph
    from .markdown import Markdown
    from .mcp_memory_service import McpMemoryService
    from .server_memory import ServerMemory

    texts = ServerMemory, Hermes, Markdown, ClaudeCode
    return {one.name: one for one in (*texts, McpMemoryService, LangGraph, ClaudeMem)}


def all_formats() -> dict[str, type[Format]]:
    """Return all formats; the code of the packages that declare others is loaded for it."""
    others = {one.name: one.load() for one in entry_points(group=GROUP)}
    return own_formats() | {
        name: kind for name, kind in others.items() if name not in own_formats()
    }


def format_named(name: str) -> Format:
    """Return the format of this name. Raises `NotFound`."""
    found = own_formats().get(name)
    if found is not None:
        return found()
    for point in entry_points(group=GROUP, name=name):
        kind: type[Format] = point.load()
        return kind()
    known = [*own_formats(), *(one.name for one in entry_points(group=GROUP))]
    raise NotFound(f"There is no format '{name}'.", f"There are: {', '.join(known)}.")


def recognised(path: Path) -> list[Format]:
    """Return those of our own formats that a file may be of; others have to be named."""
    return [one for one in (kind() for kind in own_formats().values()) if one.recognises(path)]
