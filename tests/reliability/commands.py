"""Runs commands in a process of its own, many of them, so that a crash or a hang is only theirs.

    python commands.py < jobs > answers

A job is a line of JSON, a list of argument lists; its answer is a line with how each ended.
"""

from __future__ import annotations

import io
import json
import queue
import subprocess
import sys
import threading
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

# What no command on a small file needs.
_HANG = 120.0


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    arguments: tuple[str, ...]
    code: int
    out: str
    err: str


class Died(Exception):
    """The process that ran the commands crashed, or did not answer."""


@dataclass
class Commands:
    """A process that runs commands of slowwave, begun anew if one of them took it down."""

    _process: subprocess.Popen[str] | None = field(default=None)

    def run(self, commands: list[list[str]]) -> list[Ended]:
        """Run commands one after the other. Raises `Died`."""
        process = self._running()
        assert process.stdin is not None
        process.stdin.write(json.dumps(commands) + "\n")
        process.stdin.flush()
        answer = self._answer(process)
        if not answer:
            self.close()
            raise Died(f"{commands}: {process.returncode}")
        pairs = zip(commands, json.loads(answer), strict=True)
        return [Ended(tuple(arguments), *how) for arguments, how in pairs]

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        return self._process

    def _answer(self, process: subprocess.Popen[str]) -> str:
        lines: queue.Queue[str] = queue.Queue()
        assert process.stdout is not None
        threading.Thread(target=lambda: lines.put(process.stdout.readline()), daemon=True).start()
        try:
            return lines.get(timeout=_HANG)
        except queue.Empty:
            return ""


def _serve() -> None:
    from slowwave.cli.app import run
    from slowwave.consolidation.vectors import embedder as embed

    # The real model, loaded once for all the commands of this process instead of once for each.
    embed._load = cache(embed._load)
    answers, sys.stdout = sys.stdout, sys.stderr
    for job in sys.stdin:
        ended: list[tuple[Any, ...]] = []
        for arguments in json.loads(job):
            out, err = io.StringIO(), io.StringIO()
            with redirect_stdout(out), redirect_stderr(err):
                code = run(arguments)
            ended.append((code, out.getvalue(), err.getvalue()))
        answers.write(json.dumps(ended) + "\n")
        answers.flush()


if __name__ == "__main__":
    _serve()
