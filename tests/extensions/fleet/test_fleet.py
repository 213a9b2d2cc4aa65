"""Runs over many files: receipts, budgets, damaged files, and killed processes."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from builders import damage, foreign, older_file
from cli_calls import Cli
from fleets import (
    RECEIPTS,
    agent_file,
    all_receipts,
    applied,
    built_in,
    deadly_writer,
    fleet_of,
    job_of,
    nightly,
    receipt_runs,
    runs_of,
)
from model_nights import near_pairs
from model_server import model_server
from nights import daily, execute, fill, inputs_of, picture, unchanged
from readme import ROOT, every_command

from slowwave.cli.arguments.model_options import ModelOptions
from slowwave.consolidation.cycle import run_cycle
from slowwave.consolidation.errors import ConsolidationError
from slowwave.consolidation.model.usage_limits import UsageLimits
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.extensions.fleet.budget_owners import BudgetOwner, OwnerInFile, Portion
from slowwave.extensions.fleet.commands.maintain import writer_of
from slowwave.extensions.fleet.fleet_job import FleetJob, Item
from slowwave.extensions.fleet.store.archive import Archive, Shard
from slowwave.extensions.fleet.store.disk import file_system_of, is_of_a_network
from slowwave.extensions.fleet.store.receipt import Receipt
from slowwave.extensions.fleet.store.sources import source_of
from slowwave.extensions.fleet.worker import Worker
from slowwave.store.errors import StoreError
from slowwave.store.file import create_file
from slowwave.store.lock import maintenance_lock

Rounds = Callable[[int, int], int]


@pytest.fixture
def fleet(tmp_path: Path) -> list[Path]:
    """Provide four agents' files in a folder."""
    return fleet_of(tmp_path / "agents", 4)


# Runs the command on one worker.
FLEET = ("fleet", "maintain", "--workers", 1)


def folder_of(fleet: list[Path]) -> Path:
    return fleet[0].parent


def maintained(cli: Cli, fleet: list[Path], *more: object, workers: int = 1) -> dict[str, object]:
    """Maintain a fleet, and return the report."""
    command = ("fleet", "maintain", folder_of(fleet), "--workers", workers)
    return dict(cli(*command, "--json", *more).json)


# ---- the nights ----


def test_a_fleet_applies_what_single_runs_do(fleet: list[Path], tmp_path: Path, cli: Cli) -> None:
    alone = [Path(shutil.copy(path, tmp_path / f"alone-{n}.db")) for n, path in enumerate(fleet)]
    for path in alone:
        assert cli("maintain", path).code == 0
    report = maintained(cli, fleet)
    assert report["became"] == {"done": 4}
    assert [applied(path) for path in fleet] == [applied(path) for path in alone]
    assert report["applied"] == sum(len(applied(path)) for path in alone) == 6
    assert all(cli("check", path).code == 0 for path in fleet)


def test_two_shards_maintain_each_file_once(fleet: list[Path], cli: Cli) -> None:
    parts = [maintained(cli, fleet, "--shard", f"{number}/2") for number in range(2)]
    assert sum(int(str(part["files"])) for part in parts) == 4
    assert all(len(runs_of(path)) == 1 for path in fleet)
    assert_receipts_name_all_runs(fleet)


def assert_receipts_name_all_runs(files: list[Path]) -> None:
    folder = folder_of(files)
    runs = {path.relative_to(folder).as_posix(): runs_of(path) for path in files}
    assert receipt_runs(folder / RECEIPTS) == runs


def test_a_killed_worker_is_replaced(tmp_path: Path, rounds: Rounds) -> None:
    for turn in range(rounds(1, 4)):
        folder = tmp_path / str(turn)
        files = fleet_of(folder / "agents", 3)
        totals = nightly(folder / "agents", deadly_writer(folder, 1), workers=2)
        assert len(list(folder.glob("killed-*"))) == 1
        assert totals.became == {"done": 3}
        # The killed worker had applied them without a receipt.
        assert totals.sums["applied"] == sum(len(applied(file)) for file in files)
        assert all(len(applied(file)) == len(set(applied(file))) for file in files)
        assert_receipts_name_all_runs(files)


