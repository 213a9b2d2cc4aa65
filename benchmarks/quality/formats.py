"""Nights on 1,000 memories in the formats of other agents, compared with a memory file.

python -m benchmarks.quality.formats [--dream PATH/dream.py]
--dream compares with github.com/Da7-Tech/dream, which also consolidates Markdown without a model:
on the first 300 memories of each night, since it gives up on 1,000, and on files of labeled pairs.
"""

from __future__ import annotations

import argparse
import json
import platform
import sqlite3
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from fixtures.night import FLAVOURS, Night, lines, load
from fixtures.real_vec0 import make_memory_service
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.vectors.embedder import Embedder, SentenceEmbedder
from slowwave.extensions.formats.known_formats import format_named
from slowwave.extensions.formats.mirror.mirror import Mirror
from slowwave.extensions.formats.vector_model import LentModel

from .bench import QUALITY, ROOT
from .files import active, memory_file, night, rows
from .known_answers import holds, reachable

Row = dict[str, str]
# The group of a memory and, for the values of an update, which of them it states.
Fact = tuple[str, str]

_PAIRS = QUALITY / "pairs-held-out.toml"
# A file written by each package.
_RECORDED = ROOT / "tests" / "extensions" / "formats" / "recorded"
# For files that cannot hold new texts.
_MERGES = CycleOptions(only=frozenset({"merge"}))
# dream compares all pairs, and gives up at 200,000 comparisons.
_MAX_DREAM_MEMORIES = 300


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
    for number, memory in enumerate(memories):
        (path / f"note-{number}.md").write_text(
            f"---\nname: note-{number}\ndescription: a note\nmetadata:\n  type: project\n"
            f"  originSessionId: {memory['session']}\n  modified: {memory['observed_at']}\n---\n\n"
            f"{memory['content']}\n",
            "utf-8",
        )
    return path


def _hermes(folder: Path, memories: Sequence[Row]) -> Path:
    path = folder / "memories" / "MEMORY.md"
    path.parent.mkdir()
    path.write_text("\n§\n".join(memory["content"] for memory in memories), "utf-8")
    return path


def _database(folder: Path, name: str) -> Path:
    """Create the recorded database of a package."""
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
                (memory["id"], vector.tobytes())
                for memory, vector in zip(memories, vectors, strict=True)
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


def _keys(known: Night) -> dict[Fact, list[str]]:
    """Return the keys that an active memory must contain for each fact."""
    keys = {(fact["id"], ""): fact["keys"] for fact in [*known.facts, *known.singles]}
    keys |= {(f"near:{near['of']}", ""): near["keys"] for near in known.nears}
    keys |= {(update["id"], "old"): update["old_keys"] for update in known.updates}
    keys |= {(update["id"], "new"): update["new_keys"] for update in known.updates}
    return keys


def _count_mixed(path: Path, known: Night) -> int:
    """Count the active memories derived from two different facts.

    The old and the new value of an update count as one fact if an update joined them.
    """
    by_text = {
        memory.text: (memory.group, memory.role if memory.role in ("old", "new") else "")
        for memory in known.memories
    }
    observed = rows(path, "SELECT id, content FROM memories WHERE origin <> 'consolidation'")
    facts: dict[str, Fact] = {
        row["id"]: by_text[row["content"]] for row in observed if row["content"] in by_text
    }
    sources: dict[str, set[str]] = defaultdict(set)
    updates = set()
    for edge in rows(path, "SELECT derived_id, source_id, operation FROM synthesized_from"):
        if edge["operation"] in ("merge", "synthesize", "update"):
            sources[edge["derived_id"]].add(edge["source_id"])
        if edge["operation"] == "update":
            updates.add(edge["derived_id"])
    count = 0
    for memory in active(path):
        lineage = reachable(memory["id"], sources)
        joined = {facts[id] for id in lineage & facts.keys()}
        if lineage & updates:
            joined = {(group, "") for group, _ in joined}
        count += len(joined) > 1
    return count


def _figures(path: Path, known: Night, texts: Sequence[str]) -> list[str]:
    """Return a row of the table. path: the memory file; texts: what the agent reads."""
    keys = _keys(known)
    kept = sum(any(holds(text, key) for text in texts) for key in keys.values())
    applied = Counter(row["operation"] for row in rows(path, "SELECT operation FROM proposals"))
    return [
        str(len(known.memories)),
        str(len(texts)),
        f"{sum(len(memory.text) for memory in known.memories)} -> {sum(map(len, texts))}",
        f"{kept} of {len(keys)}",
        str(_count_mixed(path, known)),
        ", ".join(f"{count} {name}" for name, count in sorted(applied.items())),
    ]


