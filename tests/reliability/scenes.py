"""Commands that change a file, with the file before and after."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import night as fixture
import nights
from builders import copy_of, older_file, whole
from model_nights import SMOKE, joined_once
from model_server import answering, approval, model_server
from nights import AGENTS_TABLES, fill, of_one_thing, picture, rows

from slowwave.store.file import create_file, open_writing
from slowwave.store.undo.undo import undo_runs

from .crashing import Ended, Job, run
from .disk import Fault

MAINTAIN = ("maintain", "{file}", "--consolidate", "--json", "--quiet")
# What may be next to a memory file when nothing runs. The new file of a killed command is harmless.
_BESIDE = (
    *("memory.db", "memory.db-wal", "memory.db-shm", "memory.db-journal"),
    *("memory.db.maintenance.lock", "lines.jsonl"),
)
_LITTER = ".slowwave-"


@dataclass(frozen=True)
class Scene:
    """A command over the files of a folder; its arguments contain `{file}` and `{folder}`."""

    name: str
    before: Path
    command: tuple[str, ...]

    def copy(self, folder: Path) -> Path:
        """Copy the files of before to a new folder, and return the path of the memory file."""
        shutil.copytree(self.before, folder)
        return folder / "memory.db"

    def run(self, path: Path, fault: Fault | None = None, **more: object) -> Ended:
        """Run the command over a copy."""
        fault = fault or Fault(str(path.parent))
        places = {"file": path, "folder": path.parent}
        arguments = tuple(part.format(**places) for part in self.command)
        return run(Job(arguments, fault, **more))  # type: ignore[arg-type]  # the fields of Job


class Reference:
    """The end of a scene without faults."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        """Run it."""
        self.scene = scene
        self.path = scene.copy(folder)
        self.ended = scene.run(self.path)
        assert self.ended.code == 0, self.ended.err
        # Read in a copy: reading creates a log next to the file for a moment, while other threads
        # may copy the scene.
        self.before = scene.copy(folder.with_name("looked at"))
        self.rows_before = _by_id(self.before)
        self.rows_after = _by_id(self.path)
        self.texts_after = contents(self.path)
        self.journaled = _journaled(self.path)
        self.waiting = _waiting(self.before)

    def find_harm(self, path: Path) -> None:
        """Compare the file of an interrupted run with the files before and after a whole run."""
        if not path.exists():
            assert not self.before.exists()
            return
        now = _by_id(path)
        if _version(path) == _version(self.before) != _version(self.path):
            assert now == self.rows_before  # the schema comes first
            return
        find_problems(path)
        if not self._has_portions:
            assert contents(path) in (contents(self.before), self.texts_after)
            return
        for memory_id, row in self.rows_before.items():
            assert now[memory_id] in (row, self.rows_after[memory_id])
        new = {row for memory_id, row in now.items() if memory_id not in self.rows_before}
        assert new <= set(self.rows_after.values())
        # Each proposal is there with all its rows, or not at all; of those that waited, the others
        # wait still.
        applied = _journaled(path)
        assert applied.items() <= self.journaled.items()
        assert _waiting(path) == self.waiting - applied.keys()
        self._undo_all(path)

    def find_unfinished(self, path: Path) -> None:
        """Run again: it completes the work, and a further run does nothing."""
        again = self.scene.run(path)
        # What had been done before the break cannot be done twice: such as an undo.
        assert again.code in ((0,) if self._is_night else (0, 1)), again.err
        assert contents(path) == self.texts_after, again.err
        find_problems(path)
        if self._is_night:
            tables = (*AGENTS_TABLES, "runs", "proposals", "journal")
            done = picture(path, tables)
            third = self.scene.run(path)
            assert third.code == 0, third.err
            assert picture(path, tables) == done, third.out
        names = {item.name for item in path.parent.iterdir() if not item.name.startswith(_LITTER)}
        litter = names - {*_BESIDE, *(item.name for item in self.path.parent.iterdir())}
        assert not litter, litter

    def find_all(self, path: Path) -> None:
        """Compare the file of an interrupted run, and run again."""
        self.find_harm(path)
        self.find_unfinished(path)

    @property
    def _is_night(self) -> bool:
        return "--consolidate" in self.scene.command

    @property
    def _has_portions(self) -> bool:
        """Whether the command has more than one transaction, each with whole proposals."""
        return self._is_night or "approve" in self.scene.command

    def _undo_all(self, path: Path) -> None:
        """Undo all runs, in a copy: the memories are to the bit as before."""
        copy = copy_of(path, path.with_name("undone.db"))
        earlier = {row["id"] for row in rows(self.before, "SELECT id FROM runs")}
        with open_writing(copy) as file:
            for row in rows(copy, "SELECT id FROM runs ORDER BY id DESC"):
                if row["id"] not in earlier:
                    undo_runs(file, [row["id"]], "2026-03-12T03:00:00+00:00")
        if _version(copy) == _version(self.before):
            assert picture(copy) == picture(self.before)
        assert _by_id(copy) == self.rows_before
        assert _waiting(copy) == self.waiting
        for item in path.parent.glob("undone.db*"):
            item.unlink()


def find_problems(path: Path) -> None:
    """Read the file as an agent does, then as `check` does."""
    rows(path, "SELECT count(*) FROM memories")
    assert whole(path)


def contents(path: Path) -> list[tuple[str, str, str]]:
    """Return the memories without their ids; nothing without a file."""
    return sorted(_by_id(path).values())


def _version(path: Path) -> int | None:
    return rows(path, "PRAGMA user_version")[0]["user_version"] if path.exists() else None


def _by_id(path: Path) -> dict[str, tuple[str, str, str]]:
    if not path.exists():
        return {}
    memories = rows(path, "SELECT id, content, status, layer FROM memories")
    return {row["id"]: (row["content"], row["status"], row["layer"]) for row in memories}


def _journaled(path: Path) -> dict[str, int]:
    """Return the applied proposals, with how many rows of the journal each has."""
    if not path.exists():
        return {}
    counted = rows(
        path,
        "SELECT p.key, count(j.run_id) AS n FROM proposals p LEFT JOIN journal j "
        "ON j.run_id = p.run_id AND j.proposal = p.key WHERE p.state = 'applied' GROUP BY p.key",
    )
    return {row["key"]: row["n"] for row in counted}


def _waiting(path: Path) -> set[str]:
    """Return the keys of the proposals that wait for a person; none where there is no file."""
    if not path.exists():
        return set()
    return {row["key"] for row in rows(path, "SELECT key FROM proposals WHERE state = 'pending'")}


@contextmanager
def a_model() -> Iterator[tuple[str, ...]]:
    """Serve a model that knows `few_memories`, and provide the options that name it."""
    with model_server(answering(joined_once, approval), most_requests=10_000) as server:
        # Not through the environment: the process that runs jobs has that of its start.
        yield ("--model", "openai/scripted", "--api-base", server.base)


def few_memories() -> list[str]:
    """Return lines of which a night with `a_model` makes merges, an update and a synthesis."""
    job = ["The backup job starts at 02:30.", "The backup job starts at 03:30 now."]
    return [
        *SMOKE.read_text("utf-8").splitlines(),
        *map(json.dumps, [*nights.daily(of_one_thing(), "pager"), *nights.daily(job, "job")]),
    ]


def more_memories(times: int = 1) -> list[str]:
    """Return some 70 lines of the night fixture and the few, or `times` as many."""
    night = fixture.load("office")
    sizes = ((night.facts, 5), (night.rules, 1), (night.updates, 3), (night.singles, 4))
    parts = [groups[: times * size] for groups, size in sizes]
    chosen = {item["id"] for part in parts for item in part}
    return few_memories() + fixture.lines_of(
        item for item in night.memories if item.group in chosen
    )


def filled(folder: Path, lines: Iterable[str], mode: str) -> Path:
    """Make a folder with a file of memories, in a journal mode."""
    folder.mkdir(parents=True)
    path = folder / "memory.db"
    create_file(path)
    fill(path, [json.loads(line) for line in lines])
    in_mode(path, mode)
    return folder


def of_older_version(folder: Path, lines: Sequence[str], mode: str) -> Path:
    """Make a folder with a file of an older schema, and memories as agents write them."""
    folder.mkdir(parents=True)
    path = older_file(folder).rename(folder / "memory.db")
    with closing(sqlite3.connect(path)) as db:
        output = [json.loads(line) for line in lines]
        db.executemany(
            "INSERT INTO memories (id, content, session, observed_at) "
            "VALUES (:id, :content, :session, :observed_at)",
            output,
        )
        db.commit()
    in_mode(path, mode)
    return folder


def in_mode(path: Path, mode: str) -> Path:
    """Set the journal mode of a file, and return the file."""
    with closing(sqlite3.connect(path)) as db:
        assert db.execute(f"PRAGMA journal_mode = {mode}").fetchone() == (mode,)
    return path


NAMES = (
    "night",
    "large night",
    "old file",
    "undo",
    "restore",
    "forget",
    "approve",
    "decline",
    "import",
    "import into a new file",
    "init",
)


def scene(name: str, folder: Path, mode: str, model: Sequence[str]) -> Scene:
    """Make the scene of this name in a new folder, with its file in this journal mode.

    model: the options that name the model of its nights.
    """
    few, before = few_memories(), folder / "before"
    maintain = (*MAINTAIN, *model)
    match name:
        case "night":
            return Scene(name, filled(before, few, mode), maintain)
        case "large night":
            return Scene(name, filled(before, more_memories(), mode), maintain)
        case "old file":
            return Scene(name, of_older_version(before, few, mode), maintain)
        case "undo" | "restore" | "forget":
            path = filled(before, few, mode) / "memory.db"
            assert Scene(name, before, maintain).run(path).code == 0
            rows_of = "runs" if name == "undo" else "memories WHERE status = 'superseded'"
            chosen = rows(path, f"SELECT id FROM {rows_of}")[0]["id"]
            if name == "forget":
                return Scene(name, before, (name, "{file}", chosen, "--derived", "--yes"))
            return Scene(name, before, ("undo", "{file}", chosen))
        case "approve" | "decline":
            # What waits has more sources than one transaction takes, several times over.
            path = filled(before, more_memories(5), mode) / "memory.db"
            held = Scene(name, before, (*maintain, "--review", "always"))
            assert held.run(path).code == 0
            return Scene(name, before, ("review", name, "{file}", "--all", "--json", "--quiet"))
        case "import":
            filled(before, [], mode)
        case _:
            before.mkdir(parents=True)
    (before / "lines.jsonl").write_text("\n".join(few))
    imports = ("import", "{file}", "{folder}/lines.jsonl")
    return Scene(name, before, ("import", "{file}", "--empty") if name == "init" else imports)