def test_workers_import_nothing_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = fleet_of(tmp_path / "agents", 2)
    for name in ("json", "pickle", "socket"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    totals = nightly(tmp_path / "agents", built_in, workers=2)
    assert totals.became == {"done": len(files)}
    assert "PYTHONSAFEPATH" not in os.environ


def test_a_file_that_kills_every_worker_is_skipped(tmp_path: Path, long_only: None) -> None:
    fleet_of(tmp_path / "agents", 2)
    totals = nightly(tmp_path / "agents", deadly_writer(tmp_path, 99, spared=1), workers=2)
    assert totals.became == {"done": 1, "lost": 1}
    (why,) = [why for _, why in totals.troubles]
    assert "its worker died without an error message, 3 times" in why


def test_a_fleet_whose_workers_all_die_ends(tmp_path: Path, long_only: None) -> None:
    fleet_of(tmp_path / "agents", 1)
    with pytest.raises(ConsolidationError, match="die immediately"):
        nightly(tmp_path / "agents", deadly_writer(tmp_path, 99), workers=2)


def test_a_fleet_opens_a_file_once_more_than_a_single_run(fleet: list[Path]) -> None:
    opened: list[str] = []
    counting = True

    def count(event: str, arguments: tuple[object, ...]) -> None:
        # Recognizing a file takes no lock, and reads only its first page.
        if counting and event == "sqlite3.connect" and "immutable" not in str(arguments[0]):
            opened.append(str(arguments[0]))

    sys.addaudithook(count)  # there is no way to take one away again
    job = job_of(folder_of(fleet), built_in)
    try:
        # With proposals, and without.
        for _ in range(2):
            now = datetime.now(UTC)
            run_cycle(inputs_of(fleet[0], SentenceEmbedder(), now=now))
            alone = len(opened)
            Worker(job).night(Item(fleet[2].relative_to(folder_of(fleet)).as_posix(), None))
            assert len(opened) - alone == alone + 1 > 1
            opened.clear()
    finally:
        counting = False


# ---- the second night ----


def test_the_next_run_opens_only_files_that_changed(fleet: list[Path], cli: Cli) -> None:
    maintained(cli, fleet)
    opened = {path: path.stat() for path in fleet}
    fill(fleet[1], daily(["The wiki is backed up at 02:30."], "wiki"))
    # If this file were opened, it would not be a memory file.
    data, was = fleet[0].read_bytes(), fleet[0].stat()
    with fleet[0].open("r+b") as stream:
        stream.write(bytes(len(data)))
    os.utime(fleet[0], ns=(was.st_atime_ns, was.st_mtime_ns))
    report = maintained(cli, fleet)
    assert report["became"] == {"done": 1, "unchanged": 3}
    fleet[0].write_bytes(data)
    assert all(path.stat().st_mtime_ns == opened[path].st_mtime_ns for path in fleet[2:])
    # The same bytes with another time are another version.
    assert maintained(cli, fleet)["became"] == {"nothing": 1, "unchanged": 3}


def test_a_file_is_due_when_a_memory_expires(tmp_path: Path, cli: Cli) -> None:
    path = agent_file(tmp_path / "agents" / "one.db")
    fill(path, [{"content": "The gate code is 4411.", "expires_at": "2199-01-01T00:00:00+00:00"}])
    maintained(cli, [path])
    (receipt,) = all_receipts(path.parent / RECEIPTS)
    assert receipt.until == "2199-01-01T00:00:00+00:00"
    version, basis = receipt.version, receipt.basis or ""
    assert receipt.is_current(version, basis, "2198-12-31T00:00:00+00:00")
    assert not receipt.is_current(version, basis, "2199-01-02T00:00:00+00:00")


def test_other_options_make_every_file_due(fleet: list[Path], cli: Cli) -> None:
    assert maintained(cli, fleet, "--only", "update")["applied"] == 0
    assert maintained(cli, fleet)["became"] == {"done": 4}


# ---- kills ----


def test_killed_drivers_resume(tmp_path: Path, cli: Cli, rounds: Rounds) -> None:
    chance = random.Random(20)  # noqa: S311 - moments, not secrets
    for kill in range(rounds(1, 4)):
        folder = tmp_path / f"agents-{kill}"
        files = fleet_of(folder, 6)
        with driving(folder, "--workers", str(1 + kill % 2), "--quiet") as driver:
            wait_until(lambda folder=folder: list(folder.rglob("*.maintenance.lock")))
            time.sleep(chance.uniform(0.0, 1.5))
            driver.send_signal(signal.SIGKILL)
        assert all(cli("check", file).code == 0 for file in files)
        report = maintained(cli, files)
        assert (report["complete"], report["troubles"]) == (True, [])
        assert_receipts_name_all_runs(files)
        assert all(len(applied(file)) == len(set(applied(file))) > 0 for file in files)


def driving(folder: Path, *options: str) -> subprocess.Popen[str]:
    """Start to maintain a fleet in a process."""
    command = [sys.executable, "-m", "slowwave.cli", "fleet", "maintain", str(folder), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def wait_until(condition: Callable[[], object]) -> None:
    for _ in range(600):
        if condition():
            break
        time.sleep(0.02)


def test_sigterm_ends_a_fleet_with_143_and_keeps_receipts(tmp_path: Path, cli: Cli) -> None:
    files = fleet_of(tmp_path / "agents", 12)
    with driving(folder_of(files), "--workers", "1", "--json") as driver:
        wait_until(lambda: any(runs_of(file) for file in files))
        driver.send_signal(signal.SIGTERM)
        out, _ = driver.communicate(timeout=60)
    assert driver.returncode == 143
    report = json.loads(out)
    assert report["complete"] is False
    assert 0 < report["files"] < len(files)
    shown = cli("fleet", "report", folder_of(files) / RECEIPTS).out
    assert shown.count("Not all files were maintained") == 1


# ---- budgets ----


def with_questions(folder: Path, count: int) -> list[Path]:
    """Make files with three questions to a model each."""
    files = [agent_file(folder / f"{number}.db", 1) for number in range(count)]
    for path in files:
        fill(path, [m | {"tenant": f"t{n // 2}"} for n, m in enumerate(near_pairs(3))])
    return files


# What a question and its check cost, in USD.
COST_OF_A_QUESTION = 0.0005


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        (UsageLimits(calls=5), "the budget of 5 calls is used up"),
        (
            UsageLimits(cost_usd=COST_OF_A_QUESTION),
            f"the budget of {COST_OF_A_QUESTION} USD has no room",
        ),
    ],
    ids=["calls", "money"],
)
def test_two_workers_share_a_budget(budget: UsageLimits, why: str, tmp_path: Path) -> None:
    files = with_questions(tmp_path / "agents", 4)
    owner = OwnerInFile(tmp_path, budget)
    with model_server() as server:
        writer = partial(
            writer_of, ModelOptions("openai/gpt-4o-mini", api_base=server.base, concurrency=4)
        )
        job = job_of(tmp_path / "agents", writer, 2, budget, owner)
        with ThreadPoolExecutor(2) as pool:
            shares = pool.map(lambda rest: nights(job, rest), (files[::2], files[1::2]))
            receipts = [receipt for share in shares for receipt in share]
        asked = len(server.asked)
    assert why in " ".join(str(receipt.why) for receipt in receipts)
    assert sum(receipt.calls for receipt in receipts) == asked > 1
    assert asked == budget.calls or budget.calls is None
    spent = sum(receipt.cost or 0.0 for receipt in receipts)
    assert 0 < spent <= (budget.cost_usd or spent)


