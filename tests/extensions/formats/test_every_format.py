"""What each format has to stand, on a file that is made of the same memories in each of them."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from agents_files import delete_text, edit_text, format_of, held, made, nobody_writes, told_in
from answerers import answers_to, told_once_by
from cli_calls import Cli
from commands import setting
from model_nights import GATE, GATE_ONCE, SHORT, writing
from model_server import Asked, Reply, Shown, approval, group, model_server
from nights import execute, of_one_thing

from benchmarks.quality.formats import WRITERS
from slowwave.extensions.formats.base import Change, ChangedMeanwhile
from slowwave.extensions.formats.known_formats import format_named

_UPDATED = ("The backup job starts at 02:30.", "The backup job starts at 04:15 now.")
_TWINS = ("Billing listens on port 8080.", "Billing listens on port 8080")


def copied(path: Path, target: Path) -> None:
    if path.is_dir():
        shutil.copytree(path, target)
    else:
        shutil.copy2(path, target)


@pytest.mark.parametrize("name", WRITERS)
def test_a_run_is_undoable(name: str, tmp_path: Path, cli: Cli, scripted: tuple[str, ...]) -> None:
    path = made(name, tmp_path / "agent", (*of_one_thing(), *_UPDATED, *_TWINS))
    before = held(path)
    command = ("maintain", path, "--json", *scripted)
    with nobody_writes(path):
        first, second = (cli(*command, "--dry-run", "--ask") for _ in "12")
    assert first.out == second.out
    planned = first.json
    done = cli(*command, "--format", format_of(name)).json
    keys = "id", "operation", "sources", "text"
    assert [[proposal.get(key) for key in keys] for proposal in done["proposals"]] == [
        [proposal.get(key) for key in keys] for proposal in planned["proposals"]
    ]
    # Where a file has no dates, no value is newer than another.
    states = {proposal["operation"]: proposal["state"] for proposal in done["proposals"]}
    assert states.pop("update") in ("applied", "rejected")
    assert states == {"merge": "applied", "synthesize": "applied"}
    assert done["conflicts"] == planned["conflicts"]
    assert held(path) != before
    with nobody_writes(path):
        assert cli(*command).json["proposals"] == []
    assert cli("undo", path, done["run"]).code == 0
    assert held(path) == before


@pytest.mark.parametrize("name", WRITERS)
def test_agents_can_answer(name: str, tmp_path: Path, cli: Cli, scripted: tuple[str, ...]) -> None:
    texts = (*of_one_thing(), *_UPDATED, *_TWINS)
    path, served = (made(name, tmp_path / folder, texts) for folder in ("agent", "served"))
    before = held(path)
    options = ("--format", format_of(name), "--json")
    cli("maintain", served, *options, *scripted)
    with nobody_writes(path):
        found = cli("questions", path, "--json").json
    answers = tmp_path / "answers.jsonl"
    while found["questions"]:
        assert held(path) == before
        answers.write_text(answers_to(found["questions"], told_once_by), "utf-8")
        ended = cli("answer", path, answers, *options)
        found = ended.json
        assert (ended.code, found["stale"], found["faults"]) == (0, [], [])
    assert sorted(told_in(name, path)) == sorted(told_in(name, served))
    assert cli("undo", path, found["night"]["run"]).code == 0
    assert held(path) == before


def to_nothing(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def to_folder(path: Path) -> None:
    to_nothing(path)
    path.mkdir()
    (path / "notes.txt").write_text("A heron nests there.\n")


def to_file(content: bytes) -> Callable[[Path], None]:
    def put(path: Path) -> None:
        to_nothing(path)
        path.write_bytes(content)

    return put


def to_database(path: Path) -> None:
    to_nothing(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE other (id)")


OTHER_KINDS: dict[str, Callable[[Path], object]] = {
    "gone": to_nothing,
    "a folder": to_folder,
    "a picture": to_file(b"\x89PNG\r\n\x1a\n\0\0\xff"),
    "a text": to_file(b"# Notes\n\n- A heron nests there.\n"),
    "a database": to_database,
    "empty": to_file(b""),
}


KINDS = [*OTHER_KINDS, "another of its kind"]
# So many kinds of each format are tried often, others of the next one.
_OFTEN = 2
CASES = [
    pytest.param(name, kind, (row * _OFTEN - column) % len(KINDS) < _OFTEN, id=f"{name}, {kind}")
    for row, name in enumerate(WRITERS)
    for column, kind in enumerate(KINDS)
]


@pytest.mark.parametrize(("name", "kind", "is_often"), CASES)
def test_what_is_put_in_its_place_while_a_model_thinks_is_left_alone(
    name: str, kind: str, is_often: bool, tmp_path: Path, cli: Cli, request: pytest.FixtureRequest
) -> None:
    if not is_often:
        request.getfixturevalue("long_only")
    path = made(name, tmp_path / "agent", (*GATE[:2], SHORT))
    other = made(name, tmp_path / "other", ("A heron nests there.",))
    before, kept, put = held(path), tmp_path / "kept", list[object]()

    def answer(asked: Asked) -> Reply:
        if not put:
            copied(path, kept)
            OTHER_KINDS.get(kind, lambda path: (to_nothing(path), other.rename(path)))(path)
            put.append(held(path))
        return join_the_gate(asked)

    def gate(shown: Sequence[Shown]) -> dict[str, Any]:
        return group("merge", [each for each in shown if each.text not in _ALIKE], GATE_ONCE)

    join_the_gate = writing(gate, checker=approval)
    command = ("maintain", path, "--format", format_of(name))
    with model_server(answer) as server:
        ended = cli(*command, "--model", "openai/scripted", setting("api_base", server.base))
    assert [held(path)] == put
    # What is of its kind is a file from which its agent took everything.
    assert ended.code in (0, 3)
    assert ("stale" in ended.out) == (ended.code == 0)
    assert (path.name in ended.err) == (ended.code == 3)
    if path.exists():
        to_nothing(path)
    copied(kept, path)
    assert cli(*command).code == 0
    for run in cli("log", path, "--json").json["runs"]:
        if "applied" in run["states"]:
            assert cli("undo", path, run["id"]).code == 0
    assert held(path) == before


_ALIKE = ("Billing listens on port 8080.", "User said that billing listens on port 8080.")
WITH_VECTORS = ("mcp-memory-service", "langgraph, vectors")
_EDITED = "A heron nests at the weir."


# The first and the second of two duplicates in turn.
@pytest.mark.parametrize(
    ("name", "change", "changed"),
    [
        *((name, "deletes", _ALIKE[at % 2]) for at, name in enumerate(WRITERS)),
        # Where the package has vectors, it edits a text by deleting a row and adding one.
        *(
            (name, "edits", _ALIKE[(at + 1) % 2])
            for at, name in enumerate(WRITERS)
            if name not in WITH_VECTORS
        ),
    ],
)
def test_an_edit_saves_both(name: str, change: str, changed: str, tmp_path: Path, cli: Cli) -> None:
    path = made(name, tmp_path / "agent", (*_ALIKE, *GATE[:2], SHORT))
    (left,) = {*_ALIKE} - {changed}

    def answer(asked: Asked) -> Reply:
        if changed in told_in(name, path):
            if change == "deletes":
                delete_text(name, path, changed)
            else:
                edit_text(path, changed, _EDITED)
        return join_the_gate(asked)

    def gate(shown: Sequence[Shown]) -> dict[str, Any]:
        return group("merge", [each for each in shown if each.text not in _ALIKE], GATE_ONCE)

    join_the_gate = writing(gate, checker=approval)
    command = ("maintain", path, "--format", format_of(name))
    with model_server(answer) as server:
        ended = cli(*command, "--model", "openai/scripted", setting("api_base", server.base))
    assert ended.code == 0, ended.err
    now = told_in(name, path)
    assert left in now
    assert changed not in now
    assert (_EDITED in now) == (change == "edits")
    assert GATE_ONCE in now
    assert cli(*command, "--json").json["proposals"] == []
    assert told_in(name, path) == now


@pytest.mark.parametrize("name", WRITERS)
def test_a_last_moment_edit_is_left_alone(name: str, tmp_path: Path) -> None:
    path = made(name, tmp_path / "agent", _TWINS)
    other = made(name, tmp_path / "other", ("A heron nests there.",))
    before, put = held(path), held(other)
    with format_named(format_of(name)).opened(path, writes=True) as file:
        gone, stays = (record.key for record in file.records)
        file.prepare(Change({gone: "m"}, successors={gone: stays}))
        path.rename(tmp_path / "kept")
        other.rename(path)
        with pytest.raises(ChangedMeanwhile):
            file.commit()
    assert held(path) == put
    assert held(tmp_path / "kept") == before


@pytest.mark.parametrize("name", ["mcp-memory-service", "langgraph", "claude-code"])
def test_each_memory_that_prevents_an_undo_is_named(name: str, tmp_path: Path, cli: Cli) -> None:
    twins = (*_TWINS, "Refunds need a second signature.", "Refunds need a second signature")
    path = made(name, tmp_path / "agent", twins)
    before = told_in(name, path)
    run = cli("maintain", path, "--format", name, "--json").json["run"]
    gone = [item for item in before if item not in told_in(name, path)]
    assert len(gone) == 2
    IN_THE_WAY[name](path)
    now = held(path)
    for more in ((), ("--dry-run",)):
        ended = cli("undo", path, run, *more).ends(1)
        assert all(f"'{item}' cannot be restored" in ended.err for item in gone)
        assert held(path) == now
    refused = json.loads(cli("undo", path, run, "--json").err)
    assert len(refused["obstacles"]) == 2


def other_memories_in(folder: Path) -> None:
    """Let the names of files that left be those of others."""
    for at in range(4):
        path = folder / f"note-{at}.md"
        if not path.exists():
            front = "name: a\ndescription: b\nmetadata:\n  type: project"
            path.write_text(f"---\n{front}\n---\n\nHeron {at} nests at the weir.\n")


IN_THE_WAY: dict[str, Callable[[Path], None]] = {
    "mcp-memory-service": lambda path: execute(
        path, "UPDATE memories SET deleted_at = 1 WHERE superseded_by <> ''"
    ),
    "langgraph": lambda path: execute(
        path, "DELETE FROM store WHERE prefix LIKE 'slowwave_superseded%'"
    ),
    "claude-code": other_memories_in,
}
