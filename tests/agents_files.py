"""Files of other agents: samples, files of given memories, and a kill while they are written."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from builders import NOW
from cli_calls import Cli
from format_writers import WRITERS
from nights import execute
from places import FORMATS, KILLING

from slowwave.extensions.formats.base import Change, RemovedEntry
from slowwave.extensions.formats.known_formats import format_named
from slowwave.extensions.formats.mirror.mirror import Mirror, default_state
from slowwave.store.opening import is_database

# Four things that have nothing to do with each other.
FOUR_TEXTS = (
    "Helvi settles the invoices on Tuesdays.",
    "The bakery opens at seven.",
    "Evan paints the fence for Sam.",
    "The spare key hangs behind the door.",
)

_FIRST_DAY = 3

# Files, folders and databases as the programs of each format write them.
RECORDED = {
    "mcp-server-memory": "mcp-server-memory/memory.jsonl",
    "hermes": "hermes/memories/MEMORY.md",
    "markdown": "markdown/MEMORY.md",
    "claude-code": "claude-code/memory",
    "mcp-memory-service": "mcp-memory-service.sql",
    "langgraph": "langgraph.sql",
    "claude-mem": "claude-mem.sql",
}
# Where its program looks for a file of text.
SAMPLES = {
    name: RECORDED[name].partition("/")[2] for name in ("mcp-server-memory", "hermes", "markdown")
}


def recorded(name: str, path: Path) -> Path:
    """Copy the recorded memories of a format to a path."""
    source = FORMATS / RECORDED[name]
    if source.suffix == ".sql":
        with closing(sqlite3.connect(path)) as db:
            db.executescript(source.read_text("utf-8"))
    elif source.is_dir():
        shutil.copytree(source, path)
    else:
        shutil.copy2(source, path)
    return path


def make_program(folder: Path) -> None:
    """Write a program slowwave to a folder, whose hooks have time enough on a slow machine."""
    program = folder / "slowwave"
    code = (
        "import slowwave.extensions.formats.hook as hook; hook._MAX_SECONDS = 600; "
        "from slowwave.cli.__main__ import main; main()"
    )
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n')
    program.chmod(0o755)


def mirrored(folder: Path, **attributes: object) -> Mirror:
    """Mirror a folder of Claude Code, with attributes of its format."""
    format = format_named("claude-code")
    vars(format).update(attributes)
    mirror = Mirror(folder, format, default_state(folder))
    mirror.make()
    mirror.settle(NOW)
    return mirror


def write_note(
    folder: Path, name: str, day: int, text: str, description: str = "a note", more: str = ""
) -> None:
    """Write a memory as Claude Code does; more: lines of the front matter before `metadata`."""
    (folder / f"{name}.md").write_text(
        f"---\nname: {name}\ndescription: {description}\n{more}metadata:\n"
        f"  type: project\n  modified: 2026-02-{day:02d}T09:00:00.000Z\n---\n\n{text}\n"
    )


def consolidate(cli: Cli, name: str, path: Path, *more: str) -> str:
    """Consolidate a file of a format, and return the id of the run."""
    return str(cli("maintain", path, "--format", name, "--json", *more).ends(0).json["run"])


def chosen_steps(steps: int, rounds: Callable[[int, int], int]) -> list[int]:
    """Return the steps at which to kill: a late one, in `make test-long` some twenty more.

    The last ones write the other file; the night before them is killed in tests/reliability.
    """
    if rounds(1, 0):
        return [max(1, steps - 6)]
    late = max(0, steps - 12)
    return [*range(steps, late, -1), *range(late, 0, -max(1, late // 12))]


def killed(step: int, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command that is killed at a step; at step 0 it prints their number."""
    return subprocess.run(
        [sys.executable, str(KILLING), str(step), *command],
        capture_output=True,
        text=True,
        check=False,
    )


def make_file(name: str, folder: Path, texts: tuple[str, ...]) -> Path:
    """Make a file with these texts, a day each if the format has dates."""
    folder.mkdir()
    rows = [
        {
            "id": f"m{index}",
            "content": text,
            "session": f"s{index}",
            "observed_at": f"2026-02-{index + _FIRST_DAY:02d}T09:00:00+00:00",
        }
        for index, text in enumerate(texts)
    ]
    return WRITERS[name](folder, rows)


def format_of(name: str) -> str:
    """Return the format of one of WRITERS."""
    return name.partition(",")[0]


def stored_in(path: Path) -> object:
    """Return the content of a file or a folder: of a database its rows."""
    if path.is_dir():
        return bytes_of(path)
    if not is_database(path):
        return path.read_bytes() if path.exists() else None
    with closing(sqlite3.connect(path)) as db:
        tables = db.execute("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE TABLE%'")
        return {
            name: sorted(map(repr, db.execute(f'SELECT * FROM "{name}"')))
            for (name,) in tables.fetchall()
            if name in ("memories", "store", "store_vectors", "other")
        }


def content(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return each file of Claude Code with its time, except for the rewritten index."""
    return {
        item.name: (item.read_bytes(), 0 if item.name == "MEMORY.md" else item.stat().st_mtime_ns)
        for item in sorted(folder.iterdir())
    }


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Return each file of a folder."""
    return {item.name: item.read_bytes() for item in sorted(folder.iterdir())}


def modes_of(folder: Path) -> dict[str, int]:
    """Return the mode of each file of a folder."""
    return {item.name: item.stat().st_mode for item in folder.iterdir()}


def written(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return every file below a folder, with its bytes and its time.

    Except for the mirror, and the lock of Hermes.
    """
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file() and ".slowwave.db" not in path.name and path.suffix != ".lock"
    }


@contextmanager
def nobody_writes(path: Path) -> Iterator[None]:
    """Fail if a file, a folder or a database is written to, even with the same content."""
    database = path if is_database(path) else ":memory:"
    with closing(sqlite3.connect(database)) as db:
        # Moves the log that its agent left into the file now, not when it is closed.
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = written(path.parent)
    with closing(sqlite3.connect(database)) as db:
        # The number changes when another connection commits.
        seen = db.execute("PRAGMA data_version").fetchone()
        yield
        assert db.execute("PRAGMA data_version").fetchone() == seen
    assert written(path.parent) == before


def texts_in(name: str, path: Path) -> list[str]:
    """Return the texts that a file holds."""
    with format_named(format_of(name)).opened(path, writes=False) as file:
        return [record.text for record in file.records]


def delete_text(name: str, path: Path, text: str) -> None:
    """Delete the memory with a text, as its agent might."""
    with format_named(format_of(name)).opened(path, writes=True) as file:
        (key,) = (record.key for record in file.records if record.text == text)
        file.prepare(Change([RemovedEntry(key, "m")]))
        file.commit()


def edit_text(path: Path, text: str, new: str) -> None:
    """Replace the text of a memory in a file or in a store without vectors."""
    if not is_database(path):
        for part in path.glob("*.md") if path.is_dir() else (path,):
            part.write_text(part.read_text("utf-8").replace(text, new), "utf-8")
    else:
        sql = "UPDATE store SET value = CAST(replace(CAST(value AS text), ?, ?) AS blob)"
        execute(path, sql, text, new)
