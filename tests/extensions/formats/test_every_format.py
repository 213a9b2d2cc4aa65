"""Runs over a file of each format, made of the same memories."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from agents_files import (
    consolidate,
    delete_text,
    edit_text,
    format_of,
    make_file,
    nobody_writes,
    stored_in,
    texts_in,
    write_note,
)
from answerers import answers_to, joined_once_by
from cli_calls import Cli
from commands import setting
from disturbed import undo_all
from format_writers import WRITERS
from model_nights import GATE, GATE_ONCE, SHORT, writing
from model_server import Asked, Reply, Shown, approval, group, model_server
from nights import execute, of_one_thing, unchanged

from slowwave.extensions.formats.base import Change, ChangedMeanwhile, RemovedEntry, Successor
from slowwave.extensions.formats.known_formats import format_named

_UPDATED = ("The backup job starts at 02:30.", "The backup job starts at 04:15 now.")
_TWINS = ("Billing listens on port 8080.", "Billing listens on port 8080")


def copied(path: Path, target: Path) -> None:
    if path.is_dir():
        shutil.copytree(path, target)
    else:
        shutil.copy2(path, target)


@pytest.mark.parametrize("name", WRITERS)
def test_a_run_applies_its_plan_and_can_be_undone(
    name: str, tmp_path: Path, cli: Cli, scripted: tuple[str, ...]
) -> None:
    path = make_file(name, tmp_path / "agent", (*of_one_thing(), *_UPDATED, *_TWINS))
    command = ("maintain", path, "--json", *scripted)
    with nobody_writes(path):
        first, second = (cli(*command, "--dry-run", "--ask") for _ in "12")
    assert first.out == second.out
    planned = first.json
    with unchanged(stored_in, path):
        done = cli(*command, "--format", format_of(name)).json
        keys = "id", "operation", "sources", "text"
        assert [[proposal.get(key) for key in keys] for proposal in done["proposals"]] == [
            [proposal.get(key) for key in keys] for proposal in planned["proposals"]
        ]
        # In a file without dates, no value is newer than another: that is a conflict.
        states = {proposal["operation"]: proposal["state"] for proposal in done["proposals"]}
        assert states.pop("update", "applied") == "applied"
        assert states == {"merge": "applied", "synthesize": "applied"}
        assert done["conflicts"] == planned["conflicts"]
        with nobody_writes(path):
            assert cli(*command).json["proposals"] == []
        assert cli("undo", path, done["run"]).code == 0


@pytest.mark.parametrize("name", WRITERS)
def test_agents_can_answer(name: str, tmp_path: Path, cli: Cli, scripted: tuple[str, ...]) -> None:
    texts = (*of_one_thing(), *_UPDATED, *_TWINS)
    path, served = (make_file(name, tmp_path / folder, texts) for folder in ("agent", "served"))
    before = stored_in(path)
    options = ("--format", format_of(name), "--json")
    cli("maintain", served, *options, *scripted)
    with nobody_writes(path):
        reply = cli("questions", path, "--json").json
    answers = tmp_path / "answers.jsonl"
    while reply["questions"]:
        assert stored_in(path) == before
        answers.write_text(answers_to(reply["questions"], joined_once_by), "utf-8")
        ended = cli("answer", path, answers, *options)
        reply = ended.json
        assert (ended.code, reply["stale"], reply["faults"]) == (0, [], [])
    assert sorted(texts_in(name, path)) == sorted(texts_in(name, served))
    assert cli("undo", path, reply["night"]["run"]).code == 0
    assert stored_in(path) == before


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
def test_a_file_that_is_replaced_during_a_question_is_left_alone(
    name: str, kind: str, is_often: bool, tmp_path: Path, cli: Cli, request: pytest.FixtureRequest
) -> None:
    if not is_often:
        request.getfixturevalue("long_only")
    path = make_file(name, tmp_path / "agent", (*GATE[:2], SHORT))
    another = make_file(name, tmp_path / "other", ("A heron nests there.",))
    before, backup, put = stored_in(path), tmp_path / "kept", list[object]()

    def replace() -> None:
        if not put:
            copied(path, backup)
            OTHER_KINDS.get(kind, lambda path: (to_nothing(path), another.rename(path)))(path)
            put.append(stored_in(path))

    command = ("maintain", path, "--format", format_of(name))
    with asking_a_model(replace) as options:
        ended = cli(*command, *options)
    assert [stored_in(path)] == put
    # Another file of its kind is one from which its agent deleted everything.
    assert ended.code in (0, 3)
    assert ("stale" in ended.out) == (ended.code == 0)
    assert (path.name in ended.err) == (ended.code == 3)
    if path.exists():
        to_nothing(path)
    copied(backup, path)
    assert cli(*command).code == 0
    undo_all(cli, path)
    assert stored_in(path) == before


_ALIKE = ("Billing listens on port 8080.", "billing listens on port 8080!")
WITH_VECTORS = ("mcp-memory-service", "langgraph, vectors")
_EDITED = "A heron nests at the weir."


def merge_gate(shown: Sequence[Shown]) -> dict[str, Any]:
    return group("merge", [memory for memory in shown if memory.text not in _ALIKE], GATE_ONCE)


@contextmanager
def asking_a_model(meanwhile: Callable[[], object]) -> Iterator[tuple[object, ...]]:
    """Provide the options of a model, while whose answers `meanwhile` is called."""
    merge = writing(merge_gate, checker=approval)

    def answer(asked: Asked) -> Reply:
        meanwhile()
        return merge(asked)

    with model_server(answer) as server:
        yield ("--model", "openai/scripted", setting("api_base", server.base))


# The first and the second of two duplicates in turn.
@pytest.mark.parametrize(
    ("name", "change", "changed"),
    [
        *((name, "deletes", _ALIKE[index % 2]) for index, name in enumerate(WRITERS)),
        # Where the package has vectors, it edits a text by deleting a row and adding another.
        *(
            (name, "edits", _ALIKE[(index + 1) % 2])
            for index, name in enumerate(WRITERS)
            if name not in WITH_VECTORS
        ),
    ],
)
def test_a_duplicate_survives_when_its_agent_changes_the_second(
    name: str, change: str, changed: str, tmp_path: Path, cli: Cli
) -> None:
    path = make_file(name, tmp_path / "agent", (*_ALIKE, *GATE[:2], SHORT))
    (survivor,) = {*_ALIKE} - {changed}

    def change_duplicate() -> None:
        if changed in texts_in(name, path):
            if change == "deletes":
                delete_text(name, path, changed)
            else:
                edit_text(path, changed, _EDITED)

    command = ("maintain", path, "--format", format_of(name))
    with asking_a_model(change_duplicate) as options:
        night = cli(*command, "--json", *options).ends(0).json
    states = {len(proposal["sources"]): proposal["state"] for proposal in night["proposals"]}
    assert states == {len(_ALIKE): "stale", len((*GATE[:2], SHORT)): "applied"}
    now = texts_in(name, path)
    # What its agent deleted is not counted.
    assert night["after"]["active"] == night["before"]["active"] - 2
    assert {survivor, GATE_ONCE} <= {*now}
    assert changed not in now
    assert (_EDITED in now) == (change == "edits")
    assert cli(*command, "--json").json["proposals"] == []
    assert texts_in(name, path) == now
    cli("undo", path).ends(0)
    edited = {_EDITED} if change == "edits" else set()
    assert {*texts_in(name, path)} == {survivor, *GATE[:2], SHORT} | edited


_RULE = (
    "Never run the seed script on staging: it wiped the demo tenant on 2 March.",
    "On staging never run the seed script, which wiped the demo tenant on 2 March.",
    "The seed script must never be run on staging; it wiped the demo tenant on 2 March.",
)


_RULE_IN_CASE = _RULE[0].replace("it wiped", "It wiped")


@pytest.mark.parametrize("text", [_RULE[0], _RULE_IN_CASE])
@pytest.mark.parametrize("name", WRITERS)
def test_a_rule_with_the_text_of_a_source_can_be_undone(
    name: str, text: str, tmp_path: Path, cli: Cli
) -> None:
    path = make_file(name, tmp_path / "agent", _RULE)
    before = stored_in(path)
    extract = writing(lambda shown: group("extract", shown, text), checker=approval)
    with model_server(extract) as server:
        options = ("--model", "openai/scripted", setting("api_base", server.base))
        night = cli("maintain", path, "--format", format_of(name), "--json", *options).ends(0).json
    (proposal,) = night["proposals"]
    # mcp-memory-service would treat the text in another case as a duplicate.
    is_refused = name == "mcp-memory-service" and text != _RULE[0]
    assert proposal["state"] == ("rejected" if is_refused else "applied")
    assert texts_in(name, path) == ([*_RULE] if is_refused else [text])
    if not is_refused:
        cli("undo", path, "--dry-run").ends(0)
        cli("undo", path).ends(0)
    assert stored_in(path) == before


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_is_replaced_before_the_commit_stays(name: str, tmp_path: Path) -> None:
    path = make_file(name, tmp_path / "agent", _TWINS)
    another = make_file(name, tmp_path / "other", ("A heron nests there.",))
    before, put = stored_in(path), stored_in(another)
    with format_named(format_of(name)).opened(path, writes=True) as file:
        gone, survivor = (record.key for record in file.records)
        file.prepare(Change([RemovedEntry(gone, "m", Successor("s", survivor))]))
        path.rename(tmp_path / "kept")
        another.rename(path)
        with pytest.raises(ChangedMeanwhile):
            file.commit()
    assert stored_in(path) == put
    assert stored_in(tmp_path / "kept") == before


@pytest.mark.parametrize("name", ["mcp-memory-service", "langgraph", "claude-code"])
def test_each_memory_that_prevents_an_undo_is_named(name: str, tmp_path: Path, cli: Cli) -> None:
    twins = (*_TWINS, "Refunds need a second signature.", "Refunds need a second signature")
    path = make_file(name, tmp_path / "agent", twins)
    run = consolidate(cli, name, path)
    gone = set(twins) - set(texts_in(name, path))
    assert len(gone) == 2
    IN_THE_WAY[name](path)
    with unchanged(stored_in, path):
        for more in ((), ("--dry-run",)):
            cli("undo", path, run, *more).ends(
                1, *(f"'{item}' cannot be restored" for item in gone)
            )
    refused = json.loads(cli("undo", path, run, "--json").err)
    assert len(refused["obstacles"]) == 2


def other_memories_in(folder: Path) -> None:
    """Write other memories to files with the names of removed ones."""
    for number in range(4):
        if not (folder / f"note-{number}.md").exists():
            write_note(folder, f"note-{number}", 20, f"Heron {number} nests at the weir.")


IN_THE_WAY: dict[str, Callable[[Path], None]] = {
    "mcp-memory-service": lambda path: execute(
        path, "UPDATE memories SET deleted_at = 1 WHERE superseded_by <> ''"
    ),
    "langgraph": lambda path: execute(
        path, "DELETE FROM store WHERE prefix LIKE 'slowwave_superseded%'"
    ),
    "claude-code": other_memories_in,
}
