"""Ctrl-C and SIGTERM at any moment: exit code, file and report."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from builders import whole
from cli_calls import Cli
from commands import configure
from model_server import SILENT, ModelServer, in_turn, model_server, oracle, refuses
from nights import execute, fill, night, rows
from reliability.processes import Ended, assert_report_is_true, small_night, start, stop, wait_for

from slowwave.consolidation.vectors.embedder import SentenceEmbedder

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
SIGNALS = tuple(CODES)
# On a machine that others use as well; what is promised is measured when nobody does.
GENEROUS_S = 10.0
PROMISED_S = 2.0

APPLIED = "SELECT key FROM proposals WHERE state = 'applied'"

Rounds = Callable[[int, int], int]


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory, embedder: SentenceEmbedder) -> Path:
    """Provide a file that has all its vectors."""
    return small_night(tmp_path_factory.mktemp("ready") / "memory.db", 150, embedder)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a file without vectors, of more than one portion."""
    return small_night(tmp_path_factory.mktemp("fresh") / "memory.db", 600, None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Provide the path of a copy."""
    return tmp_path / "memory.db"


def ended_well(ended: Ended, number: signal.Signals, path: Path, limit: float) -> None:
    """Require the exit code, report and file of an interrupted run."""
    # Before Python has loaded the command, and right after its report, the signal itself ends the
    # process.
    if ended.code == -number:
        assert ended.err == ""
        if ended.report is not None:
            assert_report_is_true(path, ended.report)
        return
    assert ended.code == CODES[number], ended.err
    assert "Traceback" not in ended.err
    assert ended.seconds < limit
    assert whole(path)
    runs = rows(path, "SELECT id, outcome FROM runs")
    assert [run_id for run_id in runs if run_id["outcome"] == "running"] == []
    report = ended.report
    if report is None:
        assert "Interrupted" in ended.err
        assert rows(path, "SELECT 1 FROM proposals") == []
    elif report["run"] is not None:
        assert_report_is_true(path, report)


def finishes_the_rest(path: Path, ready: Path, embedder: SentenceEmbedder) -> None:
    """Require that the next run completes what one uninterrupted night does."""
    night(path, embedder)
    untouched = Path(shutil.copyfile(ready, path.with_name("untouched.db")))
    night(untouched, embedder)
    contents = "SELECT content, status, layer FROM memories ORDER BY content, status"
    assert rows(path, contents) == rows(untouched, contents)
    assert night(path, embedder).plan.proposals == ()


def applying(path: Path) -> bool:
    """Whether the first proposal is in the file."""
    return bool(rows(path, "SELECT 1 FROM proposals LIMIT 1"))


def begun(path: Path) -> bool:
    """Whether the first vectors are in the file."""
    return bool(rows(path, "SELECT 1 FROM embeddings LIMIT 1"))


def embedded(path: Path) -> bool:
    """Whether all vectors are in the file, and planning has begun."""
    counted = "SELECT count(*) FROM {}"
    return rows(path, counted.format("embeddings")) == rows(path, counted.format("memories"))


@pytest.fixture
def limit(request: pytest.FixtureRequest) -> float:
    """Provide the time limit of an end."""
    return PROMISED_S if request.config.getoption("--long") else GENEROUS_S


@contextmanager
def an_endless_writer(path: Path) -> Iterator[None]:
    """Keep the write lock, like an agent that hangs within a transaction."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield


def with_a_model(path: Path, server: ModelServer) -> subprocess.Popen[str]:
    """Start a night that asks the server."""
    configure(path, api_base=server.base)
    return start("maintain", path, "--model", "openai/test", "--json")


def test_a_signal_at_any_moment_leaves_a_true_report(
    ready: Path, path: Path, embedder: SentenceEmbedder, rounds: Rounds
) -> None:
    chance = random.Random(11)  # noqa: S311 - moments, not secrets
    whole = 4.0
    for turn in range(rounds(1, 6)):
        shutil.copyfile(ready, path)
        number = SIGNALS[turn % 2]
        process = start("maintain", path, "--consolidate", "--json")
        time.sleep(chance.random() * whole)
        ended = stop(process, *[number] * (1 + turn % 3))
        if ended.code == 0:
            whole *= 0.9
        else:
            ended_well(ended, number, path, GENEROUS_S)
            whole *= 1.1
    finishes_the_rest(path, ready, embedder)


def test_a_signal_between_proposals_leaves_a_true_report(
    ready: Path, path: Path, rounds: Rounds, limit: float
) -> None:
    chance = random.Random(12)  # noqa: S311 - moments, not secrets
    for turn in range(rounds(2, 20)):
        shutil.copyfile(ready, path)
        number = SIGNALS[turn % 2]
        # Merges need no model at all: they follow each other within milliseconds.
        process = start("maintain", path, "--consolidate", "--only", "merge", "--json")
        wait_for(lambda: applying(path), process)
        time.sleep(chance.random() * 0.04)
        ended = stop(process, *[number] * (1 + turn % 3))
        if ended.code != 0:
            ended_well(ended, number, path, limit)


def test_a_signal_during_a_model_call_keeps_what_is_applied(
    ready: Path, path: Path, limit: float
) -> None:
    shutil.copyfile(ready, path)
    # Equal texts are merged without a model, and before it is asked.
    fill(path, ["The kettle in the kitchen is descaled on the first of each month."] * 2)
    with model_server(in_turn(SILENT, then=oracle)) as server:
        process = with_a_model(path, server)
        wait_for(lambda: applying(path) and bool(server.asked), process)
        # The second one while the run ends changes nothing: not even the code.
        ended = stop(process, signal.SIGTERM, signal.SIGINT)
    ended_well(ended, signal.SIGTERM, path, limit)
    assert ended.report is not None
    assert "applied" in {proposal["state"] for proposal in ended.report["proposals"]}
    assert {result["state"] for result in ended.report["questions"]} == {"skipped"}
    model = ended.report["model"]
    assert model["calls"] >= 1
    assert (model["cost_usd"], model["why"]) == (None, "the run was interrupted")


def test_a_signal_during_an_approval_leaves_a_report_of_what_was_applied(
    memory_file: Path, cli: Cli
) -> None:
    texts = (f"Room {number} has {number} chairs" for number in range(100, 160))
    fill(memory_file, [twin for text in texts for twin in (text, f"{text}.")])
    cli("maintain", memory_file, "--review", "always").ends(0)
    count = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 300000)"
    execute(
        memory_file,
        "CREATE TRIGGER slow AFTER INSERT ON derivations "
        f"BEGIN DELETE FROM memos WHERE kind = '' AND ({count} SELECT max(n) FROM c) = 0; END",
    )
    process = start("review", "approve", memory_file, "--all", "--json")
    wait_for(lambda: rows(memory_file, "SELECT 1 FROM derivations LIMIT 1"), process)
    ended = stop(process, signal.SIGINT).ends(130)
    assert ended.json["run"] == rows(memory_file, "SELECT max(id) AS id FROM runs")[0]["id"]
    applied = {row["key"] for row in rows(memory_file, APPLIED)}
    reported = {item["id"]: item["state"] for item in ended.json["proposals"]}
    assert {key for key, state in reported.items() if state == "applied"} == applied
    assert set(reported.values()) == {"applied", "skipped"}
    rest = len(reported) - len(applied)
    cli("review", "approve", memory_file, "--all").ends(0).says(f"{rest} applied")


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_run_that_waits_for_a_lock(
    number: signal.Signals, ready: Path, path: Path, limit: float
) -> None:
    shutil.copyfile(ready, path)
    with an_endless_writer(path):
        process = start("maintain", path, "--consolidate", "--json")
        wait_for(path.with_name("memory.db.maintenance.lock").exists, process)
        # By then it has a plan, and waits; on a slow machine it plans still.
        time.sleep(5.0)
        ended = stop(process, number)
        ended_well(ended, number, path, limit)


