"""claude-mem's database is imported, and never written to."""

from __future__ import annotations

from pathlib import Path

import pytest
from agents_files import recorded
from cli_calls import Cli
from model_nights import latest_port, served
from model_server import answering, approval
from nights import execute, unchanged

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
    """Provide a database as claude-mem writes it."""
    return recorded("claude-mem", tmp_path / "claude-mem.db")


def test_facts_are_imported_with_their_days(path: Path, tmp_path: Path, cli: Cli) -> None:
    assert [item.name for item in recognised(path)] == ["claude-mem"]
    with unchanged(path.read_bytes):
        ended = cli("import", tmp_path / "own.db", path, "--from", "claude-mem", "--json")
        assert ended.json["imported"] == len(FACTS)
        memories = cli("list", tmp_path / "own.db", "--json").json["memories"]
        keys = ("tenant", "content", "observed_at")
        assert sorted(tuple(memory[key] for key in keys) for memory in memories) == sorted(FACTS)


def test_an_import_without_the_format_says_how_to_pass_it(
    path: Path, tmp_path: Path, cli: Cli
) -> None:
    cli("import", tmp_path / "own.db", path).ends(1, "--from FORMAT")


def test_only_dry_runs_accept_the_database(path: Path, cli: Cli) -> None:
    dry_run = ("maintain", path, "--dry-run", "--json")
    with unchanged(path.read_bytes):
        with served(answering(latest_port, approval)) as model:
            planned = cli(*dry_run, "--ask", *model).json["proposals"]
        assert [proposal["operation"] for proposal in planned] == ["merge", "update"]
        planned = cli(*dry_run).json["proposals"]
        assert [proposal["operation"] for proposal in planned] == ["merge"]
        for more in ([], ["--format", "claude-mem"]):
            cli("maintain", path, *more).ends(2, "--from claude-mem")
    assert list(path.parent.iterdir()) == [path]


def test_the_narrative_replaces_malformed_facts(path: Path, tmp_path: Path, cli: Cli) -> None:
    deep = "replace(hex(zeroblob(9999)), '0', '[')"
    execute(path, f"UPDATE observations SET facts = {deep}, project = x'70' WHERE id = 1")
    execute(path, "UPDATE observations SET facts = '{}', narrative = NULL WHERE id = 2")
    cli("import", tmp_path / "own.db", path, "--from", "claude-mem")
    texts = {
        memory["content"] for memory in cli("list", tmp_path / "own.db", "--json").json["memories"]
    }
    assert {"The configuration was read: billing listens on 8080.", "Billing moved"} < texts
