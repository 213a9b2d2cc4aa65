"""Where agents keep their memories: the files of the agent that works in a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from slowwave.cli.arguments.settings import FILE_VARIABLE
from slowwave.store.errors import StoreError
from slowwave.store.file import open_any_version
from slowwave.store.memories import tenants
from slowwave.store.validate import is_memory_file

from .known_formats import recognised
from .text_file import text_of

# Claude Code replaces these in the path of a project to name its folder.
_NOT_IN_A_SLUG = re.compile(r"[^A-Za-z0-9]")
_OWN = "slowwave"


@dataclass(frozen=True)
class FoundMemory:
    """A memory at a place where an agent keeps its own."""

    agent: str
    path: Path
    # The value of --format, or "slowwave" for a memory file.
    format: str


def find_memories(
    folder: Path, transcript: Path | None = None, is_daily: bool = False
) -> list[FoundMemory]:
    """Return the memories of agents that work in a folder, the nearest first.

    transcript: a session of Claude Code, next to its memory. is_daily: with the files of days.
    """
    memory_by_path: dict[Path, FoundMemory] = {}
    for agent, path in _places(folder, transcript, is_daily):
        try:
            real = path.resolve()
            if real not in memory_by_path and (format := _format_of(path)) is not None:
                memory_by_path[real] = FoundMemory(agent, path, format)
        except (OSError, RuntimeError, ValueError, StoreError):
            continue  # a place that cannot be read has no memory
    return list(memory_by_path.values())


def _format_of(path: Path) -> str | None:
    if is_memory_file(path):
        with open_any_version(path) as file:
            return _OWN if tenants(file) else None  # the MCP server creates an empty one
    return next((format.name for format in recognised(path)), None)


def _places(folder: Path, transcript: Path | None, is_daily: bool) -> Iterator[tuple[str, Path]]:
    """Yield each place that may have a memory, with its agent."""
    home = Path.home()
    if (named := os.environ.get(FILE_VARIABLE, "")) and "://" not in named:
        yield _OWN, Path(named)
    if transcript is not None:
        yield "Claude Code", transcript.parent / "memory"
    claude = _folder_of("CLAUDE_CONFIG_DIR", home / ".claude")
    for project in _projects(folder):
        yield "Claude Code", claude / "projects" / _NOT_IN_A_SLUG.sub("-", str(project)) / "memory"
    yield _OWN, folder / "memory.db"
    yield "MCP memory server", folder / "memory.jsonl"
    yield "MCP memory server", _folder_of("MEMORY_FILE_PATH", folder / "memory.jsonl")
    openclaw = _folder_of("OPENCLAW_STATE_DIR", home / ".openclaw") / "workspace"
    hermes = _folder_of("HERMES_HOME", home / ".hermes") / "memories"
    for name in ("MEMORY.md", "USER.md"):
        yield "this folder", folder / name
        yield "OpenClaw", openclaw / name
        yield "Hermes Agent", hermes / name
    yield "Codex", _folder_of("CODEX_HOME", home / ".codex") / "memories" / "MEMORY.md"
    yield "Gemini CLI", home / ".gemini" / "GEMINI.md"
    yield _OWN, home / ".slowwave.db"
    for agent, above in (("this folder", folder), ("OpenClaw", openclaw)) if is_daily else ():
        yield from ((agent, path) for path in sorted(above.glob("memory/*.md"), reverse=True))


def project_of(memory: Path) -> Path | None:
    """Return the project of a memory folder of Claude Code; None if it cannot be found."""
    folder = memory.resolve().parent
    if folder.parent.name != "projects":
        return folder.parent if folder.name == ".claude" else folder
    return next(_with_slug(Path(folder.anchor), folder.name), None)


def _with_slug(folder: Path, slug: str) -> Iterator[Path]:
    if not slug:
        yield folder
        return
    try:
        below = sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return
    for path in below:
        named = f"-{_NOT_IN_A_SLUG.sub('-', path.name)}"
        if slug == named or slug.startswith(f"{named}-"):
            yield from _with_slug(path, slug.removeprefix(named))


def _folder_of(variable: str, default: Path) -> Path:
    """Return what an agent's own variable names, or its default."""
    named = os.environ.get(variable)
    return Path(named) if named else default


def _projects(folder: Path) -> Iterator[Path]:
    """Yield a folder and, within a git repository, its parents up to the repository's own."""
    folder = folder.resolve()
    yield folder
    root = None
    with suppress(OSError):  # a folder that cannot be searched
        root = next(
            (candidate for candidate in (folder, *folder.parents) if (candidate / ".git").exists()),
            None,
        )
    if root is None:
        return
    for parent in folder.parents:
        if parent.is_relative_to(root):
            yield parent
    if link := text_of(root / ".git"):  # a worktree has the memory of its repository
        git = root / link.removeprefix("gitdir:").strip()
        yield git.resolve().parent.parent.parent
