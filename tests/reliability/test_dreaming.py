"""Killed and concurrent agents that answer: no answer is lost or mixed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from shutil import copyfile

from agents_files import killed
from answerers import Answerer, answers_to, honestly, result_of
from builders import whole
from cli_calls import SLOWWAVE, Cli
from model_nights import facts
from nights import daily, fill, rows
from reliability.processes import start

Rounds = Callable[[int, int], int]
TWINS = ["Parking permits are handed out at the front desk."] * 2
NOTHING = json.dumps({"groups": [], "conflicts": []})


def answer_all(path: Path, cli: Cli, answers: Path) -> None:
    """Answer honestly until the night is applied."""
    while questions := asked(path, cli):
        answers.write_text(answers_to(questions, honestly), "utf-8")
        assert cli("answer", path, answers).code == 0


def asked(path: Path, cli: Cli) -> list[dict[str, object]]:
    """Return the open questions."""
    questions: list[dict[str, object]] = cli("questions", path, "--json").json["questions"]
    return questions


def test_a_killed_round_is_completed_by_the_next(
    memory_file: Path, tmp_path: Path, cli: Cli, rounds: Rounds
) -> None:
    fill(memory_file, [*facts(2), *daily(TWINS, "permit")])
    completed, answers = tmp_path / "whole.db", tmp_path / "answers.jsonl"
    copyfile(memory_file, completed)
    answer_all(completed, cli, tmp_path / "other.jsonl")
    answers.write_text(answers_to(asked(memory_file, cli), honestly), "utf-8")
    assert cli("answer", memory_file, answers).code == 0
    answers.write_text(answers_to(asked(memory_file, cli), honestly), "utf-8")
    copy = tmp_path / "copy.db"
    copyfile(memory_file, copy)
    ended = killed(0, ["answer", str(copy), str(answers)])
    assert ended.returncode == 0, ended.stderr
    steps = int(ended.stderr.splitlines()[-1])
    assert result_of(copy) == result_of(completed)
    # The first ones keep the answers, and later ones are the rehearsal and the night.
    for step in [*range(1, steps + 1, max(1, steps // rounds(6, steps)))]:
        for each in tmp_path.glob("copy.db*"):
            each.unlink()
        copyfile(memory_file, copy)
        assert killed(step, ["answer", str(copy), str(answers)]).returncode == 9
        assert whole(copy)
        stored = rows(copy, "SELECT key FROM answers")
        assert cli("answer", copy, answers).code == 0
        assert len(rows(copy, "SELECT key FROM answers")) == 4 >= len(stored)
        assert result_of(copy) == result_of(completed)


def test_a_killed_dream_loses_no_answer(memory_file: Path, tmp_path: Path, cli: Cli) -> None:
    fill(memory_file, facts(2))
    completed = tmp_path / "whole.db"
    copyfile(memory_file, completed)
    answer_all(completed, cli, tmp_path / "other.jsonl")
    for count in range(4):
        with subprocess.Popen(
            [*SLOWWAVE, "dream", memory_file],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            question = json.loads(process.stdout.readline())
            assert len(rows(memory_file, "SELECT key FROM answers")) == count
            process.stdin.write(f"{honestly(question['messages'])}\n")
            process.stdin.flush()
            # The next question, or the report of the night, comes after the answer is kept.
            assert process.stdout.readline()
            process.kill()
    assert result_of(memory_file) == result_of(completed)
    assert len(rows(memory_file, "SELECT id FROM runs")) == 1


def test_concurrent_answers_make_a_single_run(memory_file: Path, tmp_path: Path, cli: Cli) -> None:
    fill(memory_file, facts(3))
    answerers: dict[Path, Answerer] = {
        tmp_path / "honest.jsonl": honestly,
        tmp_path / "silent.jsonl": lambda _: NOTHING,
    }
    for _ in range(20):
        questions = asked(memory_file, cli)
        if not questions:
            break
        for path, answer in answerers.items():
            path.write_text(answers_to(questions, answer), "utf-8")
        started = [start("answer", memory_file, path, "--json") for path in answerers]
        for process in started:
            out, err = process.communicate(timeout=120)
            # Stale or held at worst.
            assert process.returncode in (0, 3, 11), err
            assert process.returncode == 11 or not json.loads(out)["faults"]
    assert len(rows(memory_file, "SELECT id FROM runs")) == 1
    assert whole(memory_file)
    sql = "SELECT count(*) AS n FROM memories WHERE status = 'active' GROUP BY tenant"
    assert {row["n"] for row in rows(memory_file, sql)} <= {1, 3}
    assert cli("answer", memory_file, "--json").json["night"]["run"] is None