def nights(job: FleetJob, files: list[Path]) -> list[Receipt]:
    worker = Worker(job)
    return [worker.night(Item(file.name, None)) for file in files]


def test_a_fleet_whose_files_are_all_partly_done_ends_with_3(tmp_path: Path, cli: Cli) -> None:
    with_questions(tmp_path / "agents", 2)
    with model_server() as server:
        asking = ("--model", "openai/gpt-4o-mini", "--api-base", server.base, "--max-calls", 0)
        command = ("fleet", "maintain", tmp_path / "agents", "--workers", 1, *asking, "--json")
        ended = cli(*command).ends(3, "2 of 2 files were not finished. First: ")
    assert (ended.json["became"], ended.json["applied"]) == ({"partial": 2}, 2)


def test_worker_processes_share_a_budget(tmp_path: Path, cli: Cli, long_only: None) -> None:
    files = with_questions(tmp_path / "agents", 8)
    with model_server() as server:
        asking = ("--model", "openai/gpt-4o-mini", "--api-base", server.base)
        report = maintained(cli, files, *asking, "--max-calls", 5, workers=2)
        assert len(server.asked) == 5 == report["calls"]
        report = maintained(cli, files, *asking, "--max-cost", COST_OF_A_QUESTION, workers=2)
    assert 0 < float(str(report["cost_usd"])) <= COST_OF_A_QUESTION
    assert f"the budget of {COST_OF_A_QUESTION} USD has no room" in str(report["troubles"])