@pytest.mark.usefixtures("long_only")
def test_the_next_run_records_the_end_of_an_interrupted_run(
    ready: Path, path: Path, limit: float
) -> None:
    shutil.copyfile(ready, path)
    with model_server(in_turn(SILENT, then=oracle)) as server:
        process = with_a_model(path, server)
        wait_for(lambda: applying(path), process)
        time.sleep(1.0)
        with an_endless_writer(path):
            ended = stop(process, signal.SIGTERM)
            assert ended.code == 143
            assert "could not be written" in ended.err
            assert ended.seconds < limit
            assert ended.report is not None
            assert_report_is_true(path, ended.report)
            assert rows(path, "SELECT outcome FROM runs")[-1] == {"outcome": "running"}
    following = start("maintain", path, "--consolidate", "--quiet")
    following.communicate()
    assert following.returncode == 0
    outcomes = [row["outcome"] for row in rows(path, "SELECT outcome FROM runs ORDER BY id")]
    assert outcomes[-2:] == ["interrupted", "done"]
    assert whole(path)


@pytest.mark.usefixtures("long_only")
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_wait_between_retries(
    number: signal.Signals, ready: Path, path: Path, limit: float
) -> None:
    shutil.copyfile(ready, path)
    with model_server(lambda asked: refuses(429, retry_after="30")) as server:
        process = with_a_model(path, server)
        wait_for(lambda: server.asked, process)
        time.sleep(0.5)
        ended = stop(process, number)
    ended_well(ended, number, path, limit)


