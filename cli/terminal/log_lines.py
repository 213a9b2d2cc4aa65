"""Events of a command on stderr as JSON Lines: for containers and journals."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Literal

Level = Literal["info", "warning", "error"]
LogFormat = Literal["text", "json"]
_OPTION, _VARIABLE = "--log-format", "SLOWWAVE_LOG_FORMAT"


@dataclass
class LogLines:
    """Writes lines, if they are wanted."""

    wanted: bool

    def write(self, level: Level, event: str, **fields: Any) -> None:
        """Write one line, if lines are wanted and somebody reads them."""
        if not self.wanted:
            return
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "level": level, "event": event, **fields}
        # Only ASCII: control codes are escapes.
        try:
            sys.stderr.write(f"{json.dumps(line, ensure_ascii=True)}\n")
            sys.stderr.flush()
        except OSError:
            # The run goes on; the rest of the buffer must not fail at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


_LINES: ContextVar[LogLines | None] = ContextVar("log_lines", default=None)


@contextmanager
def log_lines_of_this_command(arguments: Sequence[str]) -> Iterator[None]:
    """Provide the `LogLines` of the command that runs in the block.

    arguments: of the command line, which may want lines also for an error in them.
    """
    token = _LINES.set(LogLines(_are_wanted(arguments)))
    try:
        yield
    finally:
        _LINES.reset(token)


def log_lines() -> LogLines:
    """Return the `LogLines` of the command that is running."""
    return _LINES.get() or LogLines(wanted=False)


def write_in(format: LogFormat) -> LogFormat:
    """Write lines from now on if this is the value of --log-format, and return it."""
    log_lines().wanted = format == "json"
    return format


def _are_wanted(arguments: Sequence[str]) -> bool:
    """Whether lines are wanted, before a command reads its options."""
    format = os.environ.get(_VARIABLE, "")
    for argument, following in pairwise([*arguments, ""]):
        name, equals, value = argument.partition("=")
        if name == _OPTION:
            format = value if equals else following
    return format == "json"
