"""The model server of the tests, in a process of its own: it answers each question truly."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple, cast

from benchmarks.quality.bench import ROOT


class Taken(NamedTuple):
    """What was asked of the server so far."""

    requests: int
    prompt_tokens: int
    completion_tokens: int


class ScriptedModel:
    """A server that runs, and once it has ended, what it saw."""

    def __init__(self, stdin: IO[str], stdout: IO[str]) -> None:
        """Wait until it runs."""
        self._stdin, self._stdout = stdin, stdout
        self.base: str = self._told()
        # When each question came and was answered, on the clock of time.monotonic.
        self.moments: list[tuple[float, float]] = []
        # The share of the second question to write that is the beginning of the first.
        self.cacheable = 0.0

    def taken(self) -> Taken:
        """Return what was asked so far."""
        self._stdin.write("\n")
        self._stdin.flush()
        return Taken(*self._told())

    def end(self) -> None:
        """Have it end, and keep what it saw."""
        self._stdin.close()
        self.moments, self.cacheable = self._told()

    def _told(self) -> Any:
        return json.loads(self._stdout.readline())


@contextmanager
def scripted_model(seconds: float, most_requests: int) -> Iterator[ScriptedModel]:
    """Run a server that answers each question after so many seconds."""
    command = [sys.executable, str(ROOT / "tests" / "model_server.py")]
    command += [str(seconds), str(most_requests)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:  # noqa: S603 - our own
        model = ScriptedModel(cast("IO[str]", process.stdin), cast("IO[str]", process.stdout))
        yield model
        model.end()
