"""claude-mem's database is taken in, and never written to."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cli_calls import Cli
from model_nights import latest_port, served
from model_server import answering, approval
from nights import execute, unchanged
from places import FORMATS

from slowwave.extensions.formats.known_formats import recognised

FACTS = [
    ("billing", "Billing listens on port 8080.", "2026-02-03T09:00:00+00:00"),
    ("billing", "Refunds need a second signature.", "2026-02-03T09:00:00+00:00"),
    ("billing", "Billing listens on port 9090 now.", "2026-02-09T09:00:00+00:00"),
    ("billing", "Refunds need a second signature", "2026-02-10T09:00:00+00:00"),
    ("wiki", "The backup of the wiki runs at 02:30 every night.", "2026-02-11T09:00:00+00:00"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Provide a database as claude-mem leaves it."""
    made = tmp_path / "claude-mem.db"
    with closing(sqlite3.connect(made)) as db:
        db.executescript((FORMATS / "claude-mem.sql").read_text("utf-8"))
    return made


def test_facts_are_imported_with_their_days(path: Path, tmp_path: Path, cli: Cli) -> None:
    assert [item.name for item in recognised(path)] == ["claude-mem"]
    with unchanged(path.read_bytes):
        ended = cli("import", tmp_path / "own.db", path, "--from", "claude-mem", "--json")
        assert ended.json["imported"] == len(FACTS)
        memories = cli("list", tmp_path / "own.db", "--json").json["memories"]
        told = [(memory["tenant"], memory["content"], memory["observed_at"]) for memory in memories]
        assert sorted(told) == sorted(FACTS)


def test_a_dry_run_says_what_is_told_twice_and_nothing_writes(path: Path, cli: Cli) -> None:
    before = path.read_bytes()
    dry_run = ("maintain", path, "--dry-run", "--json")
    with served(answering(latest_port, approval)) as model:
        ended = cli(*dry_run, "--ask", *model)
    assert [proposal["operation"] for proposal in ended.json["proposals"]] == ["merge", "update"]
    assert [proposal["operation"] for proposal in cli(*dry_run).json["proposals"]] == ["merge"]
    for more in ([], ["--format", "claude-mem"]):
        cli("maintain", path, *more).ends(2, "--from claude-mem")
    assert path.read_bytes() == before
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_the_narrative_replaces_malformed_facts(path: Path, tmp_path: Path, cli: Cli) -> None:
    deep = "replace(hex(zeroblob(9999)), '0', '[')"
    execute(path, f"UPDATE observations SET facts = {deep}, project = x'70' WHERE id = 1")
    execute(path, "UPDATE observations SET facts = '{}', narrative = NULL WHERE id = 2")
    cli("import", tmp_path / "own.db", path, "--from", "claude-mem")
    texts = {
        memory["content"] for memory in cli("list", tmp_path / "own.db", "--json").json["memories"]
    }
    assert {"The configuration was read: billing listens on 8080.", "Billing moved"} < texts
