"""What has come to its end leaves the files of other agents, and comes back as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agents_files import FOUR_TEXTS, format_of, held, made, nobody_writes
from cli_calls import Cli
from commands import setting
from nights import execute, rows

from benchmarks.quality.formats import WRITERS

RULE = ("--phase", "expire", setting("retain", "keep=30d"))


def mirror_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.slowwave.db")


def contents(cli: Cli, path: Path) -> set[str]:
    return {memory["content"] for memory in cli("list", path, "--json").json["memories"]}


def aged(name: str, folder: Path, cli: Cli) -> tuple[Path, tuple[Any, ...]]:
    """Make a file whose memories are all of today, but for one, and the run that lets it expire.

    How old they are stands in the mirror: not every file says it.
    """
    path = made(name, folder, FOUR_TEXTS)
    run = ("maintain", path, *RULE, "--format", format_of(name), "--json")
    assert (
        cli(
            "maintain",
            path,
            "--phase",
            "limit",
            setting("max_active", 100),
            "--format",
            format_of(name),
        ).code
        == 0
    )
    now = "strftime('%Y-%m-%dT%H:%M:%S+00:00', 'now')"
    mirror = mirror_of(path)
    execute(mirror, f"UPDATE memories SET created_at = {now}, updated_at = {now}")
    execute(
        mirror,
        "UPDATE memories SET created_at = '2020-01-01T00:00:00+00:00', "
        "updated_at = '2020-01-01T00:00:00+00:00' WHERE content LIKE '%paints the fence%'",
    )
    return path, run


@pytest.mark.parametrize("name", WRITERS)
def test_what_has_expired_leaves_the_other_agents_file_and_comes_back_as_it_was(
    name: str, tmp_path: Path, cli: Cli
) -> None:
    path, run = aged(name, tmp_path / "agent", cli)
    before = held(path)
    planned = cli(*run, "--dry-run").json["expire"]
    assert (len(planned["expired"]), held(path)) == (1, before)
    done = cli(*run)
    assert (done.code, done.json["expire"]["expired"]) == (0, planned["expired"]), done.err
    assert held(path) != before
    assert "paints the fence" not in str(held(path)) or is_kept_in_the_file(name)
    assert len(contents(cli, path)) == len(FOUR_TEXTS) - 1
    # The second run does nothing, and what left does not come back by itself.
    with nobody_writes(path):
        assert cli(*run).json["expire"]["expired"] == []
    assert cli("recall", "--archived", path, "fence paints", "--json").json["hits"]
    undone = cli("undo", path, done.json["expire"]["run"])
    assert (undone.code, held(path)) == (0, before), undone.err
    assert cli("check", path).code == 0


def is_kept_in_the_file(name: str) -> bool:
    """Whether a format keeps what is active no more beside the others, marked."""
    return format_of(name) in ("mcp-memory-service", "langgraph")


@pytest.mark.parametrize("name", WRITERS)
def test_one_expired_memory_is_restored_into_the_other_agents_file_and_has_its_time_again(
    name: str, tmp_path: Path, cli: Cli
) -> None:
    path, run = aged(name, tmp_path / "agent", cli)
    (one,) = cli(*run).json["expire"]["expired"]
    ended = cli("undo", path, one["id"])
    assert ended.code == 0, ended.err
    assert len(contents(cli, path)) == len(FOUR_TEXTS)
    assert "paints the fence" in str(held(path))
    again = cli(*run)
    assert (again.code, again.json["expire"]["expired"]) == (0, [])
    assert len(contents(cli, path)) == len(FOUR_TEXTS)


@pytest.mark.parametrize("name", ["mcp-server-memory", "markdown", "hermes"])
def test_what_its_agent_tells_anew_after_it_expired_is_a_memory_again(
    name: str, tmp_path: Path, cli: Cli
) -> None:
    path, run = aged(name, tmp_path / "agent", cli)
    told = path.read_bytes()
    cli(*run)
    # An agent that had the file in memory writes it back whole.
    path.write_bytes(told)
    again = cli(*run)
    assert again.code == 0, again.err
    assert any("paints the fence" in content for content in contents(cli, path))
    assert rows(mirror_of(path), "SELECT count(*) AS n FROM memories WHERE status = 'active'") == [
        {"n": len(FOUR_TEXTS)}
    ]


@pytest.mark.parametrize("name", WRITERS)
def test_all_phases_with_a_rule_and_a_limit_are_taken_back_one_by_one(
    name: str, tmp_path: Path, cli: Cli
) -> None:
    path, _ = aged(name, tmp_path / "agent", cli)
    before = held(path)
    done = cli("maintain", path, "--phase", "all", setting("retain", "keep=30d"), "--limit", 2,
               "--format", format_of(name), "--json")  # fmt: skip
    assert done.code == 0, done.err
    assert len(contents(cli, path)) <= 2
    for phase in ("expire", "limit"):
        assert cli("undo", path, done.json[phase]["run"]).code == 0
    assert held(path) == before