def test_shards_share_a_whole_budget() -> None:
    shares = [Shard(number, 3).share_of(UsageLimits(10, 100, 1.0, 60.0)) for number in range(3)]
    assert sum(share.calls or 0 for share in shares) == 10
    assert sum(share.tokens or 0 for share in shares) == 100
    assert sum(share.cost_usd or 0 for share in shares) == pytest.approx(1.0)
    assert {share.seconds for share in shares} == {60.0}


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_an_owner_grants_at_most_its_budget(kind: str, tmp_path: Path) -> None:
    budget = UsageLimits(100, None, 1.0)
    owner = BudgetOwner(budget) if kind == "memory" else OwnerInFile(tmp_path, budget)
    first = owner.take(Portion(1, 0, 0.05))
    assert first == Portion(1, 0, 0.05)
    # What was overspent is missing afterwards.
    owner.give_back(Portion(-10, 0, -0.1))
    granted = [owner.take(Portion(1, 0, 0.05)) for _ in range(100)]
    assert sum(portion.calls or 0 for portion in granted) == 89
    assert sum(portion.cost_usd or 0 for portion in granted) <= 0.85 + 1e-9
    assert owner.take(Portion(1, 0, 0.0)) == Portion(0, 0, 0.0)


# ---- what is wrong with a file, or with what is asked ----


def test_a_bad_file_is_reported_and_the_rest_is_done(fleet: list[Path], cli: Cli) -> None:
    folder = folder_of(fleet)
    execute(fleet[0], "PRAGMA wal_checkpoint(TRUNCATE)")
    damage(fleet[0])
    foreign(folder / "notes.db")
    with maintenance_lock(fleet[1]):
        ended = cli(*FLEET, folder, "--json").ends(3)
    assert ended.json["became"] == {"done": 2, "foreign": 1, "held": 1, "unusable": 1}
    cli("fleet", "report", folder / RECEIPTS).ends(0).says(
        "1 file locked: Another maintenance run has locked FILE.",
        "agent-0.db",
        "1 file of other programs: it is not a slowwave memory file",
        "  notes.db",
    )
    # The damaged and the locked file are tried again, the other program's is not opened.
    assert maintained(cli, fleet)["became"] == {"done": 1, "unchanged": 3, "unusable": 1}


HEADERS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "overwritten": (lambda data: b"X" * 16 + data[16:], "is damaged: its header is missing"),
    "zeros": (lambda data: bytes(100) + data[100:], "is damaged: its header is missing"),
    "no page size": (lambda data: data[:16] + b"\xff" * 8 + data[24:], "is damaged: file is not"),
    "nobody's": (lambda data: data[:68] + bytes(4) + data[72:], "application ID is missing"),
    "cut off": (lambda data: data[:50], "is damaged: its header is incomplete"),
    "nothing": (lambda data: b"", "has no content"),
    "noise": (lambda data: bytes(range(1, 256)) * 20, "it is not a SQLite database"),
}


