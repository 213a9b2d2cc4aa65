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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from slowwave.consolidation.errors import RecordingError
from slowwave.store.errors import file_errors
from slowwave.store.model_answers import Answer
from slowwave.store.opening import open_text, refuse_database
from slowwave.store.records import json_text, read_json

from .answer_forms import first_fault
from .prompts import Messages
from .question import Question
from .unanswered import CallFailed

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
    with file_errors("read", path, error_type=RecordingError), open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            recorded = _read(line, number, path)
            if recorded is not None:
                tokens = recorded.prompt_tokens, recorded.completion_tokens
                answer = Answer(recorded.answer, *tokens, recorded.cost_usd)
                answers[question_key(recorded.model, recorded.messages)] = answer
                models.add(recorded.model)
    return Recording(path, answers, frozenset(models))


def _read(line: bytes, number: int, path: Path) -> _RecordedLine | None:
    if not line.strip():
        return None
    try:
        recorded = _RecordedLine.model_validate_json(line)
    except ValidationError as error:
        if _breaks_off(line):
            return None
        why = first_fault(error)
        raise RecordingError(f"Line {number} of {path} is not a recorded answer: {why}.") from error
    if recorded.key not in (None, question_key(recorded.model, recorded.messages)):
        raise RecordingError(
            f"Line {number} of {path} is not a recorded answer: its key is that of another prompt."
        )
    return recorded


def _breaks_off(line: bytes) -> bool:
    begun = line.rstrip(b"\n")
    is_own = begun[: len(_HEAD)] == _HEAD[: len(begun)]
    return is_own and read_json(begun.decode(errors="replace")) is None


class Recorder:
    """Appends prompts to a file, each as a whole line. Safe across threads and processes."""

    def __init__(self, path: Path, written: Mapping[str, str | None]) -> None:
        """written: the answers in the file by the keys of their prompts."""
        self.path = path
        # Why writing stopped.
        self.error: OSError | None = None
        self._written = dict(written)
        self._lock = Lock()

    def write(self, question: Question[Any], answer: Answer | None = None) -> None:
        """Append a prompt, perhaps with its answer, unless it is recorded already.

        An error is not raised, since the answer matters more: `error` holds it.
        """
        key = question_key(question.model, question.messages)
        line = {"key": key, "model": question.model, "messages": question.messages}
        text = None if answer is None else answer.answer
        with self._lock:
            if self.error is not None or (key in self._written and self._written[key] == text):
                return
            self._written[key] = text
            try:
                _append(self.path, line if answer is None else line | vars(answer))
            except OSError as error:
                self.error = error


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


def _append(path: Path, line: Mapping[str, Any]) -> None:
    """Append a line, after ending a truncated last one; nothing is ever removed."""
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    remaining_bytes = memoryview(text.encode(errors="backslashreplace") + b"\n")
    with _appending(path) as opened:
        size = os.fstat(opened).st_size
        if size and os.pread(opened, 1, size - 1) != b"\n":
            os.write(opened, b"\n")
        while remaining_bytes:
            remaining_bytes = remaining_bytes[os.write(opened, remaining_bytes) :]


@dataclass(frozen=True)
class Recordings:
    """What a run records to and replays from: either, or both.

    A recorded answer costs nothing.
    """

    recorder: Recorder | None = None
    recording: Recording | None = None
    # Gets the prompts that the recording does not answer.
    missing: Recorder | None = None

    @property
    def asks(self) -> bool:
        """Whether a model is asked at all."""
        return self.recording is None or self.recorder is not None

    @property
    def problem(self) -> str | None:
        """Why not all answers were recorded; None if they were."""
        if self.recorder is None or self.recorder.error is None:
            return None
        path, error = self.recorder.path, self.recorder.error
        return f"Not all answers were recorded in {path}: {error.strerror}."

    def find(self, question: Question[Any]) -> Answer | None:
        """Return the recorded answer; None if a model must be asked.

        Raises `CallFailed` if there is none, and no model is asked.
        """
        answers = self.recording.answers if self.recording else {}
        answer = answers.get(question_key(question.model, question.messages))
        if answer is None and not self.asks:
            raise CallFailed(self._missing(question))
        return answer

    def record(self, question: Question[Any], answer: Answer) -> None:
        """Record an answer, if answers are recorded."""
        if self.recorder is not None:
            self.recorder.write(question, answer)

    def _missing(self, question: Question[Any]) -> str:
        """Add a question to the file of missing prompts, and return why it has no answer."""
        why, missing = "the recording does not know the question", self.missing
        if missing is None:
            return why
        missing.write(question)
        if missing.error is not None:
            return f"{why}, and it could not be added to {missing.path}: {missing.error.strerror}"
        return f"{why}, which was added to {missing.path}"


def open_recordings(record: Path | None, replay: Path | None) -> Recordings:
    """Open the files to record to and replay from. Raises `RecordingError`.

    The file of prompts that an earlier replay could not answer is deleted.
    """
    recorder, recording, missing = None, None, None
    if replay is not None:
        recording = read_recording(replay)
        path = replay.with_name(f"{replay.name}.missing")
        with file_errors("write", path, error_type=RecordingError):
            path.unlink(missing_ok=True)
        missing = Recorder(path, {})
    if record is not None:
        writing = file_errors("write", record, error_type=RecordingError)
        with writing, _appending(record) as opened:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                raise RecordingError(f"Cannot write {record}: it is not a regular file.")
            recorded = read_recording(record).answers
        recorder = Recorder(record, {key: answer.answer for key, answer in recorded.items()})
    return Recordings(recorder, recording, missing)
