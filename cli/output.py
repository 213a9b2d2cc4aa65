"""What goes to stdout and what to stderr, for people and for programs."""

from __future__ import annotations

import json as jsonlib
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

FORMAT = 1
_WIDTH = 120
# Ends and starts of lines, and marks that turn the direction of writing: shown, never sent.
_SHOWN = {number: f"\\x{number:02x}" for number in [*range(32), *range(127, 160)]}
_SHOWN |= {ord("\n"): " ", ord("\t"): " ", ord("\r"): " "}
_SHOWN |= {
    number: f"\\u{number:04x}" for number in [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
}


@dataclass(frozen=True)
class Output:
    """Where a command's words go: the result alone to stdout, all else to stderr."""

    json: bool
    quiet: bool

    def result(self, value: dict[str, Any]) -> None:
        """Write the result as one JSON object; only with --json."""
        if self.json:
            text = jsonlib.dumps({"format": FORMAT, **value}, ensure_ascii=False, indent=2)
            # A lone surrogate, which no encoding can write, as its escape.
            sys.stdout.write(text.encode("utf-8", "backslashreplace").decode() + "\n")

    def show(self, *parts: RenderableType) -> None:
        """Write the result for people; not with --json or --quiet."""
        if not self.json and not self.quiet:
            console = console_for(sys.stdout)
            for part in parts:
                console.print(part, markup=False, highlight=False, soft_wrap=isinstance(part, str))

    def note(self, text: str) -> None:
        """Write a remark to stderr; not with --quiet."""
        if not self.quiet:
            console_for(sys.stderr).print(text, markup=False, highlight=False, soft_wrap=True)

    def error(self, message: str, hint: str, code: int) -> None:
        """Write an error to stderr, as one JSON object with --json."""
        if self.json:
            value = {"format": FORMAT, "error": message, "hint": hint, "code": int(code)}
            sys.stderr.write(jsonlib.dumps(value, ensure_ascii=True) + "\n")
            return
        sys.stderr.write(f"Error: {clean(message)}\n")
        if hint:
            sys.stderr.write(f"{clean(hint)}\n")


def clean(text: str) -> str:
    """Give a text on one line, with control codes shown and not sent to the terminal."""
    return text.translate(_SHOWN).encode("utf-8", "backslashreplace").decode()


def shortened(text: str, most: int) -> str:
    """Give at most so many characters of a text, on one line."""
    line = clean(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"


def console_for(stream: Any) -> Console:
    """Give a rich console for stdout or stderr as they are now; NO_COLOR is respected."""
    from rich.console import Console

    # A file or a pipe has no width of its own: one that tables can be read in.
    width = None if stream.isatty() else _WIDTH
    return Console(file=stream, highlight=False, markup=False, width=width)