def test_damaged_headers_are_reported_and_the_rest_is_done(tmp_path: Path, cli: Cli) -> None:
    sound, *files = (agent_file(tmp_path / "agents" / f"{number}.db", 1) for number in range(8))
    for path, (make, _) in zip(files, HEADERS.values(), strict=True):
        execute(path, "PRAGMA wal_checkpoint(TRUNCATE)")
        path.write_bytes(make(path.read_bytes()))
    before = [path.read_bytes() for path in files]
    ended = cli(*FLEET, tmp_path / "agents", "--json").ends(3)
    assert ended.json["became"] == {"done": 1, "unusable": 7}
    whys = {key: trouble["why"] for trouble in ended.json["troubles"] for key in trouble["first"]}
    assert len(applied(sound)) == 1
    for path, (_, sentence) in zip(files, HEADERS.values(), strict=True):
        assert sentence in whys[path.name]
        cli("maintain", path).ends(10, sentence)
    assert [path.read_bytes() for path in files] == before


def test_a_file_that_was_overwritten_is_unusable(tmp_path: Path, cli: Cli) -> None:
    path = agent_file(tmp_path / "agents" / "one.db")
    assert maintained(cli, [path])["became"] == {"done": 1}
    path.write_bytes(b"\0" * 4096)
    for _ in range(2):
        ended = cli(*FLEET, path.parent, "--json").ends(1)
        assert ended.json["became"] == {"unusable": 1}
        assert "but is not one now" in ended.json["troubles"][0]["why"]


def test_the_same_trouble_of_many_files_is_reported_once(fleet: list[Path], cli: Cli) -> None:
    with maintenance_lock(fleet[0]), maintenance_lock(fleet[1]):
        (trouble,) = cli(*FLEET, folder_of(fleet), "--json").json["troubles"]
    why = "Another maintenance run has locked FILE."
    first = ["agent-0.db", "team/agent-1.db"]
    assert trouble == {"became": "held", "why": why, "files": 2, "first": first}


def test_a_dry_run_writes_no_file_and_no_receipt(fleet: list[Path], cli: Cli) -> None:
    with unchanged(lambda: [path.read_bytes() for path in fleet]):
        report = maintained(cli, fleet, "--dry-run")
    assert (report["became"], report["planned"]) == ({"planned": 4}, 6)
    assert not (folder_of(fleet) / RECEIPTS).exists()


def test_a_source_may_be_a_pattern(fleet: list[Path], cli: Cli) -> None:
    pattern = f"{folder_of(fleet)}/**/agent-[13].db"
    assert cli(*FLEET, pattern, "--json").json["files"] == 2


def test_a_missing_file_is_reported_each_time(fleet: list[Path], cli: Cli, tmp_path: Path) -> None:
    listed = tmp_path / "these.txt"
    listed.write_text("# ours\nagents/agent-0.db\nagents/agent-9.db\n\nagents/agent-0.db\n")
    command = (*FLEET, listed)
    for became in ("1 maintained", "1 unchanged and not opened"):
        cli(*command).ends(3).says(
            f"2 files: {became}, 1 missing.",
            "1 file missing: it is listed, but does not exist",
            "  agents/agent-9.db",
        )
        assert not (tmp_path / "agents" / "agent-9.db").exists()
    assert cli(*command, "--quiet").ends(3, "agents/agent-9.db (missing)").out == ""
    agent_file(tmp_path / "agents" / "agent-9.db", 9)
    assert cli(*command).code == 0


def test_a_file_deleted_after_it_was_listed_is_not_a_trouble(fleet: list[Path]) -> None:
    worker = Worker(job_of(folder_of(fleet), built_in))
    fleet[0].unlink()
    receipt = worker.night(Item("agent-0.db", None))
    assert (receipt.became, receipt.is_well) == ("gone", True)


