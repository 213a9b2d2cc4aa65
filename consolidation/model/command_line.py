"""Ask a model through a program of the user's: `cli:claude`, `cli:codex`, `cli:claude/haiku`.

The program runs with its user's login, which is never read here, once for each question:

- The question goes to its stdin, so that no list of processes shows it.
- It runs in an empty folder, so that it finds no instructions of a project.
- It loads no hooks, plugins, instructions or memories of its user: see `programs`.
"""

from __future__ import annotations

import math
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from slowwave.consolidation.errors import ModelError
from slowwave.consolidation.runtime.redaction import without_secrets
from slowwave.store.model_answers import Answer

from .answer_forms import schema_of
from .interface import Terms
from .programs import PROGRAMS, Asked, Ended, Program, ProgramAnswer
from .prompts import json_line
from .provider import MAX_ANSWER_BYTES
from .responses import token_count_of
from .unanswered import CallFailed, LimitReached, ModelRefuses
from .usage_limits import PendingCall

PREFIX = "cli:"
# A program starts, and its model thinks.
TIMEOUT_S = 300.0
# Calls at one time, unless the user says otherwise: each is a whole program.
CONCURRENCY = 2
_OVERHEAD_S = 5.0
_POLL_S = 0.1
_MAX_ERROR_BYTES = 64 * 1024
_MAX_SHOWN = 300
# The reasoning of an answer is charged, too; see `calls`.
_REASONING_FACTOR = 4
_MIN_REASONING = 4_000
# USD for a token of a question and of an answer, until answers show what they cost: more than any
# current model's.
_ASSUMED_PRICES = (15e-6, 75e-6)


@dataclass(frozen=True)
class CommandLine:
    """A model by the name of a program, and perhaps of one of its models."""

    model: str
    timeout_s: float = TIMEOUT_S
    # The names that answers gave the model.
    _names: list[str] = field(default_factory=list, init=False, compare=False, repr=False)

    @property
    def answered_as(self) -> str | None:
        """The name that its last answer gave the model; None if it gave none."""
        return self._names[-1] if self._names else None

    def open(self) -> CommandLineModel:
        """Find the program. Raises `ModelError`."""
        program, wanted = self._parts()
        path = shutil.which(program.command)
        if path is None:
            raise ModelError(
                f"There is no program '{program.command}' on the PATH, which '{self.model}' runs.",
                f"Install {program.title} and log in, or name another model.",
            )
        return CommandLineModel(
            program, str(Path(path).absolute()), wanted, self.timeout_s, self._names
        )

    def _parts(self) -> tuple[Program, str | None]:
        name, slash, wanted = self.model.removeprefix(PREFIX).partition("/")
        # A name that begins with a dash would be an option.
        if name not in PROGRAMS or (slash and not wanted) or wanted.startswith("-"):
            raise ModelError(
                f"'{self.model}' is not a program that can be asked.",
                f"There are: {', '.join(f'{PREFIX}{name}[/MODEL]' for name in PROGRAMS)}.",
            )
        return PROGRAMS[name], wanted or None


