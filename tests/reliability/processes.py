"""The command line as a process: starting, signalling and checking it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cli_calls
import night as fixture
from builders import process
from nights import execute, fill, night, rows

from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.file import create_file


@dataclass(frozen=True)
class Ended(cli_calls.Ended):
    """How a process ended after a signal."""

    # From the signal to the end.
    seconds: float

    @property
    def report(self) -> dict[str, Any] | None:
        """The JSON of stdout; None if stdout is empty."""
        return self.json if self.out else None


def start(*arguments: object, **environment: str) -> subprocess.Popen[str]:
    """Start slowwave with these arguments."""
    return subprocess.Popen(
        [*cli_calls.SLOWWAVE, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )


def wait_for(
    what: Callable[[], object], process: subprocess.Popen[str], seconds: float = 120.0
) -> None:
    """Wait until a condition holds or the process has ended."""
    end = time.monotonic() + seconds
    while process.poll() is None and not what():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.002)


def stop(process: subprocess.Popen[str], *numbers: signal.Signals) -> Ended:
    """Send signals in quick succession, and return how the process ended."""
    began = time.monotonic()
    for number in numbers:
        process.send_signal(number)
        time.sleep(0.02)
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    return Ended(process.returncode, out, err, time.monotonic() - began)


def small_night(path: Path, count: int, embedder: SentenceEmbedder | None) -> Path:
    """Make a file of `count` memories of the fixture; with an embedder, with their vectors.

    The first ones are the many wordings of a few facts: most become part of a proposal.
    """
    create_file(path)
    lines = fixture.with_duplicates(fixture.lines_of(fixture.load().memories[:count]))
    fill(path, list(map(json.loads, lines)))
    if embedder is not None:
        night(path, embedder, only=frozenset())
        execute(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def assert_report_is_true(path: Path, report: dict[str, Any]) -> None:
    """Require that exactly the proposals which a report calls applied are applied."""
    proposals = rows(path, "SELECT key, state FROM proposals WHERE run_id = ?", report["run"])
    states = {row["key"]: row["state"] for row in proposals}
    output = {proposal["id"]: proposal["state"] for proposal in report["proposals"]}
    interrupted = {key for key, state in output.items() if state == "skipped" and key not in states}
    assert {key: state for key, state in output.items() if key not in interrupted} == states
    sql = "SELECT 1 FROM synthesized_from WHERE derived_id = ? AND run_id = ?"
    for proposal in report["proposals"]:
        edges = rows(path, sql, proposal["derived"] or proposal["survivor"], report["run"])
        if proposal["state"] == "applied":
            assert edges
        elif proposal["derived"]:
            assert not edges
    active = rows(path, "SELECT count(*) AS n FROM memories WHERE status = 'active'")[0]["n"]
    assert report["after"]["active"] == active


@contextmanager
def in_background(code: str, *arguments: object) -> Iterator[Callable[[], dict[str, Any]]]:
    """Run a process during the block, and provide what it prints at its end."""
    reported: dict[str, Any] = {}
    with process(code, *arguments) as running:
        yield lambda: reported
        out, _ = running.communicate("\n", timeout=60)
        reported |= json.loads(out)
