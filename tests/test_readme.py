"""The README says what the program does: its examples are run, its tables compared."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
import readme
from test_cli import Cli, cli

from slowwave.cli.app import COMMANDS
from slowwave.consolidation.vectors.embedder import SentenceEmbedder

__all__ = ["cli"]  # a fixture of test_cli, asked for by name


def test_what_the_program_can_say_itself_stands_so_in_the_readme(
    embedder: SentenceEmbedder,
) -> None:
    text = readme.README.read_text("utf-8")
    for name, part in readme.parts(embedder).items():
        assert readme.block(text, name) == part, f"run: python tests/readme.py ({name})"


def test_the_commands_of_the_readme_work_one_after_the_other(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(readme.SMOKE, tmp_path / "memories.jsonl")
    monkeypatch.chdir(tmp_path)
    example = readme.block(readme.README.read_text("utf-8"), "example")
    commands = [line[2:] for line in example.splitlines() if line.startswith("$ ")]
    assert len(commands) == 7
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "slowwave"
        ended = cli(*arguments)
        assert (ended.code, ended.err) == (0, ""), command


def test_every_command_stands_in_the_readme() -> None:
    text = readme.README.read_text("utf-8")
    assert [name for name in COMMANDS if f"| `slowwave {name} " not in text] == []


def test_the_smoke_fixture_of_ci_has_something_to_do(tmp_path: Path, cli: Cli) -> None:
    assert cli("import", tmp_path / "smoke.db", readme.SMOKE).code == 0
    planned = cli("maintain", tmp_path / "smoke.db", "--consolidate", "--dry-run", "--exit-code")
    assert planned.code == 4