class CommandLineModel:
    """Runs a program once for each question. Thread-safe."""

    def __init__(
        self, program: Program, path: str, wanted: str | None, timeout_s: float, names: list[str]
    ) -> None:
        """Take the program and its path, the model to ask, if one is named, and the time limit.

        names: where the names are noted that answers give the model.
        """
        self._program = program
        self._path = path
        self._wanted = wanted
        self._timeout_s = timeout_s
        self._names = names
        # The cost of all answers, and what was assumed for them.
        self._costs: list[tuple[float, float]] = []

    @property
    def terms(self) -> Terms:
        """The price, from the answers so far if they name one, and the limits."""
        return Terms(self._price, _limit, self._timeout_s + _OVERHEAD_S)

    def _price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        if not self._program.tells_cost:
            return None
        cost, assumed = map(sum, zip(*self._costs, strict=True)) if self._costs else (1.0, 1.0)
        return _assumed_price(prompt_tokens, answer_tokens) * cost / assumed

    def ask(self, call: PendingCall) -> Answer:
        """Run the program. Raises `CallFailed`, and what `permit` raises.

        It is not run again for the same question: it retries by itself.
        """
        call.permit()
        folder = Path(tempfile.mkdtemp(prefix="slowwave-cli-"))
        try:
            found = self._program.read(self._run(call, folder))
        except OSError as error:
            raise ModelRefuses(
                f"{self._program.command} cannot be run: {error.strerror or error}"
            ) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        answer = self._answer(call, found)
        if found.is_over_budget:
            call.waste(answer)
            raise LimitReached("the budget has no room for another call")
        if found.text is None:
            if found.was_charged:
                call.waste(answer)
            kind = ModelRefuses if found.refuses_all else CallFailed
            raise kind(f"{self._program.command}: {_one_line(found.why)}")
        return answer

    def _run(self, call: PendingCall, folder: Path) -> Ended:
        """Run the program to its end, in an empty folder within `folder`."""
        schema = json_line(schema_of(call.question.form))
        asked = Asked(folder, call.question.messages, schema, self._wanted, call.cost_left())
        work = folder / "empty"
        work.mkdir()
        arguments, environment, question = self._program.prepare(asked)
        left = call.seconds_left()
        seconds = self._timeout_s if left is None else min(self._timeout_s, max(0.0, left))
        with tempfile.TemporaryFile() as stdin:  # without a name
            stdin.write(question.encode(errors="replace"))
            stdin.seek(0)
            child = subprocess.Popen(  # noqa: S603 - the program that the user named
                [self._path, *arguments],
                cwd=work,
                env=environment,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # A group of its own: it can be ended with all that it started.
                start_new_session=True,
            )
        stop = partial(_end, child, folder)
        call.stop = stop
        try:
            if call.abandoned is None:  # else `stop` may not have been there yet
                return _read(child, time.monotonic() + seconds)
        except _TooLong:
            call.lose()
            raise CallFailed(
                f"{self._program.command}: its answer is longer than {MAX_ANSWER_BYTES} bytes"
            ) from None
        except TimeoutError:
            call.lose()
            raise CallFailed(
                f"{self._program.command} did not answer within {seconds:g} seconds"
            ) from None
        finally:
            call.stop = None
            stop()
            for stream in (child.stdout, child.stderr):
                if stream is not None:
                    stream.close()
            child.wait()
        raise LimitReached(call.abandoned)

    def _answer(self, call: PendingCall, found: ProgramAnswer) -> Answer:
        """Return what was found as an answer, and note its price and its model."""
        expected = call.estimate
        text = "" if found.text is None else without_secrets(found.text)
        prompt = token_count_of(found.prompt_tokens, expected.prompt)
        answer = token_count_of(found.answer_tokens, expected.answer if text else 0)
        cost = found.cost_usd
        if cost is not None and not (math.isfinite(cost) and cost >= 0):
            cost = None
        if cost and found.was_charged:
            self._costs.append((cost, _assumed_price(prompt, answer)))
        if found.model:
            self._names.append(_one_line(found.model))
        # Errors from before the first request cost nothing.
        if found.text is None and not found.was_charged:
            return Answer("", 0, 0, 0.0)
        return Answer(text, prompt, answer, cost)


def _limit(answer_tokens: int) -> int:
    return max(_REASONING_FACTOR * answer_tokens, answer_tokens + _MIN_REASONING)


def _assumed_price(prompt_tokens: int, answer_tokens: int) -> float:
    return prompt_tokens * _ASSUMED_PRICES[0] + answer_tokens * _ASSUMED_PRICES[1]


def _one_line(text: str) -> str:
    return " ".join(without_secrets(text).split())[:_MAX_SHOWN] or "no reason was given"


class _TooLong(Exception):
    """An answer is longer than is read."""


def _end(child: subprocess.Popen[bytes], folder: Path) -> None:
    """Kill a program with all that it started, and delete its folder."""
    with suppress(ProcessLookupError, PermissionError):  # macOS refuses for groups that ended
        os.killpg(child.pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def _read(child: subprocess.Popen[bytes], until: float) -> Ended:
    """Read all that a program says. Raises `_TooLong`, and `TimeoutError` at the moment `until`."""
    assert child.stdout is not None and child.stderr is not None  # noqa: S101 - both are pipes
    out, err = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ, out)
        selector.register(child.stderr, selectors.EVENT_READ, err)
        while selector.get_map():
            ended = child.poll() is not None
            ready = selector.select(_POLL_S)
            for key, _ in ready:
                chunk = os.read(key.fd, 65_536)
                if not chunk:
                    selector.unregister(key.fileobj)
                key.data.extend(chunk)
            del err[:-_MAX_ERROR_BYTES]
            if len(out) > MAX_ANSWER_BYTES:
                raise _TooLong
            if ended and not ready:
                break  # what it started may hold the pipes open
            if time.monotonic() > until:
                raise TimeoutError
    while child.poll() is None:
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(_POLL_S / 10)
    return Ended(child.returncode, bytes(out), err.decode(errors="replace"))
