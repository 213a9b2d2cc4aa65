"""The nights of 1,000 memories as files of other agents: as much found, and as little lost.

python -m benchmarks.quality.formats [--dream PATH/dream.py]
With github.com/Da7-Tech/dream, which consolidates Markdown without a model too, beside it: both on
the first 300 memories of each night, since it takes no 1,000, and on labeled pairs, two a file.
"""

from __future__ import annotations

import argparse
import json
import platform
import sqlite3
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from fixtures.night import FLAVOURS, Night, Told, lines, load
from fixtures.real_vec0 import make_memory_service
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.vectors.embedder import Embedder, SentenceEmbedder
from slowwave.extensions.formats.known_formats import format_named
from slowwave.extensions.formats.lent_model import LentModel
from slowwave.extensions.formats.mirror.mirror import Mirror

from .files import active, memory_file, night, rows
from .known import holds, keys_of, mixed

Row = dict[str, str]

_PAIRS = Path(__file__).parents[2] / "fixtures" / "quality" / "pairs-held-out.toml"
# A file of each package, as it leaves it.
_RECORDED = Path(__file__).parents[2] / "tests" / "extensions" / "formats" / "recorded"
# What can be done in a file that takes no new texts.
_MERGES = CycleOptions(only=frozenset({"merge"}))
# It compares each with each, and gives up at 200,000 comparisons.
_MAX_OF_DREAM = 300


def _server_memory(folder: Path, memories: Sequence[Row]) -> Path:
    entity = {"type": "entity", "name": "notes", "entityType": "agent"}
    entity["observations"] = [memory["content"] for memory in memories]  # type: ignore[assignment]  # JSON
    path = folder / "memory.jsonl"
    path.write_text(json.dumps(entity, ensure_ascii=False), "utf-8")
    return path


def _markdown(folder: Path, memories: Sequence[Row]) -> Path:
    path = folder / "MEMORY.md"
    path.write_text(
        "# Notes\n\n" + "".join(f"- {memory['content']}\n" for memory in memories), "utf-8"
    )
    return path


def _claude_code(folder: Path, memories: Sequence[Row]) -> Path:
    path = folder / "memory"
    path.mkdir()
    for number, item in enumerate(memories):
        (path / f"note-{number}.md").write_text(
            f"---\nname: note-{number}\ndescription: a note\nmetadata:\n  type: project\n"
            f"  originSessionId: {item['session']}\n  modified: {item['observed_at']}\n---\n\n"
            f"{item['content']}\n",
            "utf-8",
        )
    return path


def _hermes(folder: Path, memories: Sequence[Row]) -> Path:
    path = folder / "memories" / "MEMORY.md"
    path.parent.mkdir()
    path.write_text("\n§\n".join(memory["content"] for memory in memories), "utf-8")
    return path


def _database(folder: Path, name: str) -> Path:
    """Make the tables of a package, as the recorded file has them, without its rows."""
    path = folder / "agent.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript((_RECORDED / f"{name}.sql").read_text("utf-8"))
    return path


def _memory_service(folder: Path, memories: Sequence[Row]) -> Path:
    path = folder / "agent.db"
    make_memory_service(
        path,
        [
            {
                "content": memory["content"],
                "created_at": datetime.fromisoformat(memory["observed_at"]).timestamp(),
            }
            for memory in memories
        ],
        SentenceEmbedder().encode,
    )
    return path


def _langgraph(folder: Path, memories: Sequence[Row]) -> Path:
    path = _database(folder, "langgraph")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM store")
        db.executemany(
            "INSERT INTO store (prefix, key, value, created_at) VALUES ('memories', ?, ?, ?)",
            [
                (
                    memory["id"],
                    json.dumps({"content": memory["content"]}).encode(),
                    memory["observed_at"],
                )
                for memory in memories
            ],
        )
    return path


def _langgraph_with_vectors(folder: Path, memories: Sequence[Row]) -> Path:
    path = _langgraph(folder, memories)
    vectors = SentenceEmbedder().encode([memory["content"] for memory in memories])
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "CREATE TABLE store_vectors (prefix, key, field_name, embedding, created_at, "
            "updated_at, PRIMARY KEY (prefix, key, field_name))"
        )
        db.executemany(
            "INSERT INTO store_vectors VALUES ('memories', ?, 'content', ?, NULL, NULL)",
            [
                (item["id"], vector.tobytes())
                for item, vector in zip(memories, vectors, strict=True)
            ],
        )
    return path


WRITERS: dict[str, Callable[[Path, Sequence[Row]], Path]] = {
    "mcp-server-memory": _server_memory,
    "markdown": _markdown,
    "claude-code": _claude_code,
    "hermes": _hermes,
    "mcp-memory-service": _memory_service,
    "langgraph": _langgraph,
    "langgraph, vectors": _langgraph_with_vectors,
}


@dataclass(frozen=True)
class Renamed(Night):
    """A night whose memories go by other ids."""

    ids: dict[str, str]

    @property
    def told(self) -> list[Told]:
        """Every memory with its known answer."""
        return [replace(text, id=self.ids[text.text]) for text in super().told]


