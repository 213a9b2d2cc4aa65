"""The ledger: runs, decisions and the answers of models."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from builders import LATER, NOW, a_decision, a_run, decide
from nights import rows

from slowwave.store.errors import Ambiguous, NotFound, StoreError
from slowwave.store.file import open_reading, open_writing
from slowwave.store.ledger import (
    REMEMBERED,
    Decision,
    begin_run,
    end_run,
    find_applied,
    read_decisions,
    read_run,
    read_runs,
    remembered_keys,
)
from slowwave.store.lock import maintenance_lock
from slowwave.store.model_answers import Answer, cache_answers, read_answer
from slowwave.store.records import timestamp


def applied(path: Path, prefix: str) -> Decision:
    with open_reading(path) as file:
        return find_applied(file, prefix)


def remembered(path: Path) -> set[str]:
    with open_reading(path) as file:
        return remembered_keys(file)


# ---- runs ----


def test_a_killed_run_is_interrupted_once_the_next_begins(memory_file: Path) -> None:
    with maintenance_lock(memory_file), open_writing(memory_file) as file:
        begin_run(file, "done", timestamp(NOW), "1", {})
        end_run(file, "done", now=timestamp(NOW), outcome="partial", plan="", report={})
        begin_run(file, "killed", timestamp(NOW), "1", {})
        begin_run(file, "now", timestamp(NOW), "1", {})
        outcomes = {run.id: run.outcome for run in read_runs(file)}
    assert outcomes == {"done": "partial", "killed": "interrupted", "now": "running"}


def test_a_run_is_running_only_while_the_file_is_locked(memory_file: Path) -> None:
    with maintenance_lock(memory_file):
        a_run(memory_file)
        with open_reading(memory_file) as file:
            held = [read_run(file, "run-1").outcome, *(run.outcome for run in read_runs(file))]
    with open_reading(memory_file) as file:
        free = [read_run(file, "run-1").outcome, *(run.outcome for run in read_runs(file))]
        (stored,) = file.rows("SELECT outcome FROM runs")
    assert (held, free, stored) == (["running"] * 2, ["interrupted"] * 2, {"outcome": "running"})


def test_runs_are_ordered_by_insertion_not_by_clock(memory_file: Path) -> None:
    for run_id, days in (("c", 1), ("b", 0), ("a", 1)):
        a_run(memory_file, run_id, NOW + timedelta(days=days))
    with open_reading(memory_file) as file:
        assert [run.id for run in read_runs(file)] == ["c", "b", "a"]


# ---- decisions ----


def test_a_decision_is_read_as_it_was_written(memory_file: Path) -> None:
    decision = a_decision(
        sources=("m-2", "m-1"),
        survivor="m-1",
        derived="m-3",
        state="rejected",
        draft="text “quoted”",
        reason="2 memories",
        why="lost 8080",
        numbers={"min_similarity": 0.1 + 0.2, "estimated_tokens": 12},
    )
    a_run(memory_file)
    decide(memory_file, decision)
    with open_reading(memory_file) as file:
        assert read_decisions(file, "run-1") == [decision]


def test_decisions_are_read_by_operation_and_key_of_one_run(memory_file: Path) -> None:
    a_run(memory_file)
    a_run(memory_file, "run-2")
    decide(
        memory_file,
        a_decision(key="b"),
        a_decision(key="c", operation="merge"),
        a_decision(key="a", state="pending"),
        a_decision(key="a"),
        a_decision("run-2", key="z"),
    )
    with open_reading(memory_file) as file:
        assert [decision.key for decision in read_decisions(file, "run-1")] == ["c", "a", "b"]


# ---- the start of a key ----


@pytest.fixture
def decided(memory_file: Path) -> Path:
    """Provide two runs: abcd1111 was decided by both, abcd2222 and 50%_off by one."""
    a_run(memory_file, "run-1")
    a_run(memory_file, "run-2", NOW + timedelta(days=1))
    decide(
        memory_file,
        a_decision("run-1", "abcd1111", state="undone"),
        a_decision("run-2", "abcd1111", decided_at=LATER),
        a_decision("run-1", "abcd2222"),
        a_decision("run-1", "50%_off"),
        a_decision("run-1", "50xyoff"),
        a_decision("run-1", "rejected", state="rejected"),
    )
    return memory_file


@pytest.mark.parametrize(
    ("prefix", "key", "run_id"),
    [
        ("abcd1", "abcd1111", "run-2"),
        ("abcd1111", "abcd1111", "run-2"),
        ("50%_", "50%_off", "run-1"),
    ],
)
def test_a_unique_prefix_finds_a_key(decided: Path, prefix: str, key: str, run_id: str) -> None:
    proposal = applied(decided, prefix)
    assert (proposal.key, proposal.run_id) == (key, run_id)


@pytest.mark.parametrize(
    ("prefix", "error", "message"),
    [
        ("abcd", Ambiguous, "More than one proposal .*Specify more"),
        *(
            (prefix, NotFound, "There is no proposal")
            for prefix in ("abcd3", "abcd11111", "ABCD1", "%bcd1", "abcd_", "50x%", "")
        ),
        ("50%", NotFound, "first 4 characters"),
        ("reje", StoreError, "not applied: its state is rejected"),
    ],
)
def test_an_unknown_or_ambiguous_prefix_is_refused(
    decided: Path, prefix: str, error: type[StoreError], message: str
) -> None:
    with pytest.raises(error) as raised:
        applied(decided, prefix)
    assert re.search(message, f"{raised.value.message} {raised.value.hint}")


def test_the_last_application_of_a_key_is_found(memory_file: Path) -> None:
    for number in (1, 2, 3):
        a_run(memory_file, f"run-{number}")
        moment = timestamp(NOW + timedelta(days=number % 3))
        decide(memory_file, a_decision(f"run-{number}", decided_at=moment))
    assert applied(memory_file, "proposal-1").run_id == "run-2"


# ---- what is not proposed again ----


@pytest.mark.parametrize(
    ("states", "is_remembered"),
    [
        *(([state], True) for state in REMEMBERED),
        *(([state], False) for state in ("applied", "approved", "failed", "skipped", "stale")),
        (["rejected", "stale"], True),
        (["declined", "failed"], True),
        (["undone", "skipped"], True),
        (["rejected", "applied"], False),
        (["undone", "applied"], False),
        (["applied", "undone"], True),
        (["stale", "failed"], False),
    ],
)
def test_the_last_decision_wins(memory_file: Path, states: list[str], is_remembered: bool) -> None:
    for number, state in enumerate(states):
        moment = NOW + timedelta(days=number)
        a_run(memory_file, f"run-{number}", moment)
        decided = {"state": state, "decided_at": timestamp(moment)}
        decide(memory_file, a_decision(f"run-{number}", "key", **decided))
    assert remembered(memory_file) == ({"key"} if is_remembered else set())


def test_the_later_run_decides_between_equal_times(memory_file: Path) -> None:
    for run_id, key, state in (
        ("run-1", "first", "undone"),
        ("run-2", "first", "applied"),
        ("run-1", "second", "applied"),
        ("run-2", "second", "undone"),
    ):
        with open_writing(memory_file) as file:
            if not file.value("SELECT 1 FROM runs WHERE id = ?", [run_id]):
                begin_run(file, run_id, timestamp(NOW), "0", {})
        decide(memory_file, a_decision(run_id, key, state=state))
    assert remembered(memory_file) == {"second"}


# ---- answers ----

ANSWERS: dict[str, Any] = {
    "plain": Answer("yes", 12, 3, 0.000123),
    "odd": Answer('{"text": "a “b”\n\x00 🦔"}', 0, 0, 1 / 3),
    "empty": Answer("", 1, 0, 0.0),
    "unknown price": Answer("no", 12, 3, None),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_is_read_as_it_was_written(memory_file: Path, answer: Answer) -> None:
    with open_writing(memory_file) as file:
        cache_answers(file, [("key", "model", answer)], timestamp(NOW))
        assert read_answer(file, "key") == answer
        assert read_answer(file, "another") is None


def test_a_repeated_answer_replaces_the_previous_one(memory_file: Path) -> None:
    with open_writing(memory_file) as file:
        cache_answers(file, [("key", "model", Answer("first", 1, 1, 0.1))], timestamp(NOW))
        cache_answers(file, [("key", "model-2", Answer("second", 2, 2, 0.2))], LATER)
    assert rows(memory_file, "SELECT model, answer, created_at FROM answers") == [
        {"model": "model-2", "answer": "second", "created_at": LATER}
    ]
