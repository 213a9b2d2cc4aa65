"""Reports after a model was asked, and on files of other agents."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from pathlib import Path

import pytest
from cli_calls import Cli
from model_nights import served
from model_server import Answer, Asked, answering, approval, groups

TEXTS = (
    "The payment webhook is retried 3 times.",
    "The payment webhook is never retried by the gateway.",
    "The payment webhook of the gateway is slow.",
    "The payment webhook is slow at the gateway.",
    "The payment webhook is slow at the gateway!",
)


@pytest.fixture
def memories(tmp_path: Path, cli: Cli) -> Path:
    source, path = tmp_path / "texts.jsonl", tmp_path / "memory.db"
    source.write_text("".join(json.dumps({"content": text}) + "\n" for text in TEXTS))
    assert cli("import", path, source).code == 0
    return path


def contradicting(asked: Asked) -> Answer:
    return groups(conflicts=[[memory for memory in asked.memories if "retried" in memory.text]])


def test_conflicts_of_a_model_stay_in_each_report(memories: Path, cli: Cli) -> None:
    assert cli("maintain", memories, "--dry-run", "--json").json["undecided"]["memories"]
    with served(answering(contradicting, approval)) as options:
        night = cli("maintain", memories, *options)
    # What only the program merged was not left by the model.
    assert re.search(r"shown (\d+) memories in 1 question, and left \1 of", night.out)
    listed = cli("conflicts", memories, "--json").json["conflicts"]
    assert [set(conflict["values"]) for conflict in listed] == [set(TEXTS[:2])]
    for more in (("--dry-run",), ("--full",), ()):
        report = cli("maintain", memories, "--json", *more).json
        assert report["conflicts"] == listed
        assert report["undecided"]["memories"] == 0
    conflict = listed[0]["id"]
    assert cli("conflicts", "resolve", memories, conflict, "--both").code == 0
    assert cli("maintain", memories, "--json").json["conflicts"] == []


def test_an_entity_is_found_and_shown_with_its_observations(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "memory.jsonl"
    lines = [
        {"type": "entity", "name": name, "entityType": "person", "observations": observations}
        for name, observations in (
            ("Ann", ["Works at Acme since 2021", "Works at Acme since 2022", "Ann likes tea"]),
            ("Bo", ["Lives in Turku", "Likes tea"]),
        )
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "1. Ann: Works at Acme since 202" in cli("recall", path, "Where does Ann work?").out
    shown = cli("list", path).out
    assert "Bo: Likes tea" in shown and "Ann: Ann likes tea" not in shown
    assert "  Ann: Works at Acme since 2021 (" in cli("conflicts", path).out
    report = cli("maintain", path, "--format", "mcp-server-memory").out
    assert "    Ann: Works at Acme since 2022 (" in report


def test_rows_are_shown_and_found_by_their_keys(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "my.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE notes (nid INTEGER PRIMARY KEY, said TEXT, day TEXT, gone INT)")
        rows = [(7, "Use tabs in Go.", "odd"), (9, "use tabs in Go", "2026-09-01")]
        db.executemany("INSERT INTO notes VALUES (?, ?, ?, 0)", rows)
    table = "notes:said,date=day"
    planned = cli("maintain", path, "--table", table, "--dry-run")
    assert re.search(r"row [79]: use tabs in go", planned.out, re.I)
    assert "only a preview" in planned.err and "'Use tabs in Go.'" in planned.err
    shutil.copy(path, tmp_path / "copy.db")
    imported = cli("import", tmp_path / "own.db", tmp_path / "copy.db", "--from", f"table:{table}")
    assert imported.code == 0 and "preview" not in imported.err
    assert "'Use tabs in Go.'" in imported.err
    assert cli("maintain", path, "--table", f"{table},deleted=gone").code == 0
    assert "row " in cli("list", path).out
    assert cli("show", path, "9", "--json").json["memory"]["content"] == "use tabs in Go"
    assert cli("undo", path).code == 0


def test_a_file_of_bullets_gets_a_hint_to_preview_it(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "notes.md"
    path.write_text("- The deploy runs at noon.\n- The backup runs at one.\n")
    hint = f"slowwave maintain {path} --format markdown --dry-run"
    cli("maintain", path).ends(10, hint)