@pytest.mark.parametrize("source", ["agents", "agents/*.db", "these.txt"])
def test_a_file_of_several_names_is_maintained_once(source: str, tmp_path: Path, cli: Cli) -> None:
    path = agent_file(tmp_path / "agents" / "one.db")
    (path.parent / "same.db").symlink_to("one.db")
    listed = tmp_path / "these.txt"
    listed.write_text(f"agents/one.db\n./agents/one.db\n{path}\nagents/same.db\n")
    assert cli(*FLEET, tmp_path / source, "--json").ends(0).json["became"] == {"done": 1}


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("SOURCE", "--shard", "2/2"), 2, "counts from 0"),
        (("SOURCE", "--shard", "first"), 2, "counts from 0"),
        (("SOURCE", "--checker", "none"), 2, "requires --model"),
        (("nowhere",), 10, "There is no folder, list or file nowhere"),
        (("x" * 300,), 10, "File name too long"),
        (("ftp://host/files",), 10, "There is no folder, list or file ftp://host/files"),
        (("SOURCE", "--receipts", "/proc/none"), 1, "Cannot write receipts"),
        (("SOURCE", "--receipts", "x" * 300), 1, "File name too long"),
        (("SOURCE", "--metrics", "/proc/none/fleet.prom"), 1, "Cannot write"),
        (("SOURCE", "--embedder", "no-such-model"), 1, "cannot be loaded"),
        (("EMPTY",), 10, "There is no memory file in"),
        (("EMPTY", "--quiet"), 10, "There is no memory file in"),
        (("TEXT",), 10, "There is no memory file in"),
        (("DAMAGED", "--dry-run", "--quiet"), 1, "To see them all, omit --quiet."),
    ],
)
def test_wrong_usage_ends_with_a_sentence_and_a_code(
    arguments: tuple[str, ...], code: int, sentence: str, tmp_path: Path, cli: Cli
) -> None:
    path = agent_file(tmp_path / "agents" / "one.db")
    (tmp_path / "empty").mkdir()
    before = path.read_bytes()
    text = tmp_path / "notes.txt"
    text.write_text("These are notes,\nand no list of files.\n")
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(before[:4096])
    paths = {"SOURCE": path.parent, "EMPTY": tmp_path / "empty", "TEXT": text, "DAMAGED": damaged}
    named = {name: str(path) for name, path in paths.items()}
    command = (named.get(argument, argument) for argument in arguments)
    cli(*FLEET, *command).ends(code, sentence)
    assert path.read_bytes() == before


def test_a_network_file_system_is_recognized_by_its_mount() -> None:
    mounts = (
        "/dev/vda / ext4 rw 0 0\n"
        "host:/export /mnt/with\\040blank nfs4 rw 0 0\n"
        "tmpfs /mnt/with\\040blank/inner tmpfs rw 0 0\n"
    )
    for path, system in (
        ("/home/a.db", "ext4"),
        ("/mnt/with blank/a.db", "nfs4"),
        ("/mnt/with blank/inner/a.db", "tmpfs"),
    ):
        assert file_system_of(Path(path), mounts) == system
    assert list(map(is_of_a_network, ("ext4", "nfs4", "cifs", "fuse.sshfs"))) == [
        *(False, True, True, True)
    ]
    assert not is_of_a_network("fuse.fuse-overlayfs")


# ---- the report ----


def test_a_report_names_a_missing_shard(fleet: list[Path], cli: Cli, tmp_path: Path) -> None:
    maintained(cli, fleet, "--shard", "0/2")
    receipts = folder_of(fleet) / RECEIPTS
    report = cli("fleet", "report", receipts, "--json").json
    assert [shard["state"] for shard in report["shards"]] == ["complete", "missing"]
    assert report["complete"] is False
    maintained(cli, fleet, "--shard", "1/2")
    metrics = tmp_path / "fleet.prom"
    report = cli("fleet", "report", receipts, "--json", "--metrics", metrics).json
    assert (report["files"], report["applied"], report["complete"]) == (4, 6, True)
    assert report["memories_before"] - report["memories_after"] > 4
    lines = metrics.read_text().splitlines()
    assert 'slowwave_fleet_files{became="done"} 4.0' in lines
    assert 'slowwave_fleet_proposals{state="applied"} 6.0' in lines
    assert "slowwave_fleet_complete 1.0" in lines


def test_metrics_replace_only_earlier_metrics(fleet: list[Path], cli: Cli, tmp_path: Path) -> None:
    maintained(cli, fleet)
    notes = tmp_path / "notes.txt"
    notes.write_text("Not a textfile.")
    folder = folder_of(fleet)
    for command in (("report", folder / RECEIPTS), ("maintain", folder)):
        cli("fleet", *command, "--metrics", notes).ends(1, "does not contain metrics of slowwave")
    assert notes.read_text() == "Not a textfile."