@pytest.mark.usefixtures("long_only")
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("stage", [begun, embedded])
def test_a_signal_before_the_plan_keeps_vectors(
    stage: Callable[[Path], bool], number: signal.Signals, fresh: Path, path: Path, rounds: Rounds
) -> None:
    chance = random.Random(13)  # noqa: S311 - moments, not secrets
    for _ in range(rounds(1, 2)):
        shutil.copyfile(fresh, path)
        process = start("maintain", path, "--consolidate", "--json")
        wait_for(lambda: stage(path), process)
        time.sleep(chance.random())
        ended = stop(process, number)
        ended_well(ended, number, path, GENEROUS_S)
        assert rows(path, "SELECT outcome FROM runs") == [{"outcome": "interrupted"}]
        assert begun(path)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_after_memories_expired_ends_the_night(
    number: signal.Signals, fresh: Path, path: Path, limit: float
) -> None:
    shutil.copyfile(fresh, path)
    fill(path, [{"content": "The gate code is 4411.", "expires_at": "2026-01-02T00:00:00+00:00"}])
    process = start("maintain", path, "--phase", "expire,consolidate", "--json")
    wait_for(lambda: begun(path), process)
    ended_well(stop(process, number), number, path, limit)
    outcomes = rows(path, "SELECT outcome FROM runs ORDER BY id")
    assert [run["outcome"] for run in outcomes] == ["done", "interrupted"]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_during_an_import_imports_nothing(
    number: signal.Signals, ready: Path, path: Path
) -> None:
    shutil.copyfile(ready, path)
    before = rows(path, "SELECT * FROM memories ORDER BY id")
    os.mkfifo(path.with_name("lines"))
    process = start("import", path, path.with_name("lines"), "--json")
    # Opening it waits for the reader: from here on the command listens to its source.
    with path.with_name("lines").open("wb") as source:
        source.write(b'{"content": "one"}\n' * 1_000)
        source.flush()
        ended = stop(process, number, number)
    assert (ended.code, ended.out) == (CODES[number], "")
    assert "Interrupted" in ended.err
    assert rows(path, "SELECT * FROM memories ORDER BY id") == before
    assert whole(path)
