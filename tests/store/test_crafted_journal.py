"""A forged journal: `check` reports it, and no command applies it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from builders import made_once
from cli_calls import Cli
from nights import TWINS, daily, execute, fill, picture, rows, unchanged

from slowwave.cli.app import run

TABLES = ("memories", "embeddings", "synthesized_from", "runs", "proposals", "journal")
TWIN, PLANT = '{"id":"twin-00"}', '{"id":"plant-00"}'


@made_once
def night(path: Path) -> None:
    """Provide a file after a night that merged twins."""
    fill(path, [*daily(TWINS, "twin"), *daily(["Plants need light."], "plant")])
    assert run(["maintain", str(path), "--quiet"]) == 0
    execute(path, "CREATE TABLE notes (id TEXT)")


def add_entry(
    path: Path, table: object, key: object, before: object, after: object, lax: bool = False
) -> None:
    """Add a last entry to the journal. lax: to a table without constraints."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        if lax:
            db.executescript(
                "CREATE TABLE lax AS SELECT * FROM journal; DROP TABLE journal; "
                "ALTER TABLE lax RENAME TO journal"
            )
        db.execute(
            "INSERT INTO journal (run_id, sequence, proposal, table_name, row_key, before, after) "
            "SELECT run_id, max(sequence) + 1, '', ?, ?, ?, ? FROM journal",
            [table, key, before, after],
        )


def refused(path: Path, cli: Cli) -> str:
    """Require that check reports the journal and undo refuses; return the output of check."""
    (night,) = rows(path, "SELECT id FROM runs")
    with unchanged(picture, path, TABLES):
        checked, undone = cli("check", path), cli("undo", path, night["id"])
        assert (checked.code, undone.code) == (10, 10), undone.err
        assert "journal" in undone.err
    return checked.out


# Table, key, and the images before and after.
CRAFTED = {
    "a table's name that is SQL": ("memories --", "{}", None, "{}"),
    "a table's name with SQL behind it": ("memories WHERE 1 OR id = ? --", TWIN, None, "{}"),
    "an unknown table": ("memoriez", TWIN, None, "{}"),
    "an agent's own table": ("notes", TWIN, None, TWIN),
    "a table of the ledger": ("runs", TWIN, None, TWIN),
    "an unknown column": ("memories", TWIN, '{"mood":"x"}', '{"mood":"y"}'),
    "a column's name that is SQL": ("memories", TWIN, '{"trust = 0 --":1}', '{"trust = 0 --":2}'),
    "a key's name that is SQL": ("memories", '{"1 = 1 OR id":"x"}', None, "{}"),
    "a key of nothing": ("memories", "{}", None, "{}"),
    "a key of another column": ("memories", '{"tenant":"default"}', None, '{"tenant":"default"}'),
    "a key of too much": ("memories", '{"id":"twin-00","trust":1}', None, "{}"),
    "a key that is NULL": ("memories", '{"id":null}', None, "{}"),
    "a key that is a blob": ("waiting_messages", '{"id":{"hex":"00"}}', None, "{}"),
    "an insert of nothing": ("memories", PLANT, None, "{}"),
    "an insert of half a row": ("memories", PLANT, None, PLANT),
    "an image of nothing": ("memories", PLANT, "{}", "{}"),
    "an image of a memory": ("memories", PLANT, '{"trust":0.1}', "{}"),
    "an image that is half": (
        "embeddings",
        '{"memory_id":"a","model":"m"}',
        '{"run_id":"x"}',
        "{}",
    ),
    "an update of the lineage": (
        "synthesized_from",
        '{"derived_id":"a","source_id":"b"}',
        '{"run_id":"x"}',
        '{"run_id":"y"}',
    ),
    "an update of other columns": ("memories", PLANT, '{"trust":0.1}', '{"pinned":1}'),
    "an update of the key": ("memories", PLANT, '{"id":"x"}', '{"id":"plant-00"}'),
    "a text for a number": ("memories", PLANT, '{"trust":"high"}', '{"trust":0.5}'),
    "a number for a text": ("memories", PLANT, '{"content":7}', '{"content":"x"}'),
    "a number that is too much": ("memories", PLANT, '{"trust":7}', '{"trust":0.5}'),
    "a huge number": ("memories", PLANT, f'{{"access_count":{10**30}}}', '{"access_count":0}'),
    "a word that is none of them": ("memories", PLANT, '{"status":"gone"}', '{"status":"active"}'),
    "NULL where that is not allowed": ("memories", PLANT, '{"content":null}', '{"content":"x"}'),
    "no date": ("memories", PLANT, '{"expires_at":"one day"}', '{"expires_at":null}'),
    "a blank text": ("memories", PLANT, '{"content":""}', '{"content":"Plants need light."}'),
    "a list": ("memories", PLANT, '{"content":["x"]}', '{"content":"Plants need light."}'),
    "a blob for a text": ("memories", PLANT, '{"content":{"hex":"00"}}', '{"content":"x"}'),
    "a blob of no digits": ("memories", PLANT, '{"content":{"hex":"xy"}}', '{"content":"x"}'),
    "half a character": ("memories", PLANT, '{"source":"\\ud800"}', '{"source":null}'),
    "JSON that is deep": ("memories", PLANT, '{"tags":%s}' % ("[" * 900 + "]" * 900), "{}"),
    "a memory that supersedes itself": (
        "memories",
        PLANT,
        '{"status":"superseded","superseded_by":"plant-00"}',
        '{"status":"active","superseded_by":null}',
    ),
}


