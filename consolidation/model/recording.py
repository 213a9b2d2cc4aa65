"""Answers on record: a line of JSON for each prompt, answered from there without a model.

A line is `{"key", "model", "messages", "answer", "prompt_tokens", "completion_tokens",
"cost_usd"}`; without an answer and what it took it is a prompt that a recording did not know.
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

# Prompts hold memories: nobody else is to read them.
_MODE = 0o600
# How each line begins that is written here.
_HEAD = b'{"key":"'


class _RecordedLine(BaseModel):
    """One line; in answers written by hand the counts may be missing."""

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
    """What a file holds: answers by the keys of their prompts, and who gave them."""

    path: Path
    answers: Mapping[str, Answer]
    models: frozenset[str]

    @property
    def model(self) -> str:
        """The name of the one model in it. Raises `RecordingError` if there is not one."""
        if len(self.models) == 1:
            return next(iter(self.models))
        named = f"of several models: {', '.join(sorted(self.models))}" if self.models else "none"
        raise RecordingError(
            f"The answers in {self.path} are {named}.", "Name the model with --model."
        )


def question_key(model: str, messages: Messages) -> str:
    """Return the key of a prompt: the SHA-256 of who is asked and what, as compact JSON."""
    return hashlib.sha256(json_text([model, messages]).encode()).hexdigest()


def read_recording(path: Path) -> Recording:
    """Read a recording; of two answers to one prompt the later. Raises `RecordingError`.

    A line of ours that breaks off is skipped: its writer was killed, or had no room.
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
        raise RecordingError(f"Line {number} of {path} is no recorded answer: {why}.") from error
    if read.key not in (None, question_key(read.model, read.messages)):
        raise RecordingError(
            f"Line {number} of {path} is no recorded answer: its key is that of another prompt."
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
    """Appends answers to a file, each as a whole line. Safe in threads, and next to other runs."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it. Raises `RecordingError` if it is no recording."""
        self._path = path
        self._lock = Lock()
        # Why nothing is written any more.
        self.problem: str | None = None
        try:
            with _appending(path) as opened:
                if not stat.S_ISREG(os.fstat(opened).st_mode):
                    raise RecordingError(f"Cannot write {path}: it is no regular file.")
                self._written = dict(read_recording(path).answers)
        except OSError as error:
            raise RecordingError(f"Cannot write {path}: {error.strerror}.") from error

    def write(self, model: str, messages: Messages, answer: Answer) -> None:
        """Write a prompt with its answer, unless it stands there already.

        Where that fails nothing is raised, for the answer is worth more: `problem` says why.
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
                self.problem = f"Not all answers stand in {self._path}: {error.strerror}."


@contextmanager
def _appending(path: Path) -> Iterator[int]:
    """Open a file to write at its end, alone as long as the block lasts."""
    refuse_database(path)
    opened = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, _MODE)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield opened
    finally:
        os.close(opened)


def _end_last_line(opened: int) -> None:
    """End a last line that has no line end, as one that broke off; nothing is ever removed."""
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
    """The prompts that a recording does not know, in a file next to it. Safe in threads."""

    def __init__(self, path: Path) -> None:
        """Remove what an earlier run left. Raises `RecordingError`."""
        self.path = path
        self._lock = Lock()
        self._keys: set[str] = set()
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise RecordingError(f"Cannot write {path}: {error.strerror}.") from error

    def add(self, model: str, messages: Messages) -> None:
        """Write a prompt down, once. Raises `OSError`."""
        key = question_key(model, messages)
        with self._lock:
            if key in self._keys:
                return
            with _appending(self.path) as opened:
                _write_whole(opened, _line({"key": key, "model": model, "messages": messages}))
            self._keys.add(key)


class ReplayedModel:
    """Answers from a recording, for nothing; what it does not know is for the model behind it."""

    def __init__(
        self, name: str, answers: Mapping[str, Answer], missing: _Missing, behind: Model | None
    ) -> None:
        """Take the answers by their keys, and the model for all others, if there is one."""
        self._name = name
        self._answers = answers
        self._missing = missing
        self._behind = behind

    @property
    def patience_s(self) -> float:
        """How long a call may take at the most."""
        return float("inf") if self._behind is None else self._behind.patience_s

    def price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Return what it costs to ask the model behind it; a recording costs nothing."""
        return 0.0 if self._behind is None else self._behind.price(prompt_tokens, answer_tokens)

    def limit(self, answer_tokens: int) -> int:
        """Return the most tokens to allow for an answer of so many."""
        return answer_tokens if self._behind is None else self._behind.limit(answer_tokens)

    def ask(self, call: Call) -> Answer:
        """Return the recorded answer. Raises `CallFailed` if there is none."""
        known = self._answers.get(question_key(self._name, call.messages))
        if known is not None:
            self.note_kept(call.messages, known)
            return Answer(known.answer, 0, 0, 0.0)
        if self._behind is not None:
            return self._behind.ask(call)
        try:
            self._missing.add(self._name, call.messages)
        except OSError as error:
            raise CallFailed(
                "the recording does not know the question, and it could not be written to "
                f"{self._missing.path}: {error.strerror}"
            ) from error
        raise CallFailed(
            f"the recording does not know the question, which stands in {self._missing.path}"
        )

    def note_kept(self, messages: Messages, answer: Answer) -> None:
        """Pass an answer on to the model behind it."""
        if self._behind is not None:
            self._behind.note_kept(messages, answer)


class RecordedModel:
    """Another model, whose answers are all written down."""

    def __init__(self, name: str, model: Model, recorder: Recorder) -> None:
        """Take the model, and where to write."""
        self._name = name
        self._model = model
        self._recorder = recorder
        self.price = model.price
        self.limit = model.limit

    @property
    def patience_s(self) -> float:
        """How long a call may take at the most."""
        return self._model.patience_s

    def ask(self, call: Call) -> Answer:
        """Ask, and write down what was answered."""
        answer = self._model.ask(call)
        self._recorder.write(self._name, call.messages, answer)
        return answer

    def note_kept(self, messages: Messages, answer: Answer) -> None:
        """Write down an answer that was kept."""
        self._recorder.write(self._name, messages, answer)


@dataclass(frozen=True)
class Recordings:
    """What a run is to record, and to answer from: either, or both."""

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
        """Return the model that replays and records; `opened` loads the served one."""
        behind: Model | None = opened() if self.asks else None
        if behind is not None and self.recorder is not None:
            behind = RecordedModel(name, behind, self.recorder)
        if self.recording is not None and self.missing is not None:
            return ReplayedModel(name, self.recording.answers, self.missing, behind)
        assert behind is not None  # noqa: S101 - what does not replay asks
        return behind


def open_recordings(record: Path | None, replay: Path | None) -> Recordings:
    """Open what is to be recorded to and replayed from. Raises `RecordingError`."""
    recording = None if replay is None else read_recording(replay)
    missing = None if replay is None else _Missing(replay.with_name(f"{replay.name}.missing"))
    return Recordings(None if record is None else Recorder(record), recording, missing)
