"""The program as a process: what it loads, how signals end it, and what a kill leaves behind."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from nights import TWINS, fill, night, of_one_thing, picture, rows, told
from reliability.processes import small_night

from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.check import check_file
from slowwave.store.file import open_reading

SLOWWAVE = [sys.executable, "-m", "slowwave.cli"]


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*SLOWWAVE, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until_applying(path: Path, process: subprocess.Popen[str]) -> None:
    """Wait until the first proposal stands in the file."""
    while process.poll() is None:
        if rows(path, "SELECT 1 FROM proposals LIMIT 1"):
            return
        time.sleep(0.002)


@pytest.fixture(scope="module")
def day(
    tmp_path_factory: pytest.TempPathFactory,
    embedder: SentenceEmbedder,
    rounds: Callable[[int, int], int],
) -> Path:
    """Provide a file of many memories that have their vectors and nothing else done."""
    path = tmp_path_factory.mktemp("kills") / "memory.db"
    return small_night(path, rounds(400, 1_000), embedder)


@pytest.mark.usefixtures("long_only")
def test_a_kill_at_any_moment_leaves_a_whole_file_and_the_next_run_finishes(
    day: Path, tmp_path: Path, embedder: SentenceEmbedder
) -> None:
    chance = random.Random(7)  # noqa: S311 - moments, not secrets
    texts = {row["id"]: row["content"] for row in rows(day, "SELECT id, content FROM memories")}
    path = tmp_path / "memory.db"
    path.write_bytes(day.read_bytes())
    survived = []
    for _ in range(4):
        process = start("maintain", path, "--consolidate", "--quiet")
        wait_until_applying(path, process)
        time.sleep(chance.random() * 0.8)
        process.kill()
        process.communicate()
        with open_reading(path) as file:
            assert check_file(file).problems == ()
        now = {row["id"]: row["content"] for row in rows(path, "SELECT id, content FROM memories")}
        assert {one: now[one] for one in texts} == texts
        survived.append(len(rows(path, "SELECT 1 FROM proposals WHERE state = 'applied'")))
    assert survived[0] > 0
    night(path, embedder)
    untouched = tmp_path / "untouched.db"
    untouched.write_bytes(day.read_bytes())
    night(untouched, embedder)
    contents = "SELECT content, status, layer FROM memories ORDER BY content, status"
    assert rows(path, contents) == rows(untouched, contents)
    assert night(path, embedder).plan.proposals == ()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_with_its_code_and_a_report(
    number: signal.Signals, code: int, day: Path, tmp_path: Path
) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(day.read_bytes())
    process = start("maintain", path, "--consolidate", "--json")
    wait_until_applying(path, process)
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert '"skipped"' in out
    assert "Traceback" not in err
    assert rows(path, "SELECT outcome FROM runs")[-1] == {"outcome": "interrupted"}
    with open_reading(path) as file:
        assert check_file(file).problems == ()


def test_a_reader_that_goes_away_ends_an_export_quietly(day: Path) -> None:
    process = start("export", day)
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        first = process.stdout.readline()
        process.stdout.close()
        assert first.startswith("{")
        assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 0


def test_a_run_without_a_model_connects_to_nothing(memory_file: Path) -> None:
    fill(memory_file, told(TWINS, "twin") + told(of_one_thing(), "oncall"))
    before = picture(memory_file, ["memories"])
    code = (
        "import socket, sys\n"
        "def refuse(*args, **kwargs):\n"
        "    raise SystemExit('a connection was tried')\n"
        "socket.socket.connect = refuse\n"
        "socket.create_connection = refuse\n"
        "socket.getaddrinfo = refuse\n"
        "from slowwave.cli.app import run\n"
        f"sys.exit(run(['maintain', {str(memory_file)!r}, '--consolidate', '--quiet']))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert picture(memory_file, ["memories"]) != before


def test_a_command_waits_for_nothing_that_a_library_would_do_at_the_end(tmp_path: Path) -> None:
    code = (
        "import atexit, sys, time\n"
        "atexit.register(time.sleep, 600)\n"
        f"sys.argv = ['slowwave', 'init', {str(tmp_path / 'memory.db')!r}]\n"
        "from slowwave.cli.__main__ import main\nmain()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0
    assert "memory.db" in ended.stdout


SETTINGS = re.compile(
    r"os\.environ\[[^]]+\] =|os\.environ\.(?:setdefault|update|pop)|os\.putenv"
    r"|\bgc\.|sys\.set\w+\(|signal\.signal"
)


@pytest.mark.parametrize("folder", ["consolidation", "store"])
def test_only_the_command_line_makes_settings_of_the_process(folder: str) -> None:
    found = {
        path.name: SETTINGS.findall(path.read_text("utf-8"))
        for path in (Path(__file__).parents[1] / folder).rglob("*.py")
    }
    assert {name: made for name, made in found.items() if made} == {}
