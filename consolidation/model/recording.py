"""Record a model's answers in a file, one JSON line per prompt, and replay them.

A line is `{"key", "model", "messages", "answer", "prompt_tokens", "completion_tokens",
"cost_usd"}`. A line with only the first three is a prompt that a replay could not answer.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from slowwave.consolidation.errors import RecordingError
from slowwave.store.model_answers import Answer
from slowwave.store.opening import open_text, refuse_database
from slowwave.store.records import json_text

from .interface import Call, CallFailed, Model
from .prompts import Messages

# Prompts contain memories, so only the owner may read them.
_MODE = 0o600
# The beginning of each line that is written here.
_HEAD = b'{"key":"'


class _RecordedLine(BaseModel):
    """One line; handwritten answers may lack the counts."""

    key: str | None = None
    model: str
    messages: list[dict[str, str]]
    answer: str
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    cost_usd: float | None = None

    def recorded(self) -> Answer:
        return Answer(self.answer, self.prompt_tokens, self.completion_tokens, self.cost_usd)


@dataclass(frozen=True)
class Recording:
    """The contents of a recording: answers by the keys of their prompts, and the models."""

    path: Path
    answers: Mapping[str, Answer]
    models: frozenset[str]

    @property
    def model(self) -> str:
        """The name of its only model. Raises `RecordingError` if there is not exactly one."""
        if len(self.models) == 1:
            return next(iter(self.models))
        models = f"of several models: {', '.join(sorted(self.models))}"
        raise RecordingError(
            f"{self.path} contains {f'answers {models}' if self.models else 'no answers'}.",
            "Choose the model with --model.",
        )


def question_key(model: str, messages: Messages) -> str:
    """Return the key of a prompt: the SHA-256 of model and messages as compact JSON."""
    return hashlib.sha256(json_text([model, messages]).encode()).hexdigest()


def read_recording(path: Path) -> Recording:
    """Read a recording; the last answer to a prompt counts. Raises `RecordingError`.

    A truncated line is skipped: its writer was killed, or the disk was full.
    """
    answers: dict[str, Answer] = {}
    models: set[str] = set()
    try:
        with open_text(path) as lines:
            for number, line in enumerate(lines, start=1):
                read = _read(line, number, path)
                if read is not None:
                    answers[question_key(read.model, read.messages)] = read.recorded()
                    models.add(read.model)
    except OSError as error:
        raise RecordingError(f"Cannot read {path}: {error.strerror}.") from error
    return Recording(path, answers, frozenset(models))


def _read(line: bytes, number: int, path: Path) -> _RecordedLine | None:
    if not line.strip():
        return None
    try:
        read = _RecordedLine.model_validate_json(line)
    except ValidationError as error:
        if _breaks_off(line):
            return None
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        why = f"{where}: {first['msg']}" if where else first["msg"]
        raise RecordingError(f"Line {number} of {path} is not a recorded answer: {why}.") from error
    if read.key not in (None, question_key(read.model, read.messages)):
        raise RecordingError(
            f"Line {number} of {path} is not a recorded answer: its key is that of another prompt."
        )
    return read


def _breaks_off(line: bytes) -> bool:
    begun = line.rstrip(b"\n")
    if begun[: len(_HEAD)] != _HEAD[: len(begun)]:
        return False
    try:
        json.loads(begun)
    except ValueError:
        return True
    return False


class Recorder:
    """Appends answers to a file, each as a whole line. Safe across threads and processes."""

    def __init__(self, path: Path) -> None:
        """Open or create the file. Raises `RecordingError` if it is not a recording."""
        self._path = path
        self._lock = Lock()
        # Why writing stopped.
        self.problem: str | None = None
        try:
            with _appending(path) as opened:
                if not stat.S_ISREG(os.fstat(opened).st_mode):
                    raise RecordingError(f"Cannot write {path}: it is not a regular file.")
                self._written = dict(read_recording(path).answers)
        except OSError as error:
            raise RecordingError(f"Cannot write {path}: {error.strerror}.") from error

    def write(self, model: str, messages: Messages, answer: Answer) -> None:
        """Append a prompt with its answer, unless it is recorded already.

        An error is not raised, since the answer matters more: `problem` holds it.
        """
        key = question_key(model, messages)
        with self._lock:
            known = self._written.get(key)
            if self.problem is not None or (known and known.answer == answer.answer):
                return
            self._written[key] = answer
            line = _line({"key": key, "model": model, "messages": messages, **vars(answer)})
            try:
                with _appending(self._path) as opened:
                    _end_last_line(opened)
                    _write_whole(opened, line)
            except OSError as error:
                self.problem = f"Not all answers were recorded in {self._path}: {error.strerror}."


@contextmanager
def _appending(path: Path) -> Iterator[int]:
    """Open a file for appending, with an exclusive lock during the block."""
    refuse_database(path)
    opened = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, _MODE)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield opened
    finally:
        os.close(opened)


def _end_last_line(opened: int) -> None:
    """End a truncated last line; nothing is ever removed."""
    size = os.fstat(opened).st_size
    if size and os.pread(opened, 1, size - 1) != b"\n":
        _write_whole(opened, b"\n")


def _write_whole(opened: int, line: bytes) -> None:
    left = memoryview(line)
    while left:
        left = left[os.write(opened, left) :]


def _line(value: Mapping[str, Any]) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="backslashreplace") + b"\n"


class _Missing:
    """Writes prompts without a recorded answer to a file next to it. Thread-safe."""

    def __init__(self, path: Path) -> None:
        """Remove the file of an earlier run. Raises `RecordingError`."""
        self.path = path
        self._lock = Lock()
        self._keys: set[str] = set()
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise RecordingError(f"Cannot write {path}: {error.strerror}.") from error

    def add(self, model: str, messages: Messages) -> None:
        """Append a prompt, once. Raises `OSError`."""
        key = question_key(model, messages)
        with self._lock:
            if key in self._keys:
                return
            with _appending(self.path) as opened:
                _write_whole(opened, _line({"key": key, "model": model, "messages": messages}))
            self._keys.add(key)


class ReplayedModel:
    """Answers from a recording at no cost, else asks the fallback model, if there is one."""

    def __init__(
        self, name: str, answers: Mapping[str, Answer], missing: _Missing, fallback: Model | None
    ) -> None:
        """Take the answers by their keys, and the model for all others, if any."""
        self._name = name
        self._answers = answers
        self._missing = missing
        self._fallback = fallback

    @property
    def patience_s(self) -> float:
        """The longest that a call may take."""
        return float("inf") if self._fallback is None else self._fallback.patience_s

    def price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Return the fallback model's price; a recording costs nothing."""
        return 0.0 if self._fallback is None else self._fallback.price(prompt_tokens, answer_tokens)

    def limit(self, answer_tokens: int) -> int:
        """Return the token limit for an answer of this length."""
        return answer_tokens if self._fallback is None else self._fallback.limit(answer_tokens)

    def ask(self, call: Call) -> Answer:
        """Return the recorded answer. Raises `CallFailed` if there is none."""
        known = self._answers.get(question_key(self._name, call.messages))
        if known is not None:
            self.note_kept(call.messages, known)
            return Answer(known.answer, 0, 0, 0.0)
        if self._fallback is not None:
            return self._fallback.ask(call)
        try:
            self._missing.add(self._name, call.messages)
        except OSError as error:
            raise CallFailed(
                "the recording does not know the question, and it could not be added to "
                f"{self._missing.path}: {error.strerror}"
            ) from error
        raise CallFailed(
            f"the recording does not know the question, which was added to {self._missing.path}"
        )

    def note_kept(self, messages: Messages, answer: Answer) -> None:
        """Pass an answer on to the fallback model."""
        if self._fallback is not None:
            self._fallback.note_kept(messages, answer)


