"""What goes to stdout and what to stderr, for people and for programs."""

from __future__ import annotations

import codecs
import json as jsonlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

from slowwave.consolidation.text.invisible import is_hidden, misplaced

from .log_lines import log_lines

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from slowwave.store.undo.obstacles import Obstacle

FORMAT = 1
_WIDTH = 120
# How many obstacles are written for people; programs get them all.
_SHOWN_FIRST = 10


class _Escapes(dict[int, str]):
    """What a character is written as, looked up when it first comes.

    What no reader sees is shown as an escape, and never sent to a terminal.
    """

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
                self._escape(letter) if at in strange else letter for at, letter in enumerate(text)
            )
        return text.translate(self)


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def _json_escape(letter: str) -> str:
    return jsonlib.dumps(letter)[1:-1]


_SHOWN = _Escapes(_escape, dict.fromkeys(map(ord, "\n\t\r"), " "))
# The ends of lines between values stay; inside strings there are none.
_IN_JSON = _Escapes(_json_escape, {ord("\n"): "\n"})


@dataclass
class Stdout:
    """Whether what a command wrote to stdout got there."""

    # Why it did not; None as long as it did.
    error: OSError | None = None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Run a block that writes; after a failure, nothing more is written."""
        try:
            yield
            sys.stdout.flush()
        except OSError as error:
            self.error = error
            # What is left in the buffer, too; otherwise Python complains when it flushes that.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_STDOUT: ContextVar[Stdout] = ContextVar("stdout")


@contextmanager
def stdout_of_this_command() -> Iterator[Stdout]:
    """Provide a record of whether the output of the command in the block was written."""
    token = _STDOUT.set(Stdout())
    try:
        yield _STDOUT.get()
    finally:
        _STDOUT.reset(token)


def writing_to_stdout() -> AbstractContextManager[None]:
    """Run a block that writes to stdout; a failure is reported when the command has ended."""
    return _STDOUT.get().writing()


def unwritable(error: OSError) -> str:
    """Return why nothing can be written to stdout."""
    return f"Cannot write to stdout: {error.strerror}."


def escape_what_stdout_cannot_spell() -> None:
    """Write letters that the terminal's encoding lacks as escapes that JSON has, too."""
    codecs.register_error("slowwave", _spelled)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="slowwave")


def _spelled(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _json_escape(error.object[error.start : error.end]), error.end


def _no_place(said: str) -> str | None:
    """Return no place: no config file was read."""
    return None


# Where in a config file a value stands that a sentence names, while a command runs that read one.
PLACE_OF: ContextVar[Callable[[str], str | None]] = ContextVar("place_of", default=_no_place)


@dataclass(frozen=True)
class Output:
    """Where a command's words go: the result alone to stdout, all else to stderr."""

    json: bool
    quiet: bool

    def result(self, value: dict[str, Any]) -> None:
        """Write the result as one JSON object; only with --json."""
        if self.json:
            text = jsonlib.dumps({"format": FORMAT, **value}, ensure_ascii=False, indent=2)
            with writing_to_stdout():
                sys.stdout.write(f"{harmless_json(text)}\n")

    def show(self, *parts: RenderableType) -> None:
        """Write the result for people; not with --json or --quiet."""
        if not self.json and not self.quiet:
            from rich.text import Text

            console = console_for(sys.stdout)
            with writing_to_stdout():
                for part in parts:
                    is_text = isinstance(part, str | Text)
                    console.print(part, markup=False, highlight=False, soft_wrap=is_text)

    def note(self, text: str) -> None:
        """Write a remark to stderr; not with --quiet, but where it is a line of the log."""
        if (lines := log_lines()).wanted:
            lines.write("info", "note", message=text)
        elif not self.quiet:
            with _writing_to_stderr():
                console_for(sys.stderr).print(text, markup=False, highlight=False, soft_wrap=True)

    def error(self, message: str, hint: str, code: int, obstacles: Sequence[Obstacle] = ()) -> None:
        """Write an error to stderr, as one JSON object with --json."""
        place = PLACE_OF.get()(message)
        message = message if place is None else f"{place}: {message}"
        if (log := log_lines()).wanted:
            log.write("error", "error", message=message, hint=hint, code=int(code))
            return
        if self.json:
            value = {"format": FORMAT, "error": message, "hint": hint, "code": int(code)}
            if obstacles:
                value["obstacles"] = [asdict(one) for one in obstacles]
            lines = [jsonlib.dumps(value, ensure_ascii=True)]
        else:
            lines = [f"Error: {clean(message)}"]
            if len(obstacles) > 1:  # the message names it if there is only one
                lines += [f"- {clean(one.why)}" for one in obstacles[:_SHOWN_FIRST]]
            if len(obstacles) > _SHOWN_FIRST:
                more = len(obstacles) - _SHOWN_FIRST
                lines.append(f"- and {more} more: --json gives them all.")
            if hint:
                lines.append(clean(hint))
        with _writing_to_stderr():
            sys.stderr.write("".join(f"{line}\n" for line in lines))
            sys.stderr.flush()


@contextmanager
def _writing_to_stderr() -> Iterator[None]:
    """Run a block that writes to stderr; if nobody reads that, the exit code alone has to tell."""
    try:
        yield
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def clean(text: str) -> str:
    """Return a text on one line, with control codes shown and not sent to the terminal."""
    return _SHOWN.write(text)


def harmless_json(text: str) -> str:
    """Return JSON of the same value in which control codes are escapes: it may meet a terminal."""
    return _IN_JSON.write(text)


def shortened(text: str, most: int) -> str:
    """Return at most so many characters of a text, on one line."""
    line = clean(text[: most + 1])  # of a text of megabytes no more is needed
    return line if len(line) <= most else f"{line[: most - 1]}…"


def console_for(stream: Any) -> Console:
    """Return a rich console for stdout or stderr as they are now; NO_COLOR is respected."""
    from rich.console import Console

    class _Console(Console):
        def on_broken_pipe(self) -> None:
            """Raise, so that the command decides how it ends: rich would exit with 1."""
            raise

    # A file or a pipe has no width of its own: one that tables can be read in.
    width = None if stream.isatty() else _WIDTH
    return _Console(file=stream, highlight=False, markup=False, emoji=False, width=width)
