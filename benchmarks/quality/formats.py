"""The nights of 1,000 memories as files of other agents: as much found, and as little lost.

python -m benchmarks.quality.formats        by itself, since no other figure depends on it
"""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from fixtures.night import FLAVOURS, Night, Told, lines, load
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.formats.registry import format_named
from slowwave.store.mirror.mirror import Mirror

from .files import active, memory_file, night, rows
from .known import holds, keys_of, mixed

Row = dict[str, str]


def _server_memory(folder: Path, memories: Sequence[Row]) -> Path:
    entity = {"type": "entity", "name": "notes", "entityType": "agent"}
    entity["observations"] = [one["content"] for one in memories]  # type: ignore[assignment]  # JSON
    path = folder / "memory.jsonl"
    path.write_text(json.dumps(entity, ensure_ascii=False), "utf-8")
    return path


def _markdown(folder: Path, memories: Sequence[Row]) -> Path:
    path = folder / "MEMORY.md"
    path.write_text("# Notes\n\n" + "".join(f"- {one['content']}\n" for one in memories), "utf-8")
    return path


def _claude_code(folder: Path, memories: Sequence[Row]) -> Path:
    path = folder / "memory"
    path.mkdir()
    for number, one in enumerate(memories):
        (path / f"note-{number}.md").write_text(
            f"---\nname: note-{number}\ndescription: a note\nmetadata:\n  type: project\n"
            f"  originSessionId: {one['session']}\n  modified: {one['observed_at']}\n---\n\n"
            f"{one['content']}\n",
            "utf-8",
        )
    return path


WRITERS: dict[str, Callable[[Path, Sequence[Row]], Path]] = {
    "mcp-server-memory": _server_memory,
    "markdown": _markdown,
    "claude-code": _claude_code,
}


@dataclass(frozen=True)
class Renamed(Night):
    """A night whose memories go by other ids."""

    ids: dict[str, str]

    @property
    def told(self) -> list[Told]:
        """Every memory with its known answer."""
        return [replace(one, id=self.ids[one.text]) for one in super().told]


def _figures(path: Path, known: Night, texts: Sequence[str]) -> list[str]:
    """Return what a night kept, of a memory file and of what the agent reads."""
    ids = {row["content"]: row["id"] for row in rows(path, "SELECT id, content FROM memories")}
    keys = keys_of(known)
    kept = sum(any(holds(text, one) for text in texts) for one in keys.values())
    done = Counter(row["operation"] for row in rows(path, "SELECT operation FROM proposals"))
    return [
        str(len(known.told)),
        str(len(texts)),
        f"{sum(map(len, (one.text for one in known.told)))} -> {sum(map(len, texts))}",
        f"{kept} of {len(keys)}",
        str(len(mixed(path, Renamed(**vars(known), ids=ids)))),
        ", ".join(f"{count} {name}" for name, count in sorted(done.items())),
    ]


def main() -> None:
    """Print a table: each flavour as a memory file of our own and in each format."""
    embedder = SentenceEmbedder()
    console = Console(width=130)
    console.print(f"Python {platform.python_version()}, {platform.machine()}; one run each")
    titles = ("night", "as", "memories", "left", "characters", "facts kept", "wrong", "applied")
    table = Table(*titles)
    for flavour in FLAVOURS:
        known = load(flavour)
        told: list[Row] = [json.loads(line) for line in lines(known)]
        with memory_file(lines(known)) as path:
            night(path, embedder)
            texts = [row["content"] for row in active(path)]
            table.add_row(flavour, "a memory file", *_figures(path, known, texts))
        for name, write in WRITERS.items():
            with TemporaryDirectory() as folder:
                mirror = Mirror(
                    write(Path(folder), told), format_named(name), Path(folder) / "state.db"
                )
                mirror.make()
                mirror.settle(datetime.now(UTC))
                night(mirror.state, embedder)
                mirror.settle(datetime.now(UTC))
                with mirror.format.opened(mirror.path, writes=False) as other:
                    texts = [one.text for one in other.records]
                table.add_row(flavour, name, *_figures(mirror.state, known, texts))
    console.print(table)


if __name__ == "__main__":
    main()
