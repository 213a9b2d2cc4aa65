"""Events of a command on stderr as JSON Lines: for containers and journals."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Literal, TextIO

Level = Literal["info", "warning", "error"]
LogFormat = Literal["text", "json"]
_OPTION, _VARIABLE = "--log-format", "SLOWWAVE_LOG_FORMAT"


# Whether the running command writes lines.
_WANTED: ContextVar[bool] = ContextVar("log_lines_wanted", default=False)


def writes_log_lines() -> bool:
    """Whether the running command writes lines."""
    return _WANTED.get()


def log_line(level: Level, event: str, **fields: Any) -> None:
    """Write one line, if lines are wanted and somebody reads them."""
    if not _WANTED.get():
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
def log_lines_of_this_command(arguments: Sequence[str]) -> Iterator[None]:
    """Run a command in the block, which writes lines if its arguments or the environment say so.

    They are read before the command reads its options, since these may be wrong.
    """
    format = os.environ.get(_VARIABLE, "")
    for argument, following in pairwise([*arguments, ""]):
        name, equals, value = argument.partition("=")
        if name == _OPTION:
            format = value if equals else following
    token = _WANTED.set(format == "json")
    try:
        yield
    finally:
        _WANTED.reset(token)


def write_in(format: LogFormat) -> LogFormat:
    """Write lines from now on if this is the value of --log-format, and return it."""
    _WANTED.set(format == "json")
    return format