def _figures(path: Path, known: Night, texts: Sequence[str]) -> list[str]:
    """Return what a night kept, of a memory file and of what the agent reads."""
    ids = {row["content"]: row["id"] for row in rows(path, "SELECT id, content FROM memories")}
    keys = keys_of(known)
    kept = sum(any(holds(text, key) for text in texts) for key in keys.values())
    done = Counter(row["operation"] for row in rows(path, "SELECT operation FROM proposals"))
    return [
        str(len(known.told)),
        str(len(texts)),
        f"{sum(map(len, (text.text for text in known.told)))} -> {sum(map(len, texts))}",
        f"{kept} of {len(keys)}",
        str(len(mixed(path, Renamed(**vars(known), ids=ids)))),
        ", ".join(f"{count} {name}" for name, count in sorted(done.items())),
    ]


def _bullets(consolidate: Callable[[Path], None], texts: Sequence[str]) -> list[str]:
    """Return the bullets that are left of some, in a file of their own."""
    with TemporaryDirectory() as folder:
        path = _markdown(Path(folder), [{"content": text} for text in texts])
        consolidate(path)
        lines = path.read_text("utf-8").splitlines()
    return [line[2:] for line in lines if line.startswith("- ")]


def _side_by_side(dream: Path, embedder: Embedder) -> Iterator[tuple[str, ...]]:
    """Yield a row for each tool on each file."""

    def theirs(path: Path) -> None:
        command = [sys.executable, str(dream.resolve()), str(path), "--apply", "--quiet"]
        options = ["--format", "bullets"]
        subprocess.run(  # noqa: S603 - the program that the user names
            [*command, *options], check=True, capture_output=True, cwd=path.parent
        )

    def ours(path: Path) -> None:
        _maintained(path, "markdown", path.parent / "state.db", embedder)

    tools = {"dream": theirs, "slowwave": ours}
    for flavour in FLAVOURS:
        known = load(flavour)
        told = [json.loads(line)["content"] for line in lines(known)][:_MAX_OF_DREAM]
        keys = [item for item in keys_of(known).values() if any(holds(text, item) for text in told)]
        for name, tool in tools.items():
            left = _bullets(tool, told)
            kept = sum(any(holds(text, key) for text in left) for key in keys)
            characters = f"{sum(map(len, told))} -> {sum(map(len, left))}"
            yield flavour, name, str(len(left)), characters, f"{kept} of {len(keys)}"
    pairs = tomllib.loads(_PAIRS.read_text("utf-8"))["pair"]
    for same in (True, False):
        some = [(pair["left"], pair["right"]) for pair in pairs if pair["same"] is same]
        for name, tool in tools.items():
            joined = sum(len(_bullets(tool, item)) < 2 for item in some)
            what = f"pairs that {'say the same' if same else 'differ'}"
            yield what, name, f"{joined} of {len(some)} joined", "", ""


def _maintained(path: Path, name: str, state: Path, embedder: Embedder) -> Mirror:
    """Let a night go over another agent's file."""
    format = format_named(name)
    format.model = LentModel(embedder.name, embedder.encode)
    mirror = Mirror(path, format, state)
    mirror.make()
    mirror.settle(datetime.now(UTC))
    takes_texts = mirror.format.why_no_texts(path) is None
    night(mirror.state, embedder, options=CycleOptions() if takes_texts else _MERGES)
    mirror.settle(datetime.now(UTC))
    return mirror


def main() -> None:
    """Print a table: each flavour as a memory file of our own and in each format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dream", type=Path, help="its dream.py")
    dream = parser.parse_args().dream
    embedder = SentenceEmbedder()
    console = Console(width=130)
    console.print(f"Python {platform.python_version()}, {platform.machine()}; one run each")
    if dream is not None:
        beside = Table("file", "tool", "left", "characters", "facts kept")
        for row in _side_by_side(dream, embedder):
            beside.add_row(*row)
        console.print(beside)
        return
    titles = ("night", "as", "memories", "left", "characters", "facts kept", "wrong", "applied")
    table = Table(*titles)
    for flavour in FLAVOURS:
        known = load(flavour)
        told: list[Row] = [json.loads(line) for line in lines(known)]
        for title, options in (("a memory file", CycleOptions()), ("merges alone", _MERGES)):
            with memory_file(lines(known)) as path:
                night(path, embedder, options=options)
                texts = [row["content"] for row in active(path)]
                table.add_row(flavour, title, *_figures(path, known, texts))
        for name, write in WRITERS.items():
            with TemporaryDirectory() as folder:
                path = write(Path(folder), told)
                mirror = _maintained(path, name.split(",")[0], Path(folder) / "state.db", embedder)
                with mirror.format.opened(mirror.path, writes=False) as other:
                    texts = [record.text for record in other.records]
                table.add_row(flavour, name, *_figures(mirror.state, known, texts))
    console.print(table)


if __name__ == "__main__":
    main()