def test_a_fleet_whose_metrics_cannot_be_written_ends_with_3(tmp_path: Path, cli: Cli) -> None:
    agent_file(tmp_path / "a.db")
    # The name of the draft next to it is too long.
    metrics = tmp_path / ("m" * 245 + ".prom")
    for became in ("done", "unchanged"):
        command = ("fleet", "maintain", tmp_path, "--workers", 1, "--metrics", metrics, "--json")
        ended = cli(*command).ends(3, "File name too long")
        assert ended.json["became"] == {became: 1}


def test_a_run_that_found_no_file_is_not_complete_and_leaves_the_receipts_alone(
    tmp_path: Path, cli: Cli
) -> None:
    agent_file(tmp_path / "a.db")
    cli("fleet", "maintain", tmp_path, "--workers", 1).ends(0)
    metrics = tmp_path / "fleet.prom"
    ended = cli("fleet", "maintain", tmp_path / "*.none", "--metrics", metrics, "--json")
    ended.ends(10, "There is no memory file")
    assert (ended.json["complete"], ended.json["files"]) == (False, 0)
    assert "slowwave_fleet_complete 0.0" in metrics.read_text().splitlines()
    report = cli("fleet", "report", tmp_path / RECEIPTS, "--json").json
    assert (report["complete"], report["files"]) == (True, 1)


def test_unreadable_receipts_are_reported_and_rebuilt(fleet: list[Path], cli: Cli) -> None:
    maintained(cli, fleet)
    receipts = folder_of(fleet) / RECEIPTS
    (part,) = receipts.glob("*/part-*.jsonl.gz")
    part.write_bytes(part.read_bytes()[:100])
    assert cli("fleet", "report", receipts).ends(10, part.name).out == ""
    ended = cli(*FLEET, folder_of(fleet), "--json").ends(0)
    assert ended.json["became"] == {"done": 4}
    assert ended.json["applied"] == 6  # as the files themselves say
    assert part.name in ended.err


def test_a_report_without_receipts_ends_with_10(tmp_path: Path, cli: Cli) -> None:
    for place in (tmp_path, tmp_path / "none"):
        cli("fleet", "report", place).ends(10, "There are no receipts")


def test_receipts_before_the_last_complete_run_are_not_read(fleet: list[Path], cli: Cli) -> None:
    for shard in ("0/1", "0/2", "1/2", "0/2"):
        maintained(cli, fleet, "--shard", shard)
    nights = Archive(str(folder_of(fleet) / RECEIPTS)).nights()
    for part in (folder_of(fleet) / RECEIPTS / nights[-1].name).glob("*.jsonl.gz"):
        part.write_bytes(b"not read")
    assert "cannot be read" not in cli(*FLEET, folder_of(fleet)).err


def test_a_run_over_fewer_files_does_not_forget_the_rest(tmp_path: Path) -> None:
    for name in ("a1.db", "a2.db"):
        create_file(tmp_path / name)
    (tmp_path / "list.txt").write_text("a2.db\na1.db\n")
    archive = Archive(str(tmp_path / RECEIPTS))
    named = (".", "a1.db", ".", "a2.db", "*1.db", "list.txt", "a1.db")
    for night, source in enumerate(source_of(str(tmp_path / name)) for name in named):
        keys = [file.key for file in source.listing()]
        manifest, _ = archive.manifest(keys, source.mark)
        assert {manifest[key].last_run for key in keys if key in manifest} == (
            {"the run"} if night else set()
        )
        writer = archive.begin(datetime.now(UTC), Shard())
        for key in keys:
            writer.add(Receipt(key, "nothing", last_run="the run"))
        writer.end(datetime.now(UTC), True, source.mark)


def test_every_option_on_the_page_on_fleets_exists() -> None:
    page = (ROOT / "docs" / "fleets.md").read_text("utf-8")
    commands = every_command()
    named = re.findall(r"slowwave fleet (maintain|report) ([^\n`\"]*)", page)
    assert len(named) > 4
    for name, words in named:
        options = {option for param in commands[f"fleet {name}"].params for option in param.opts}
        assert {word for word in words.split() if word.startswith("--")} <= options


