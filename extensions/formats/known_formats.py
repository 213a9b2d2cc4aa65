"""All formats: slowwave's own, and those that other packages register."""

from __future__ import annotations

import shlex
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from slowwave.store.errors import NotFound, UnusableFile, file_errors
from slowwave.store.opening import is_database

from .base import Format

GROUP = "slowwave.formats"
# The prefix of the format of a table that the user describes.
_TABLE = "table:"


@cache
def own_formats() -> dict[str, type[Format]]:
    """Return the formats of slowwave, by name."""
    from .claude_code import ClaudeCode
    from .claude_mem import ClaudeMem
    from .hermes import Hermes
    from .langgraph import LangGraph
    from .markdown import Markdown
    from .mcp_memory_service import McpMemoryService
    from .server_memory import ServerMemory

    texts = ServerMemory, Hermes, Markdown, ClaudeCode
    return {kind.name: kind for kind in (*texts, McpMemoryService, LangGraph, ClaudeMem)}


def all_formats() -> dict[str, type[Format]]:
    """Return all formats, by name; this loads the packages that register some."""
    own = own_formats()
    points = entry_points(group=GROUP)
    return own | {point.name: point.load() for point in points if point.name not in own}


def format_named(name: str) -> Format:
    """Return the format of this name. Raises `NotFound`, and wrong usage for a bad table:..."""
    if name.startswith(_TABLE):
        from .table import UserTable

        return UserTable(name.removeprefix(_TABLE))
    if (own := own_formats().get(name)) is not None:
        return own()
    points = {point.name: point for point in entry_points(group=GROUP)}
    if name not in points:
        available = ", ".join(own_formats() | points)
        raise NotFound(f"There is no format '{name}'.", f"Available: {available}.")
    # Another package's format may be broken: only this one is loaded.
    kind: type[Format] = points[name].load()
    return kind()


def recognised(path: Path) -> list[Format]:
    """Return the formats of slowwave that a file may have; others must be specified."""
    return [format for kind in own_formats().values() if (format := kind()).recognises(path)]


def unrecognised(path: Path) -> UnusableFile:
    """Return the error that a file has no known format, with what to try."""
    from .markdown import Markdown
    from .text_file import text_of

    with file_errors("read", path, error_type=UnusableFile):
        if not path.exists():
            return UnusableFile(f"There is no file {path}.", "Check the path.")
    if path.is_file() and not is_database(path) and text_of(path) is None:
        return UnusableFile(f"{path} is not valid UTF-8.", "If it is a text, save it as UTF-8.")
    named = f"slowwave maintain {shlex.quote(str(path))} --format {Markdown.name} --dry-run"
    return UnusableFile(
        f"{path} does not have a format that slowwave recognizes.",
        f"It has bullets; to preview these: {named}"
        if Markdown().has_bullets(path)
        else "'slowwave formats' lists those that it knows.",
    )