@pytest.mark.parametrize("entry", CRAFTED.values(), ids=CRAFTED)
def test_forgery_is_refused(night: Path, cli: Cli, entry: tuple[str, str, str | None, str]) -> None:
    add_entry(night, *entry)
    output = refused(night, cli)
    assert "unreadable: entry" in output
    assert "in its journal" in output


@pytest.mark.parametrize(
    "entry",
    [
        (b"memories", TWIN, None, "{}"),
        (None, TWIN, None, "{}"),
        ("memories", None, None, "{}"),
        ("memories", "nope", None, "{}"),
        ("memories", b"{}", None, "{}"),
        ("memories", "[1]", None, "{}"),
        ("memories", TWIN, "{", "{}"),
        ("memories", TWIN, 7, "{}"),
        ("memories", TWIN, None, None),
        ("embeddings", TWIN, "{'", "{}"),
        ("memories", TWIN, None, '{"trust":NaN}'),
    ],
)
def test_a_journal_without_constraints_is_refused(
    night: Path, cli: Cli, entry: tuple[object, object, object, object]
) -> None:
    add_entry(night, *entry, lax=True)
    refused(night, cli)


@pytest.mark.parametrize("column", ["sequence", "proposal", "run_id"])
@pytest.mark.parametrize("value", ["x'00'", "NULL"])
def test_an_entry_without_a_key_is_found(night: Path, cli: Cli, column: str, value: str) -> None:
    add_entry(night, "memories", PLANT, '{"trust":0.1}', '{"trust":0.5}', lax=True)
    execute(night, f"UPDATE journal SET {column} = {value} WHERE row_key LIKE '%plant%'")
    (merging,) = rows(night, "SELECT id FROM runs")
    assert cli("check", night).code == 10
    # Nothing reads what belongs to no run.
    assert cli("undo", night, merging["id"]).code == (0 if column == "run_id" else 10)


def test_entries_that_supersede_each_other_are_refused(night: Path, cli: Cli) -> None:
    fill(night, daily(["Lamps need power."], "lamp"))
    for item, successor in (("plant-00", "lamp-00"), ("lamp-00", "plant-00")):
        was = json.dumps({"status": "superseded", "superseded_by": successor})
        now = json.dumps({"status": "active", "superseded_by": None})
        add_entry(night, "memories", json.dumps({"id": item}), was, now)
    with unchanged(picture, night, TABLES):
        (merging,) = rows(night, "SELECT id FROM runs")
        cli("undo", night, merging["id"]).ends(10, "its own successor")


def test_log_diff_refuses_a_forged_entry(night: Path, cli: Cli) -> None:
    add_entry(night, "memories", "{}", None, "{}")
    (merging,) = rows(night, "SELECT id FROM runs")
    cli("log", "--diff", night, merging["id"]).ends(10, "is not one that a run writes")


def test_a_valid_journal_can_be_undone(night: Path, cli: Cli) -> None:
    (merging,) = rows(night, "SELECT id FROM runs")
    assert cli("check", night).code == 0
    assert cli("undo", night, merging["id"]).code == 0