# ---- settings next to a file ----


def test_a_file_with_broken_or_disabling_settings_is_skipped(tmp_path: Path, cli: Cli) -> None:
    folders = [tmp_path / name for name in ("off", "broken", "well")]
    files = [fleet_of(folder, 1)[0] for folder in folders]
    before = [picture(file) for file in files]
    (folders[0] / "slowwave.toml").write_text("enabled = false")
    (folders[1] / "slowwave.toml").write_text("max_cots = 1")
    ended = cli(*FLEET, tmp_path, "--json").ends(3)
    assert ended.json["became"] == {"done": 1, "off": 1, "refused": 1}
    assert "max_cots. Did you mean max_cost?" in ended.json["troubles"][0]["why"]
    assert ended.json["set_aside"][0]["first"] == [str(files[0].relative_to(tmp_path))]
    is_unchanged = [picture(file) == seen for file, seen in zip(files, before, strict=True)]
    assert is_unchanged == [True, True, False]
    for folder in folders[:2]:
        (folder / "slowwave.toml").unlink()
    ended = cli(*FLEET, tmp_path, "--json").ends(0)
    assert ended.json["became"] == {"done": 2, "unchanged": 1}


LACKING = ('monthly_budget = "1 USD"', "backup = true", 'phase = "all"', "min_new = 3")


@pytest.mark.parametrize("setting", LACKING)
def test_a_setting_that_a_fleet_lacks_is_refused_before_anything_is_done(
    tmp_path: Path, cli: Cli, setting: str
) -> None:
    path, settings = agent_file(tmp_path / "a.db"), tmp_path / "slowwave.toml"
    before = picture(path)
    settings.write_text(f'{setting}\nretain = ["kind=fact,keep=30d"]\n')
    ended = cli("fleet", "maintain", tmp_path, "--workers", 1, "--quiet")
    ended.ends(2, f"A fleet does not support {setting.split()[0]} in {settings}: remove it")
    assert picture(path) == before


def test_a_variable_that_a_fleet_lacks_is_refused_and_default_values_are_not(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent_file(tmp_path / "a.db")
    (tmp_path / "slowwave.toml").write_text('phase = ["consolidate"]\nfull = false\n')
    command = ("fleet", "maintain", tmp_path, "--workers", 1, "--quiet")
    monkeypatch.setenv("SLOWWAVE_BACKUP", "0")
    monkeypatch.setenv("SLOWWAVE_MONTHLY_BUDGET", "1 USD")
    cli(*command).ends(2, "A fleet does not support SLOWWAVE_MONTHLY_BUDGET: remove it")
    monkeypatch.delenv("SLOWWAVE_MONTHLY_BUDGET")
    assert cli(*command).code == 0
    cli(*command[:-1], "--consolidate").ends(0, "Deprecated: instead of --consolidate, omit it")


def test_a_dry_run_names_files_that_are_not_yet_migrated(tmp_path: Path, cli: Cli) -> None:
    old = older_file(tmp_path)
    cli(*FLEET, tmp_path, "--dry-run").ends(0).says("not yet migrated\n  older.db")
    cli("list", old).ends(10, f"slowwave maintain {old} --backup")
    assert cli("maintain", old, "--backup", "--quiet").code == 0
    assert cli("list", old).code == 0


def test_a_single_unfinished_file_is_named_with_its_reason(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "a.db").write_bytes(b"SQLite format 3\x00" + bytes(200))
    command = ("fleet", "maintain", tmp_path, "--workers", 1, "--dry-run")
    ended = cli(*command)
    assert "1 of 1 file was not finished. First: a.db (" in ended.err
    assert "FILE" not in ended.err
    assert ended.err.partition("\n")[0].endswith(".")


def test_without_obstore_no_folder_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    archive = Archive(str(tmp_path / "receipts"))
    with pytest.raises(StoreError, match="obstore is not installed"):
        archive.begin(datetime.now(UTC), Shard(0, 1))
    assert not (tmp_path / "receipts").exists()
