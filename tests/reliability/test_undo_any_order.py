"""Undo in any order restores every bit or names the true obstacles."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from builders import copy_of
from model_nights import a_writer, joined_once
from model_server import answering, approval, write
from nights import NOW, daily, execute, fill, more_of_it, night, of_one_thing, picture, rows
from reliability.histories import (
    EVERYTHING,
    GIVEN_BACK,
    History,
    problems,
    try_undo,
    undo_obstacles,
)

from slowwave.cli.app import run
from slowwave.consolidation.vectors.embedder import CachingEmbedder, Embedder, SentenceEmbedder
from slowwave.store.file import create_file
from slowwave.store.undo.obstacles import Obstacle


@pytest.fixture(scope="module")
def caching(embedder: SentenceEmbedder) -> Embedder:
    """Provide the real model, which is called once for each text."""
    return CachingEmbedder(embedder)


def test_undo_restores_every_bit_or_names_the_obstacles(
    tmp_path: Path, caching: Embedder, rounds: Callable[[int, int], int]
) -> None:
    for seed in range(rounds(2, 40)):
        path = tmp_path / f"{seed}.db"
        create_file(path)
        chance = random.Random(seed)  # noqa: S311 - no secret
        with a_writer(answering(write, approval)) as writer:
            history = History(path, caching, chance, writer=writer)
            history.insert()
            for _ in range(24):
                history.day += 1
                _step(history)
                assert problems(path, history.deleted) == [], f"seed {seed}, day {history.day}"
            _unwind(history)


def _step(history: History) -> None:
    match history.random.choices(
        ["insert", "edit", "look up", "delete", "restore", "night", "word", "age", "undo"],
        [5, 2, 2, 1, 1, 6, 4, 2, 5],
    )[0]:
        case "insert":
            history.insert()
        case "edit":
            history.edit()
        case "look up":
            history.look_up()
        case "delete":
            history.delete()
        case "restore":
            history.restore()
        case "night" | "word" as kind:
            _run_and_back(history, kind)
        case "age":
            _age_and_back(history)
        case _:
            _undo_something(history)


def _run_and_back(history: History, kind: str) -> None:
    before = picture(history.path, GIVEN_BACK)
    run_id = history.night() if kind == "night" else history.word()
    if run_id is None:
        assert picture(history.path, GIVEN_BACK) == before
        return
    # Straight away, by itself and proposal by proposal: the file is what it was.
    copy = copy_of(history.path, history.path.with_name("copy.db"))
    assert try_undo(copy, run_id, None) == ()
    assert picture(copy, GIVEN_BACK) == before
    copy = copy_of(history.path, history.path.with_name("copy.db"))
    for _, proposal in history.applied(run_id):
        assert try_undo(copy, run_id, proposal) == ()
    assert try_undo(copy, run_id, None) == ()
    assert picture(copy, GIVEN_BACK) == before


def _age_and_back(history: History) -> None:
    before = picture(history.path, GIVEN_BACK)
    phases = history.age()
    copy = copy_of(history.path, history.path.with_name("copy.db"))
    for item in phases:
        assert try_undo(copy, item, None) == ()
    assert picture(copy, GIVEN_BACK) == before


def _undo_something(history: History) -> None:
    chosen: list[tuple[str, str | None]] = [(run_id, None) for run_id in history.runs()]
    chosen += history.applied()
    if not chosen:
        return
    chosen_run, proposal = history.random.choice(chosen)
    copy = copy_of(history.path, history.path.with_name("copy.db"))
    obstacles = try_undo(history.path, chosen_run, proposal)
    for obstacle in obstacles:
        assert _is_true(obstacle, history), obstacle
    if obstacles and all(item.run for item in obstacles):
        # What is named is all that is in the way, unless a hand is in the way of that.
        undo_obstacles(copy, chosen_run, proposal)
        assert problems(copy, history.deleted) == []


def _is_true(obstacle: Obstacle, history: History) -> bool:
    """Whether the change of an obstacle is in the file, made by whom the obstacle names."""
    if obstacle.table != "memories":
        return False  # nobody changes lineage in these histories
    now = rows(history.path, "SELECT * FROM memories WHERE id = ?", obstacle.row)
    if obstacle.column is None and obstacle.run is None:
        if now:
            return _was_superseded_by_hand(obstacle, history)
        return (obstacle.row, "") in history.by_hand
    if obstacle.column is not None and now[0][obstacle.column] != obstacle.now:
        return False
    if obstacle.run is None:
        return (obstacle.row, obstacle.column) in history.by_hand
    if obstacle.proposal is None:
        expected = f'%"{obstacle.row}"%'
        sql = "SELECT 1 FROM journal WHERE run_id = ? AND row_key LIKE ?"
        return (
            bool(rows(history.path, sql, obstacle.run, expected)) and obstacle.run in obstacle.why
        )
    applied = rows(
        history.path,
        "SELECT 1 FROM proposals JOIN journal USING (run_id) WHERE proposal = key "
        "AND run_id = ? AND key = ? AND state = 'applied' AND row_key LIKE ?",
        obstacle.run,
        obstacle.proposal,
        f'%"{obstacle.row}"%',
    )
    return bool(applied) and obstacle.run in obstacle.why


def _was_superseded_by_hand(obstacle: Obstacle, history: History) -> bool:
    """Whether an agent's deletion passed a memory that the obstacle names on to its row."""
    dependents = rows(history.path, "SELECT id FROM memories WHERE superseded_by = ?", obstacle.row)
    return any(
        row["id"] in obstacle.why and (row["id"], "superseded_by") in history.by_hand
        for row in dependents
    )


