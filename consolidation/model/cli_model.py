"""Ask a model through a program of the user's: `cli:claude`, `cli:codex`, `cli:claude/haiku`.

The program runs with its user's login, which is never read here, once for each question:

- The question goes to its stdin, so that no list of processes shows it.
- It runs in an empty folder, so that it finds no instructions of a project.
- It loads no hooks, plugins, instructions or memories of its user: see `programs`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar

from slowwave.consolidation.errors import ModelError
from slowwave.consolidation.runtime.redaction import without_secrets
from slowwave.store.conversations.messages import replace_half_pairs
from slowwave.store.model_answers import Answer

from .cli_programs import CONCURRENCY, PROGRAMS, Program, ProgramAnswer
from .interface import limit_with_reasoning
from .litellm_client import MAX_ANSWER_BYTES, cost_of, one_line, token_count_of
from .unanswered import CallFailed, LimitReached, ModelRefuses
from .usage_limits import Call

PREFIX = "cli:"
# A program starts, and its model thinks.
_TIMEOUT_S = 300.0
_OVERHEAD_S = 5.0
_POLL_S = 0.05
_MAX_ERROR_BYTES = 64 * 1024
# USD for a token of a question and of an answer, until answers show what they cost: more than any
# current model's.
_ASSUMED_PRICES = (15e-6, 75e-6)


@dataclass
class ProgramModel:
    """A model by the name of a program, and perhaps of one of its models.

    It runs the program once for each question. Thread-safe.
    """

    model: str
    timeout_s: float = _TIMEOUT_S
    # Concurrent programs.
    concurrency: ClassVar = CONCURRENCY
    # The name that its last answer gave the model.
    answered_as: str | None = field(default=None, init=False, compare=False)
    # The cost of all answers, and what was assumed for them.
    _costs: list[tuple[float, float]] = field(
        default_factory=list, init=False, compare=False, repr=False
    )

    @cached_property
    def _parts(self) -> tuple[Program, Path, str | None]:
        """The program, its path, and the model to ask, if one is named. Raises `ModelError`."""
        name, slash, model_name = self.model.removeprefix(PREFIX).partition("/")
        # A name that starts with a dash would be an option.
        if name not in PROGRAMS or (slash and not model_name) or model_name.startswith("-"):
            raise ModelError(
                f"'{self.model}' is not a supported program.",
                f"Available: {', '.join(f'{PREFIX}{name}[/MODEL]' for name in PROGRAMS)}.",
            )
        program, path = PROGRAMS[name], shutil.which(name)
        if path is None:
            raise ModelError(
                f"There is no program '{name}' on the PATH, which '{self.model}' runs.",
                f"Install {program.title} and log in, or choose another model.",
            )
        return program, Path(path).absolute(), model_name or None

    def open(self) -> ProgramModel:
        """Find the program, and return itself. Raises `ModelError`."""
        _ = self._parts
        return self

    @property
    def patience_s(self) -> float:
        """The longest that a call may take, in seconds."""
        return self.timeout_s + _OVERHEAD_S

    def limit(self, answer_tokens: int) -> int:
        """Return the token limit, reasoning included, for an answer of a length."""
        return limit_with_reasoning(answer_tokens)

    def price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Return what a call costs in USD, by the answers so far, if they name a cost."""
        if not self._parts[0].tells_cost:
            return None
        cost, assumed = map(sum, zip(*self._costs, strict=True)) if self._costs else (1.0, 1.0)
        return _assumed_price(prompt_tokens, answer_tokens) * cost / assumed

    def answer(self, call: Call) -> Answer:
        """Run the program. Raises `CallFailed`, and what `permit` raises.

        It is not run again for the same question: it retries by itself.
        """
        call.permit()
        program = self._parts[0]
        try:
            with tempfile.TemporaryDirectory(
                prefix="slowwave-cli-", ignore_cleanup_errors=True
            ) as folder:
                output = program.read(self._run(call, Path(folder)))
        except OSError as error:
            raise ModelRefuses(
                f"{program.command} cannot be run: {error.strerror or error}"
            ) from error
        answer = self._answer(call, output)
        if output.text is not None:
            return answer
        call.spend(answer)
        if output.failure is LimitReached:
            raise LimitReached("the budget has no room for another call")
        raise output.failure(f"{program.command}: {_shown(output.why)}")

    def _run(self, call: Call, folder: Path) -> subprocess.CompletedProcess[bytes]:
        """Run the program to its end, in an empty folder within `folder`."""
        program, path, model_name = self._parts
        work = folder / "empty"
        work.mkdir()
        arguments, environment, question = program.prepare(call, folder, model_name)
        seconds = min(self.timeout_s, max(0.0, call.meter.seconds_left()))
        # Files without names; what the program started may hold pipes open.
        file = tempfile.TemporaryFile
        with file() as stdin, file() as stdout, file() as stderr:
            stdin.write(question.encode(errors="replace"))
            stdin.seek(0)
            child = subprocess.Popen(  # noqa: S603 - the program that the user named
                [path, *arguments],
                cwd=work,
                env=environment,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                # A group of its own: it can be ended with all that it started.
                start_new_session=True,
            )
            call.stop = stop = partial(_end, child, folder)
            try:
                if call.abandoned is not None:  # perhaps before `stop` was there
                    raise LimitReached(call.abandoned)
                code = _wait(child, stdout.fileno(), program.command, seconds)
            except CallFailed:
                call.lose()
                raise
            finally:
                call.stop = None
                stop()
                child.wait()
            stdout.seek(0)
            stderr.seek(-min(stderr.seek(0, os.SEEK_END), _MAX_ERROR_BYTES), os.SEEK_END)
            return subprocess.CompletedProcess(child.args, code, stdout.read(), stderr.read())

    def _answer(self, call: Call, output: ProgramAnswer) -> Answer:
        """Return what was found as an answer, and note its price and its model."""
        expected = call.estimate
        text = without_secrets(replace_half_pairs(output.text or ""))
        prompt = token_count_of(output.prompt_tokens, expected.prompt)
        answer = token_count_of(output.answer_tokens, expected.answer if text else 0)
        cost = cost_of(output.cost_usd)
        was_charged = output.prompt_tokens + output.answer_tokens > 0
        if cost and was_charged:
            self._costs.append((cost, _assumed_price(prompt, answer)))
        if output.model:
            self.answered_as = _shown(output.model)
        # Errors from before the first request cost nothing.
        if output.text is None and not was_charged:
            return Answer("", 0, 0, 0.0)
        return Answer(text, prompt, answer, cost)


def _assumed_price(prompt_tokens: int, answer_tokens: int) -> float:
    return prompt_tokens * _ASSUMED_PRICES[0] + answer_tokens * _ASSUMED_PRICES[1]


def _shown(text: str) -> str:
    return one_line(without_secrets(text)) or "no reason was given"


def _end(child: subprocess.Popen[bytes], folder: Path) -> None:
    """Kill a program with all that it started, and delete its folder."""
    with suppress(ProcessLookupError, PermissionError):  # macOS refuses for groups that ended
        os.killpg(child.pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def _wait(child: subprocess.Popen[bytes], stdout: int, command: str, seconds: float) -> int:
    """Return the exit code of a program. Raises `CallFailed` if it is too slow, or writes too much.

    stdout: the descriptor of its output.
    """
    deadline = time.monotonic() + seconds
    while True:
        code = child.poll()
        if os.fstat(stdout).st_size > MAX_ANSWER_BYTES:
            raise CallFailed(f"{command}: its answer is longer than {MAX_ANSWER_BYTES:,} bytes")
        if code is not None:
            return code
        if time.monotonic() > deadline:
            raise CallFailed(f"{command} did not answer within {round(seconds, 1):g} seconds")
        time.sleep(_POLL_S)
