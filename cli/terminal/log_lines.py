"""Events of a command on stderr as JSON Lines: for containers and journals."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

Level = Literal["info", "warning", "error"]
LogFormat = Literal["text", "json"]
_VARIABLE = "SLOWWAVE_LOG_FORMAT"


# Whether the running command writes lines.
_WRITES_LINES: ContextVar[bool] = ContextVar("log_lines_wanted", default=False)


def writes_log_lines() -> bool:
    """Whether the running command writes lines."""
    return _WRITES_LINES.get()


def log_line(level: Level, event: str, **fields: Any) -> None:
    """Write one line, if lines are wanted and somebody reads them."""
    if not _WRITES_LINES.get():
        return
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    line = {"time": time, "level": level, "event": event, **fields}
    # Only ASCII: control codes are escapes.
    try:
        sys.stderr.write(f"{json.dumps(line, ensure_ascii=True)}\n")
        sys.stderr.flush()
    except OSError:
        # The run goes on; the rest of the buffer must not fail at its end.
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Discard what is written to a stream from now on, and what is in its buffer."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def log_lines_of_this_command() -> Iterator[None]:
    """Run a command in the block, which writes lines if the environment says so."""
    token = _WRITES_LINES.set(os.environ.get(_VARIABLE) == "json")
    try:
        yield
    finally:
        _WRITES_LINES.reset(token)


def write_in(format: LogFormat) -> LogFormat:
    """Write lines from now on if this is the value of --log-format, and return it."""
    _WRITES_LINES.set(format == "json")
    return format