def _unwind(history: History) -> None:
    """Undo all that can be undone, the latest first: what agents wrote stays."""
    path = history.path
    progress = True
    while progress:
        progress = False
        for undone in history.runs():
            for item in [*history.applied(undone), (undone, None)]:
                if try_undo(path, *item) == ():
                    progress = True
    lasting = {
        memory
        for owner, key in history.applied()
        for row in rows(path, "SELECT * FROM proposals WHERE run_id = ? AND key = ?", owner, key)
        for memory in [row["survivor"], row["derived"], *_sources(row)]
    }
    # And what a phase of ageing changed, whose undo a deleted memory prevents.
    sql = (
        "SELECT json_extract(row_key, '$.id') id FROM journal WHERE table_name = 'memories' "
        "AND run_id = ? AND run_id NOT IN (SELECT run_id FROM proposals)"
    )
    for lasting_run in history.runs():
        lasting.update(row["id"] for row in rows(path, sql, lasting_run))
    remaining = {row["id"]: row for row in rows(path, "SELECT * FROM memories")}
    assert remaining.keys() - lasting == history.written.keys() - lasting
    for memory in remaining.keys() - lasting:
        wrote = history.written[memory]
        assert {name: remaining[memory][name] for name in wrote} == wrote
    if not lasting:
        _nothing_is_left_of_any_run(path)
    assert problems(path, history.deleted) == []


def _sources(row: dict[str, Any]) -> list[str]:
    return list(json.loads(row["sources"]))


def _nothing_is_left_of_any_run(path: Path) -> None:
    assert rows(path, "SELECT * FROM synthesized_from") == []
    assert rows(path, "SELECT * FROM derivations") == []
    assert rows(path, "SELECT * FROM embeddings WHERE run_id IS NOT NULL") == []


# ---- whole nights, one after the other ----


@pytest.fixture
def two_nights(memory_file: Path, caching: Embedder) -> tuple[Path, str, str]:
    """Provide a file in which the second night added to what the first one made."""
    with a_writer(answering(joined_once, approval)) as writer:
        fill(memory_file, daily(of_one_thing(), "pager"))
        first = night(memory_file, caching, writer=writer)
        fill(memory_file, daily(more_of_it(), "late", first_day=22))
        second = night(memory_file, caching, writer=writer, now=NOW + timedelta(days=1))
    assert {result.state for result in second.results} == {"applied"}
    return memory_file, str(first.run_id), str(second.run_id)


def test_undo_names_each_change_of_a_later_run(
    two_nights: tuple[Path, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    path, first, second = two_nights
    before = picture(path, EVERYTHING)
    assert run(["undo", str(path), first, "--json"]) == 1
    error = json.loads(capsys.readouterr().err)
    assert {"format", "error", "hint", "code", "obstacles"} == set(error)
    assert {obstacle["run"] for obstacle in error["obstacles"]} == {second}
    assert "content" in {obstacle["column"] for obstacle in error["obstacles"]}
    assert run(["undo", str(path), first]) == 1
    text = capsys.readouterr().err
    assert text.startswith(f"Error: {error['error']}\n- Memory ")
    assert all(obstacle["why"] in text for obstacle in error["obstacles"][:10])
    assert picture(path, EVERYTHING) == before
    assert run(["undo", str(path), second, "--quiet"]) == 0
    assert run(["undo", str(path), first, "--quiet"]) == 0


def test_only_json_lists_all_of_many_obstacles(
    memory_file: Path, caching: Embedder, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [f"Shop {number} opens on port {8000 + number}." for number in range(12)]
    fill(memory_file, [text for text in texts for _ in range(2)])
    run_id = str(night(memory_file, caching).run_id)
    execute(memory_file, "UPDATE memories SET status = 'archived' WHERE status = 'superseded'")
    assert run(["undo", str(memory_file), run_id]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Error: 12 later changes prevent the undo."
    assert len([line for line in lines if line.startswith("- Memory")]) == 10
    assert lines[11] == "- and 2 more: --json shows all."
    assert run(["undo", str(memory_file), run_id, "--json"]) == 1
    assert len(json.loads(capsys.readouterr().err)["obstacles"]) == 12


def test_undo_names_the_purge_of_a_memory(memory_file: Path, caching: Embedder) -> None:
    fill(memory_file, ["Wiki runs on port 8080.", "Wiki runs on port 8080"])
    first = str(night(memory_file, caching).run_id)
    later = NOW + timedelta(days=40)
    purged = night(memory_file, caching, now=later, consolidate=False, purge=True).purged
    assert len(purged.ids) == 1
    (obstacle,) = try_undo(memory_file, first, None)
    assert (obstacle.row, obstacle.run, obstacle.column) == (purged.ids[0], purged.run_id, None)
    assert f"was purged on {later.date()} by run {purged.run_id}" in obstacle.why


def test_merges_of_equal_texts_are_undone_separately(memory_file: Path, caching: Embedder) -> None:
    texts = ["Wiki runs on port 8080.", "Wiki runs on port 8080"]
    named: list[dict[str, Any]] = [{"entities": ["Ada"]}, {}]
    fill(memory_file, [{"content": text, **names} for names in named for text in texts])
    before = picture(memory_file, GIVEN_BACK)
    outcome = night(memory_file, caching)
    proposals = [result.proposal for result in outcome.results]
    assert len({proposal.id for proposal in proposals}) == 2
    superseded = "SELECT id FROM memories WHERE status = 'superseded'"
    for count, proposal in ((1, proposals[1]), (0, proposals[0])):
        assert try_undo(memory_file, str(outcome.run_id), proposal.id) == ()
        assert len(rows(memory_file, superseded)) == count
        # What was undone is not proposed again.
        assert night(memory_file, caching, dry_run=True).plan.proposals == ()
    assert picture(memory_file, GIVEN_BACK) == before
