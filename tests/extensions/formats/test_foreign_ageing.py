"""What is above a limit in the files of other agents: it leaves them, and comes back as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from agents_files import FOUR_TEXTS, format_of, held, made
from cli_calls import Cli
from commands import setting
from nights import execute

from benchmarks.quality.formats import WRITERS


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_above_a_limit_leaves_the_other_agents_file_and_comes_back_as_it_was(
    name: str, tmp_path: Path, cli: Cli
) -> None:
    path = made(name, tmp_path / "agent", FOUR_TEXTS)
    before = held(path)
    limit = (
        "maintain",
        path,
        "--phase",
        "limit",
        setting("max_active", 1),
        "--format",
        format_of(name),
        "--json",
    )
    planned = cli(*limit, "--dry-run")
    assert held(path) == before
    done = cli(*limit)
    assert (planned.code, done.code) == (0, 0), done.err
    archived = done.json["limit"]["archived"]
    assert len(archived) == len(planned.json["limit"]["archived"]) > 0
    assert held(path) != before
    active = cli("list", path, "--json").json["memories"]
    assert len(active) == len(FOUR_TEXTS) - len(archived)
    # Nothing more is above it, and the file stays as it is.
    left = held(path)
    assert cli(*limit).json["limit"]["archived"] == []
    assert held(path) == left
    found = cli("recall", "--archived", path, "fence paints", "--json").json
    assert found
    assert cli("undo", path, done.json["limit"]["run"]).code == 0
    assert held(path) == before


def test_what_its_agent_deletes_after_it_was_archived_stays_deleted(
    tmp_path: Path, cli: Cli
) -> None:
    path = made("mcp-memory-service", tmp_path / "agent", FOUR_TEXTS)
    limit = (
        "maintain",
        path,
        "--phase",
        "limit",
        setting("max_active", 1),
        "--format",
        "mcp-memory-service",
        "--json",
    )
    run_id = cli(*limit).json["limit"]["run"]
    execute(path, "UPDATE memories SET deleted_at = 1.5 WHERE content LIKE 'Helvi%'")
    ended = cli("undo", path, run_id)
    assert (ended.code, "Its agent deleted it" in ended.err) == (1, True)
