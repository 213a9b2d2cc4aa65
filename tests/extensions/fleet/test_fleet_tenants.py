"""A night for each tenant of a database: leased, rested, resumed, and told by its receipts."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cli_calls import Cli
from databases import Database, database, empty_database, server
from figures import Figures

from slowwave.extensions.fleet.store.archive import Archive
from slowwave.extensions.fleet.store.receipt import Receipt
from slowwave.extensions.postgres.langgraph import PostgresStore
from slowwave.extensions.postgres.lease import Lease
from slowwave.extensions.postgres.url import DatabaseUrl

__all__ = ["database", "empty_database", "server"]  # fixtures, asked for by name

TENANTS = ["memories.ann", "memories.bo", "memories.cy"]
Rounds = Callable[[int, int], int]
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


def test_receipts_equal_the_runs_of_mirrors(database: Database, cli: Cli, tmp_path: Path) -> None:
    url = filled(database).url
    ended = cli(*NIGHT, url, "--receipts", tmp_path).ends(0)
    assert "sesame" not in ended.out + ended.err
    output = receipts(tmp_path)
    assert list(output) == TENANTS
    for tenant, receipt in output.items():
        assert (receipt.became, receipt.applied) == ("done", 1)
        assert len(database.texts(tenant)) == 2
        runs = cli("log", database.of(tenant), "--json").json["runs"]
        assert receipt.runs == tuple(run["id"] for run in runs)
    assert all(b"sesame" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_only_a_changed_tenant_is_opened(database: Database, cli: Cli, tmp_path: Path) -> None:
    url = filled(database).url
    cli(*NIGHT, url, "--receipts", tmp_path)
    before, mirrors = database.store(), database.mirrors()
    assert cli(*NIGHT, url, "--receipts", tmp_path).code == 0
    assert {receipt.became for receipt in receipts(tmp_path).values()} == {"unchanged"}
    assert (database.store(), database.mirrors()) == (before, mirrors)
    database.put(TENANTS[1], "new", {"content": "Bo likes rye"})
    assert cli(*NIGHT, url, "--receipts", tmp_path).code == 0
    became = {tenant: item.became for tenant, item in receipts(tmp_path).items()}
    assert became == {TENANTS[0]: "unchanged", TENANTS[1]: "done", TENANTS[2]: "unchanged"}


def test_a_text_changed_in_place_is_noticed(database: Database, cli: Cli, tmp_path: Path) -> None:
    """The number of rows is the same, and no time of them has changed."""
    url = filled(database).url
    cli(*NIGHT, url, "--receipts", tmp_path)
    database.execute(
        'UPDATE store SET value = \'{"content": "Ann likes oats."}\' '
        "WHERE prefix = 'memories.ann' AND value ->> 'content' LIKE '%rye%'"
    )
    cli(*NIGHT, url, "--receipts", tmp_path)
    became = {tenant: item.became for tenant, item in receipts(tmp_path).items()}
    assert became["memories.ann"] != "unchanged"
    assert became["memories.bo"] == "unchanged"


def test_a_leased_tenant_is_skipped_as_held(database: Database, cli: Cli, tmp_path: Path) -> None:
    url = filled(database).url
    with Lease(DatabaseUrl.parse(database.of(TENANTS[0])), PostgresStore()).held():
        ended = cli(*NIGHT, url, "--receipts", tmp_path)
    assert ended.code == 3
    output = receipts(tmp_path)
    assert [text.became for text in output.values()] == ["held", "done", "done"]
    assert output[TENANTS[0]].runs == ()
    assert len(database.texts(TENANTS[0])) == 3
    assert cli(*NIGHT, url, "--receipts", tmp_path).code == 0
    became = {tenant: item.became for tenant, item in receipts(tmp_path).items()}
    assert became == {TENANTS[0]: "done", TENANTS[1]: "unchanged", TENANTS[2]: "unchanged"}


def test_a_dry_run_tells_what_would_go_and_writes_nothing(database: Database, cli: Cli) -> None:
    url, before = filled(database).url, database.store()
    assert cli(*NIGHT, url, "--dry-run").json["planned"] == 3
    assert database.store() == before
    assert database.rows("SELECT to_regclass('slowwave_mirrors')") == [(None,)]


def test_two_shards_share_the_tenants(database: Database, cli: Cli, tmp_path: Path) -> None:
    url = filled(database).url
    done = [
        cli(*NIGHT, url, "--receipts", tmp_path, "--shard", f"{at}/2").json["files"]
        for at in range(2)
    ]
    assert sum(done) == 3
    assert all(len(database.texts(tenant)) == 2 for tenant in TENANTS)


def test_database_options_need_a_database(database: Database, cli: Cli, tmp_path: Path) -> None:
    url = filled(database).url
    assert "--format" in cli("fleet", "maintain", url).err
    assert "--receipts" in cli(*NIGHT, url).err
    cli(*NIGHT, tmp_path).ends(2, "is for a database")
    gone = cli(*NIGHT, f"{url.replace(database.name, 'nowhere')}", "--receipts", tmp_path).ends(10)
    assert "does not exist" in json.loads(gone.err)["error"]
    assert "sesame" not in gone.err


def leased(database: Database) -> int:
    """Return how many tenants a run has had leased so far."""
    if database.rows("SELECT to_regclass('slowwave_mirrors')") == [(None,)]:
        return 0
    return int(database.rows("SELECT count(*) FROM slowwave_mirrors")[0][0])


def let_leases_run_out(database: Database) -> None:
    """Let the leases of a killed run end, once its workers have noticed that it is gone."""
    if not leased(database):
        return
    held = "SELECT tenant, mirror IS NULL, lease_owner FROM slowwave_mirrors ORDER BY 1"
    before = None
    while before != (before := database.rows(held)):
        time.sleep(0.5)
    database.execute(
        "UPDATE slowwave_mirrors SET leased_until = clock_timestamp() "
        "WHERE leased_until IS NOT NULL"
    )


def refuse_half_a_night(database: Database, tenants: list[str]) -> None:
    """Assert that each tenant has all its rows and no mirror, or the rows that its mirror has."""
    done: set[str] = set()
    if leased(database):
        rows = database.rows("SELECT tenant FROM slowwave_mirrors WHERE mirror IS NOT NULL")
        done = {tenant for (tenant,) in rows}
    for tenant in tenants:
        assert len(database.texts(tenant)) == (2 if tenant in done else 3)
        assert tenant not in done or database.fits_its_mirror(tenant)


def test_a_killed_driver_leaves_tenants_whose_rows_fit_their_mirrors_and_nothing_is_done_twice(
    database: Database, cli: Cli, tmp_path: Path, rounds: Rounds, figures: Figures
) -> None:
    """With two kills a night and --long, and now and then with workers of its own."""
    tenants = [f"memories.{number}" for number in range(rounds(3, 8))]
    chance = random.Random(19)  # noqa: S311 - moments, not secrets
    command = [sys.executable, "-m", "slowwave.cli", *map(str, NIGHT), database.url]
    for attempt in range(rounds(1, 3)):
        folder = tmp_path / str(attempt)
        database.execute("DROP TABLE IF EXISTS slowwave_mirrors")
        database.execute("DELETE FROM store")
        for tenant in tenants:
            database.tell(tenant, "The ferry leaves at 9.", "The ferry leaves at 9", "Bo likes rye")
        for most in sorted(chance.sample(range(len(tenants)), rounds(1, 2))):
            driver = subprocess.Popen(
                [*command, "--workers", str(1 + attempt % 2), "--receipts", str(folder)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            while driver.poll() is None and leased(database) <= most:
                time.sleep(0.002)
            time.sleep(chance.uniform(0, 0.2))
            driver.send_signal(signal.SIGKILL)
            if driver.wait() == -signal.SIGKILL:
                figures.add("drivers of fleets over tenants killed")
            let_leases_run_out(database)
            refuse_half_a_night(database, tenants)
        cli(*NIGHT, database.url, "--receipts", folder).ends(0)
        assert set(receipts(folder)) == set(tenants)
        refuse_half_a_night(database, tenants)
        applied = "SELECT count(*) FROM proposals WHERE state = 'applied'"
        assert [database.in_mirror(item, applied) for item in tenants] == [[(1,)]] * len(tenants)