class RecordedModel:
    """Records all answers of another model."""

    def __init__(self, name: str, model: Model, recorder: Recorder) -> None:
        """Take the model and the recorder."""
        self._name = name
        self._model = model
        self._recorder = recorder
        self.price = model.price
        self.limit = model.limit

    @property
    def patience_s(self) -> float:
        """The longest that a call may take."""
        return self._model.patience_s

    def ask(self, call: Call) -> Answer:
        """Ask, and record the answer."""
        answer = self._model.ask(call)
        self._recorder.write(self._name, call.messages, answer)
        return answer

    def note_kept(self, messages: Messages, answer: Answer) -> None:
        """Record a kept answer."""
        self._recorder.write(self._name, messages, answer)


@dataclass(frozen=True)
class Recordings:
    """What a run records to and replays from: either, or both."""

    recorder: Recorder | None = None
    recording: Recording | None = None
    missing: _Missing | None = None

    @property
    def asks(self) -> bool:
        """Whether a model is asked at all."""
        return self.recording is None or self.recorder is not None

    @property
    def problem(self) -> str | None:
        """Why not all answers were recorded; None if they were."""
        return None if self.recorder is None else self.recorder.problem

    def model(self, name: str, opened: Callable[[], Model]) -> Model:
        """Return the model that replays and records. opened: loads the served model."""
        served: Model | None = opened() if self.asks else None
        if served is not None and self.recorder is not None:
            served = RecordedModel(name, served, self.recorder)
        if self.recording is not None and self.missing is not None:
            return ReplayedModel(name, self.recording.answers, self.missing, served)
        assert served is not None  # noqa: S101 - without a recording a model is asked
        return served


def open_recordings(record: Path | None, replay: Path | None) -> Recordings:
    """Open the files to record to and replay from. Raises `RecordingError`."""
    recording = None if replay is None else read_recording(replay)
    missing = None if replay is None else _Missing(replay.with_name(f"{replay.name}.missing"))
    return Recordings(None if record is None else Recorder(record), recording, missing)