def _bullets(consolidate: Callable[[Path], None], texts: Sequence[str]) -> list[str]:
    """Return the bullets left after consolidating a Markdown file with these texts."""
    with TemporaryDirectory() as folder:
        path = _markdown(Path(folder), [{"content": text} for text in texts])
        consolidate(path)
        lines = path.read_text("utf-8").splitlines()
    return [line[2:] for line in lines if line.startswith("- ")]


def _comparison(dream: Path, embedder: Embedder) -> Iterator[tuple[str, ...]]:
    """Yield a row for each tool and file."""

    def theirs(path: Path) -> None:
        command = [sys.executable, str(dream.resolve()), str(path), "--apply", "--quiet"]
        options = ["--format", "bullets"]
        subprocess.run(  # noqa: S603 - the program that the user specifies
            [*command, *options], check=True, capture_output=True, cwd=path.parent
        )

    def ours(path: Path) -> None:
        _maintain(path, "markdown", path.parent / "state.db", embedder)

    tools = {"dream": theirs, "slowwave": ours}
    for flavour in FLAVOURS:
        known = load(flavour)
        texts = [json.loads(line)["content"] for line in lines(known)][:_MAX_DREAM_MEMORIES]
        keys = [key for key in _keys(known).values() if any(holds(text, key) for text in texts)]
        for name, tool in tools.items():
            left = _bullets(tool, texts)
            kept = sum(any(holds(text, key) for text in left) for key in keys)
            characters = f"{sum(map(len, texts))} -> {sum(map(len, left))}"
            yield flavour, name, str(len(left)), characters, f"{kept} of {len(keys)}"
    pairs = tomllib.loads(_PAIRS.read_text("utf-8"))["pair"]
    for same in (True, False):
        texts_of_pairs = [(pair["left"], pair["right"]) for pair in pairs if pair["same"] is same]
        for name, tool in tools.items():
            joined = sum(len(_bullets(tool, texts)) < 2 for texts in texts_of_pairs)
            kind = f"pairs that {'state the same' if same else 'differ'}"
            yield kind, name, f"{joined} of {len(texts_of_pairs)} joined", "", ""


def _maintain(path: Path, name: str, state: Path, embedder: Embedder) -> Mirror:
    """Run a night on a file of another agent."""
    format = format_named(name)
    format.model = LentModel(embedder.name, embedder.encode)
    mirror = Mirror(path, format, state)
    mirror.make()
    mirror.settle(datetime.now(UTC))
    can_add_texts = mirror.format.no_new_texts_reason(path) is None
    night(mirror.state, embedder, options=CycleOptions() if can_add_texts else _MERGES)
    mirror.settle(datetime.now(UTC))
    return mirror


def main() -> None:
    """Print a table with each flavour as a memory file and in each format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dream", type=Path, help="compare with this dream.py")
    dream = parser.parse_args().dream
    embedder = SentenceEmbedder()
    console = Console(width=130)
    console.print(f"Python {platform.python_version()}, {platform.machine()}; one run each")
    if dream is not None:
        comparison = Table("file", "tool", "left", "characters", "facts kept")
        for row in _comparison(dream, embedder):
            comparison.add_row(*row)
        console.print(comparison)
        return
    titles = ("night", "as", "memories", "left", "characters", "facts kept", "wrong", "applied")
    table = Table(*titles)
    for flavour in FLAVOURS:
        known = load(flavour)
        memories: list[Row] = [json.loads(line) for line in lines(known)]
        for title, options in (("a memory file", CycleOptions()), ("merges only", _MERGES)):
            with memory_file(lines(known)) as path:
                night(path, embedder, options=options)
                texts = [row["content"] for row in active(path)]
                table.add_row(flavour, title, *_figures(path, known, texts))
        for name, write in WRITERS.items():
            with TemporaryDirectory() as folder:
                path = write(Path(folder), memories)
                mirror = _maintain(path, name.split(",")[0], Path(folder) / "state.db", embedder)
                with mirror.format.opened(mirror.path, writes=False) as file:
                    texts = [record.text for record in file.records]
                table.add_row(flavour, name, *_figures(mirror.state, known, texts))
    console.print(table)


if __name__ == "__main__":
    main()
