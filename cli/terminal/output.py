"""stdout and stderr, for people and for programs."""

from __future__ import annotations

import codecs
import json as jsonlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from io import TextIOWrapper
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any

from slowwave.consolidation.runtime.redaction import without_secrets
from slowwave.consolidation.text.invisible import is_hidden, misplaced

from .log_lines import discard, log_line, writes_log_lines

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from slowwave.store.undo.obstacles import Obstacle

FORMAT = 1
# A file or a pipe has no width: tables are not wrapped, so that each row is a line.
_WIDTH = 10_000
# Maximum obstacles written for people; programs get them all.
_MAX_OBSTACLES = 10


class _Escapes(dict[int, str]):
    """Maps each character to the text written for it: an escape for one that no reader sees."""

    def __init__(self, escape: Callable[[str], str], plain: dict[int, str]) -> None:
        super().__init__(plain)
        self._escape = escape

    def __missing__(self, number: int) -> str:
        letter = chr(number)
        self[number] = self._escape(letter) if is_hidden(letter) else letter
        return self[number]

    def write(self, text: str) -> str:
        """Return a text as it may be sent to a terminal."""
        if strange := misplaced(text):
            text = "".join(
                self._escape(letter) if index in strange else letter
                for index, letter in enumerate(text)
            )
        return text.translate(self)


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def _json_escape(letter: str) -> str:
    return jsonlib.dumps(letter)[1:-1]


_SHOWN = _Escapes(_escape, dict.fromkeys(map(ord, "\n\t\r"), " "))
# Line ends between values stay; strings have none.
_IN_JSON = _Escapes(_json_escape, {ord("\n"): "\n"})


# Why the running command could not write to stdout; None if it could.
LOST_STDOUT: ContextVar[OSError | None] = ContextVar("lost_stdout", default=None)


@contextmanager
def writing_to_stdout() -> Iterator[None]:
    """Run a block that writes to stdout; a failure is reported at the end of the command."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        LOST_STDOUT.set(error)
        discard(sys.stdout)  # otherwise Python fails when it flushes the rest


def unwritable(error: OSError) -> str:
    """Return why nothing can be written to stdout."""
    return f"Cannot write to stdout: {error.strerror}."


def escape_what_stdout_cannot_spell() -> None:
    """Write letters that the encoding of stdout lacks as JSON escapes."""
    codecs.register_error("slowwave", _spelled)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="slowwave")


def _spelled(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _json_escape(error.object[error.start : error.end]), error.end


# The file that the running command was given; None if it takes none.
NAMED_FILE: ContextVar[Path | None] = ContextVar("named_file", default=None)
# The options that it was given with, such as `--state PATH`: a command needs them again.
FILE_OPTIONS: ContextVar[tuple[str, ...]] = ContextVar("file_options", default=())
_FILE = re.compile(r"(?<=\bslowwave )((?:[a-z|-]+ )+)FILE\b")


def with_file(text: str) -> str:
    """Return a text whose commands name the file of the running command in place of FILE."""
    file = NAMED_FILE.get()
    if file is None:
        return text
    words = join(map(clean, (str(file), *FILE_OPTIONS.get())))
    return _FILE.sub(lambda verb: verb[1] + words, text)


@dataclass(frozen=True)
class Output:
    """The output of a command: only the result to stdout, everything else to stderr."""

    json: bool
    quiet: bool

    def result(self, command: str, **fields: Any) -> None:
        """Write the result as one JSON object; only with --json."""
        if self.json:
            value = {"format": FORMAT, "command": command, **fields}
            text = jsonlib.dumps(value, ensure_ascii=False, indent=2)
            with writing_to_stdout():
                sys.stdout.write(f"{harmless_json(text)}\n")

    def show(self, *parts: RenderableType) -> None:
        """Write the result for people; not with --json or --quiet."""
        if not self.json and not self.quiet:
            console = console_for(sys.stdout)
            with writing_to_stdout():
                for part in parts:
                    console.print(part, soft_wrap=isinstance(part, str))

    def note(self, *lines: str, important: bool = False) -> None:
        """Write a note to stderr; with --quiet only as a log line, unless it is important."""
        text = "\n".join(clean(with_file(line)) for line in lines)
        if writes_log_lines():
            log_line("info", "note", message=text)
        elif important or not self.quiet:
            with _writing_to_stderr():
                console_for(sys.stderr).print(text, soft_wrap=True)

    def error(self, message: str, hint: str, code: int, obstacles: Sequence[Obstacle] = ()) -> None:
        """Write an error to stderr, as one JSON object with --json."""
        message, hint = without_secrets(message), without_secrets(with_file(hint))
        if writes_log_lines():
            log_line("error", "error", message=message, hint=hint, code=int(code))
            return
        if self.json:
            value = {"format": FORMAT, "error": message, "hint": hint, "code": int(code)}
            if obstacles:
                value["obstacles"] = list(map(asdict, obstacles))
            lines = [jsonlib.dumps(value, ensure_ascii=True)]
        else:
            lines = [f"Error: {clean(message)}"]
            if len(obstacles) > 1:  # the message names it if there is only one
                lines += [f"- {clean(obstacle.why)}" for obstacle in obstacles[:_MAX_OBSTACLES]]
            if len(obstacles) > _MAX_OBSTACLES:
                hidden_count = len(obstacles) - _MAX_OBSTACLES
                lines.append(f"- and {hidden_count} more: --json shows all.")
            if hint:
                lines.append(clean(hint))
        with _writing_to_stderr():
            sys.stderr.write("".join(f"{line}\n" for line in lines))
            sys.stderr.flush()


def sees_questions(output: Output) -> bool:
    """Whether a person is at the terminal and can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty() and not output.json and not output.quiet


@contextmanager
def _writing_to_stderr() -> Iterator[None]:
    """Run a block that writes to stderr; if nobody reads it, there is still the exit code."""
    try:
        yield
    except OSError:
        discard(sys.stderr)


def clean(text: str) -> str:
    """Return a text on one line, with control codes escaped."""
    return _SHOWN.write(text)


def harmless_json(text: str) -> str:
    """Return JSON of the same value with control codes escaped, since a terminal may show it."""
    return _IN_JSON.write(text)


def shortened(text: str, limit: int) -> str:
    """Return a text on one line, with at most `limit` characters."""
    line = clean(text[: limit + 1])  # the text may be megabytes long
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def console_for(stream: Any) -> Console:
    """Return a rich console for the current stdout or stderr; respects NO_COLOR."""
    from rich.console import Console

    class _Console(Console):
        def on_broken_pipe(self) -> None:
            """Raise, so that the command chooses the exit code: rich would exit with 1."""
            raise

    width = None if stream.isatty() else _WIDTH
    return _Console(file=stream, highlight=False, markup=False, emoji=False, width=width)


def table_of(
    titles: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = (), wrap: int = 0
) -> Table:
    """Return rows under titles, so narrow that they fit 80 columns.

    numbers: titles of columns of numbers, which follow the rest. wrap: the first column that may be
    wrapped.
    """
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for place, title in enumerate(titles):
        table.add_column(title, no_wrap=place < wrap)
    for title in numbers:
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(*map(clean, row))
    return table
