"""Ageing deletes memories from the files of other agents, and undo restores them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents_files import (
    FOUR_TEXTS,
    delete_text,
    format_of,
    make_file,
    nobody_writes,
    stored_in,
    texts_in,
)
from builders import NOW
from cli_calls import Cli
from commands import setting
from format_writers import WRITERS
from nights import execute, rows, unchanged

from slowwave.extensions.formats.known_formats import format_named
from slowwave.extensions.formats.mirror.mirror import Mirror
from slowwave.store.ageing import PHASE, read_ages, retire_memories
from slowwave.store.file import open_writing
from slowwave.store.ledger import begin_run, end_run
from slowwave.store.memories import read_memories, tenants
from slowwave.store.records import timestamp

# A file of text, a folder, and a database with vectors.
FEW_WRITERS = ("markdown", "claude-code", "langgraph, vectors")

# Options that age only the memory of 2020, and the key of the memories that leave.
PHASES = {"expire": (setting("retain", "keep=30d"), "expired"), "limit": ("--limit=3", "archived")}


def mirror_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.slowwave.db")


def contents(cli: Cli, path: Path) -> set[str]:
    return {memory["content"] for memory in cli("list", path, "--json").json["memories"]}


def aged(name: str, folder: Path, cli: Cli, phase: str = "expire") -> tuple[Path, tuple[Any, ...]]:
    """Make a file with a memory of 2020 among those of today, and a run that ages it.

    The mirror contains their ages: not every file does.
    """
    path = make_file(name, folder, FOUR_TEXTS)
    maintain = ("maintain", path, "--format", format_of(name), "--phase")
    assert cli(*maintain, "limit", setting("max_active", 100)).code == 0
    now = "strftime('%Y-%m-%dT%H:%M:%S+00:00', 'now')"
    mirror = mirror_of(path)
    execute(mirror, f"UPDATE memories SET created_at = {now}, updated_at = {now}")
    execute(
        mirror,
        "UPDATE memories SET created_at = '2020-01-01T00:00:00+00:00', importance = 1, "
        "updated_at = '2020-01-01T00:00:00+00:00' WHERE content LIKE '%paints the fence%'",
    )
    return path, (*maintain, phase, PHASES[phase][0], "--json")


def is_kept_in_the_file(name: str) -> bool:
    """Whether a format keeps inactive entries among the others, marked."""
    return format_of(name) in ("mcp-memory-service", "langgraph")


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", WRITERS)
def test_undo_restores_what_ageing_deleted_from_a_file(
    name: str, phase: str, tmp_path: Path, cli: Cli, rounds: Callable[[int, int], int]
) -> None:
    if phase == "limit" and name not in FEW_WRITERS and rounds(1, 0):
        pytest.skip("in make test-long")
    path, run = aged(name, tmp_path / "agent", cli, phase)
    before, key = stored_in(path), PHASES[phase][1]
    planned = cli(*run, "--dry-run").json[phase]
    assert (len(planned[key]), stored_in(path)) == (1, before)
    done = cli(*run)
    assert (done.code, done.json[phase][key]) == (0, planned[key]), done.err
    assert stored_in(path) != before
    assert "paints the fence" not in str(stored_in(path)) or is_kept_in_the_file(name)
    assert len(contents(cli, path)) == len(FOUR_TEXTS) - 1
    # The second run does nothing, and what left does not come back by itself.
    with nobody_writes(path):
        assert cli(*run).json[phase][key] == []
    assert cli("recall", "--archived", path, "fence paints", "--json").json["hits"]
    undone = cli("undo", path, done.json[phase]["run"])
    assert (undone.code, stored_in(path)) == (0, before), undone.err
    assert cli("check", path).code == 0


@pytest.mark.parametrize("name", FEW_WRITERS)
def test_a_restored_memory_does_not_expire_again(name: str, tmp_path: Path, cli: Cli) -> None:
    path, run = aged(name, tmp_path / "agent", cli)
    (gone,) = cli(*run).json["expire"]["expired"]
    cli("undo", path, gone["id"]).ends(0)
    assert "paints the fence" in str(stored_in(path))
    again = cli(*run)
    assert (again.code, again.json["expire"]["expired"]) == (0, [])
    assert len(contents(cli, path)) == len(FOUR_TEXTS)


@pytest.mark.parametrize("name", ["mcp-server-memory", "markdown", "hermes"])
def test_a_text_written_again_after_expiry_is_active(name: str, tmp_path: Path, cli: Cli) -> None:
    path, run = aged(name, tmp_path / "agent", cli)
    before = path.read_bytes()
    cli(*run)
    # An agent that had the file in memory writes it back whole.
    path.write_bytes(before)
    cli(*run).ends(0)
    assert any("paints the fence" in content for content in contents(cli, path))
    assert rows(mirror_of(path), "SELECT count(*) AS n FROM memories WHERE status = 'active'") == [
        {"n": len(FOUR_TEXTS)}
    ]


@pytest.mark.parametrize("name", FEW_WRITERS)
def test_phases_are_undone_individually(name: str, tmp_path: Path, cli: Cli) -> None:
    path, _ = aged(name, tmp_path / "agent", cli)
    with unchanged(stored_in, path):
        done = cli("maintain", path, "--phase", "all", setting("retain", "keep=30d"), "--limit", 2,
                   "--format", format_of(name), "--json")  # fmt: skip
        assert done.code == 0, done.err
        assert len(contents(cli, path)) <= 2
        for phase in ("expire", "limit"):
            assert cli("undo", path, done.json[phase]["run"]).code == 0


def test_a_memory_deleted_after_archiving_is_not_restored(tmp_path: Path, cli: Cli) -> None:
    path, run = aged("mcp-memory-service", tmp_path / "agent", cli, "limit")
    run_id = cli(*run).json["limit"]["run"]
    execute(path, "UPDATE memories SET deleted_at = 1.5 WHERE content LIKE '%paints the fence%'")
    cli("undo", path, run_id).ends(1, "mcp-memory-service has deleted this memory")


@pytest.mark.parametrize("name", WRITERS)
def test_undo_restores_no_memory_that_its_agent_deleted_while_it_was_archived(
    name: str, tmp_path: Path, cli: Cli
) -> None:
    path, _ = aged(name, tmp_path / "agent", cli)
    mirror = Mirror(path, format_named(format_of(name)), mirror_of(path))
    with mirror.held(NOW):
        run = "run-of-limit"
        with open_writing(mirror.state) as file:
            begin_run(file, run, timestamp(NOW), "0", {PHASE: "limit"})
            ids = {each.id for each in read_memories(file) if each.content in FOUR_TEXTS[:2]}
            leaving = [age for age in read_ages(file, tenants(file)) if age.id in ids]
            retire_memories(file, run, "limit", leaving, timestamp(NOW))
            end_run(
                file, run, now=timestamp(NOW), outcome="done", plan=None, report={"archived": 2}
            )
        delete_text(name, path, FOUR_TEXTS[0])
        mirror.settle(NOW)
    assert contents(cli, path) == {*FOUR_TEXTS[2:]}
    cli("undo", path, run).ends(0)
    assert contents(cli, path) == {*FOUR_TEXTS[1:]} == {*texts_in(name, path)}
