"""Runs over each tenant of a database: leases and receipts."""

from __future__ import annotations

import json
from pathlib import Path

from cli_calls import Cli
from databases import Database, database, empty_database, server
from nights import unchanged

from slowwave.extensions.fleet.store.archive import Archive
from slowwave.extensions.fleet.store.receipt import Receipt
from slowwave.extensions.postgres.langgraph import PostgresStore
from slowwave.extensions.postgres.lease import Lease
from slowwave.extensions.postgres.url import DatabaseUrl

__all__ = ["database", "empty_database", "server"]  # fixtures, asked for by name

TENANTS = ["memories.ann", "memories.bo", "memories.cy"]
NIGHT = ("fleet", "maintain", "--format", "langgraph", "--json", "--workers", 1)


def filled(database: Database) -> Database:
    for tenant in TENANTS:
        database.tell(tenant, "The ferry leaves at 9.", "The ferry leaves at 9", "Bo likes rye.")
    database.put("profiles.ann", "p", {"name": "Ann"})
    return database


def receipts(folder: Path) -> dict[str, Receipt]:
    """Return the receipts of the latest night, by their tenants."""
    archive = Archive(str(folder))
    return {receipt.key: receipt for receipt in archive.receipts(archive.nights()[0])}


def became(folder: Path) -> dict[str, str]:
    """Return what became of each tenant in the latest night."""
    return {tenant: receipt.became for tenant, receipt in receipts(folder).items()}


def test_receipts_name_the_runs_of_mirrors(database: Database, cli: Cli, tmp_path: Path) -> None:
    url = filled(database).url
    ended = cli(*NIGHT, url, "--receipts", tmp_path).ends(0)
    assert "sesame" not in ended.out + ended.err
    by_tenant = receipts(tmp_path)
    assert list(by_tenant) == TENANTS
    for tenant, receipt in by_tenant.items():
        assert (receipt.became, receipt.applied) == ("done", 1)
        assert len(database.texts(tenant)) == 2
        runs = cli("log", database.url_of(tenant), "--json").json["runs"]
        assert receipt.runs == tuple(run["id"] for run in runs)
    assert all(b"sesame" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_only_a_changed_tenant_is_opened(database: Database, cli: Cli, tmp_path: Path) -> None:
    url = filled(database).url
    cli(*NIGHT, url, "--receipts", tmp_path)
    with unchanged(lambda: (database.store(), database.mirrors())):
        assert cli(*NIGHT, url, "--receipts", tmp_path).code == 0
    assert set(became(tmp_path).values()) == {"unchanged"}
    database.put(TENANTS[1], "new", {"content": "Bo likes rye"})
    # The number of rows is the same, and none of their times.
    database.execute(
        'UPDATE store SET value = \'{"content": "Ann likes oats."}\' '
        "WHERE prefix = 'memories.ann' AND value ->> 'content' LIKE '%rye%'"
    )
    assert cli(*NIGHT, url, "--receipts", tmp_path).code == 0
    outcomes = became(tmp_path)
    assert outcomes.pop(TENANTS[0]) != "unchanged"
    assert outcomes == {TENANTS[1]: "done", TENANTS[2]: "unchanged"}


def test_a_leased_tenant_is_skipped(database: Database, cli: Cli, tmp_path: Path) -> None:
    url = filled(database).url
    with Lease(DatabaseUrl.parse(database.url_of(TENANTS[0])), PostgresStore()).held():
        cli(*NIGHT, url, "--receipts", tmp_path).ends(3)
    assert became(tmp_path) == dict(zip(TENANTS, ["held", "done", "done"], strict=True))
    assert receipts(tmp_path)[TENANTS[0]].runs == ()
    assert len(database.texts(TENANTS[0])) == 3
    assert cli(*NIGHT, url, "--receipts", tmp_path).code == 0
    assert became(tmp_path) == dict.fromkeys(TENANTS, "unchanged") | {TENANTS[0]: "done"}


def test_a_dry_run_counts_proposals_and_writes_nothing(database: Database, cli: Cli) -> None:
    url = filled(database).url
    with unchanged(database.store):
        assert cli(*NIGHT, url, "--dry-run").json["planned"] == 3
    assert database.rows("SELECT to_regclass('slowwave_mirrors')") == [(None,)]


def test_options_for_a_database_require_one(database: Database, cli: Cli, tmp_path: Path) -> None:
    url = filled(database).url
    assert "--format" in cli("fleet", "maintain", url).err
    assert "--receipts" in cli(*NIGHT, url).err
    cli(*NIGHT, tmp_path).ends(2, "is for a database")
    gone = cli(*NIGHT, f"{url.replace(database.name, 'nowhere')}", "--receipts", tmp_path).ends(10)
    assert "does not exist" in json.loads(gone.err)["error"]
    assert "sesame" not in gone.err
