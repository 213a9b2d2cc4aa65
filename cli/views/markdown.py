"""A report as Markdown, for a mail or a comment on a pull request.

Texts of memories are only in fenced blocks, which no text can end, and in which nothing is a link,
a picture, a mention or HTML.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator
from typing import TypeVar

from slowwave.cli.terminal.output import clean

from .conflict import Pairs
from .costs import usd_of
from .memory import MemoryView
from .night import NightView
from .page import environment
from .proposal import ProposalView
from .report_file import MARK

# Common sites limit a comment to 65,536 characters: these are for proposals and pairs of a kind.
_MAX_OF_PROPOSALS, _MAX_OF_PAIRS = 25_000, 12_000
_MAX_PROPOSALS = 50
_MAX_PAIRS = 20
_WIDTH = 96
# How many characters of a text are shown.
_MAX_TEXT = 600
_Item = TypeVar("_Item")


def as_markdown(night: NightView) -> str:
    """Return the report of a night, with what it omits."""

    def command(verb: str, which: str) -> str:
        return _code(f"slowwave {verb} {shlex.quote(night.file)} {shlex.quote(which)}")

    diffs = ((view, _fenced(_diff(view), "diff")) for view in night.proposals[:_MAX_PROPOSALS])
    pairs = {"Conflicts, left unchanged": night.conflicts, "Equal, but kept apart": night.apart}
    template = environment(escapes=False, code=_code, fenced=_fenced, usd=usd_of)
    return template.get_template("report.md").render(
        mark=MARK,
        night=night,
        states=", ".join(f"{count:,} {state}" for state, count in sorted(night.states.items())),
        command=command,
        proposals=_fitting(diffs, _MAX_OF_PROPOSALS),
        pairs=[(title, *_pairs(found)) for title, found in pairs.items()],
    )


def _fitting(items: Iterable[tuple[_Item, str]], left: int) -> list[tuple[_Item, str]]:
    """Return the items whose blocks fit into a budget of characters; long ones are skipped."""
    fitting = []
    for item, block in items:
        if len(block) <= left:
            left -= len(block)
            fitting.append((item, block))
    return fitting


def _diff(view: ProposalView) -> str:
    """Return what stays, what goes and the result, as a diff shows them."""
    proposal = view.proposal
    tenant = "" if proposal.tenant == "default" else f", tenant {proposal.tenant}"
    lines = [
        clean(f"@@ {proposal.operation} ({view.state}{tenant}) @@"),
        *_wrapped("  ", proposal.reason),
        *_wrapped("! ", view.why or ""),
    ]
    for goes, memory in view.sources:
        lines += _wrapped("- " if goes else "  ", _dated(memory))
    lines += _wrapped("+ " if view.effect == "effective" else "! ", view.result or "")
    for author in view.authors:
        lines += _wrapped("  ", author)
    return "\n".join(lines)


def _pairs(pairs: Pairs | None) -> tuple[int, list[str]]:
    """Return how many pairs there are, and those that are shown."""
    if pairs is None:
        return 0, []
    blocks = (
        (why, "\n".join([*_wrapped("", why), *_lines(memories)]))
        for why, memories in pairs.shown[:_MAX_PAIRS]
    )
    return pairs.count, [block for _, block in _fitting(blocks, _MAX_OF_PAIRS)]


def _lines(memories: Iterable[MemoryView]) -> Iterator[str]:
    for memory in memories:
        yield from _wrapped("  ", _dated(memory))


def _dated(memory: MemoryView) -> str:
    return f"{memory.head}{memory.content}"


def _wrapped(sign: str, text: str) -> list[str]:
    """Return a text on lines that fit a screen, each with its sign."""
    return textwrap.wrap(_cut(clean(text)), _WIDTH, initial_indent=sign, subsequent_indent=sign)


def _cut(line: str) -> str:
    return line if len(line) <= _MAX_TEXT else f"{line[: _MAX_TEXT - 1]}…"


def _fenced(text: str, language: str) -> str:
    """Return lines between fences that are longer than any in them."""
    text = "\n".join(map(_cut, text.split("\n")))
    fence = "`" * max(3, _longest_ticks(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _code(text: str) -> str:
    """Return a text as code within a line, regardless of what it contains."""
    line = clean(text)
    ticks = "`" * (_longest_ticks(line) + 1)
    room = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{room}{line}{room}{ticks}"


def _longest_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
