"""The model server of the tests in a separate process: it answers each question correctly."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple, cast

from benchmarks.quality.bench import ROOT


class Usage(NamedTuple):
    """What was requested from the server."""

    requests: int
    prompt_tokens: int
    completion_tokens: int

    def __sub__(self, before: Usage) -> Usage:
        """Return the usage since an earlier one."""
        return Usage(*(now - earlier for now, earlier in zip(self, before, strict=True)))


class ScriptedModel:
    """A running server and, after its end, its statistics."""

    def __init__(self, stdin: IO[str], stdout: IO[str]) -> None:
        """Wait until the server is ready."""
        self._stdin, self._stdout = stdin, stdout
        self.base: str = self._read()
        # The start and end of each request, as of time.monotonic.
        self.moments: list[tuple[float, float]] = []
        # The share of the second question that is a prefix of the first.
        self.cacheable = 0.0

    def usage(self) -> Usage:
        """Return the usage so far."""
        self._stdin.write("\n")
        self._stdin.flush()
        return Usage(*self._read())

    def end(self) -> None:
        """Stop the server, and read its statistics."""
        self._stdin.close()
        self.moments, self.cacheable = self._read()

    def _read(self) -> Any:
        return json.loads(self._stdout.readline())


@contextmanager
def scripted_model(seconds: float, max_requests: int) -> Iterator[ScriptedModel]:
    """Run a server that answers each question after a number of seconds."""
    command = [sys.executable, str(ROOT / "tests" / "model_server.py")]
    command += [str(seconds), str(max_requests)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:  # noqa: S603 - our own
        model = ScriptedModel(cast("IO[str]", process.stdin), cast("IO[str]", process.stdout))
        yield model
        model.end()
