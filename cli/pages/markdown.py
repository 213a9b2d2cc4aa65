"""A report as Markdown, for a mail or the comment on a pull request.

What memories say stands in fenced blocks only, which no text can end, and where nothing is a link,
a picture, a mention or HTML.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted

from .account import Account, Pairs, ShownProposal, ShownSource
from .report_file import MARK

# Comments end somewhere, at 65,536 characters on the usual sites: so many are for proposals.
_MOST_CHARACTERS = 50_000
_MOST_ITEMS = 50
_MOST_PAIRS = 20
_WIDTH = 96
# So much of a text is shown.
_MOST_SAID = 600


def as_markdown(account: Account) -> str:
    """Return the report; what is left out of it is said."""
    parts = [
        *_head(account),
        *_numbers(account),
        *(_code_block("text", map(_cut, one.split("\n"))) for one in account.remarks),
        *_proposals(account),
        *_pairs("Conflicts, left as they are", account.conflicts or Pairs()),
        *_pairs("Kept apart, though they look alike", account.apart or Pairs()),
    ]
    return f"{MARK}\n" + "\n\n".join(parts) + "\n"


def _head(account: Account) -> Iterator[str]:
    title = "What a night would do" if account.dry_run else "What the night did"
    yield f"## {title}"
    if account.run is None:
        read = "; the file was only read" if account.is_whole else ""
        yield f"{_code(account.file)}: {account.outcome}{read}."
    else:
        yield (
            f"{_code(account.file)}: run {_code(account.run)} of {_code(account.started)}, "
            f"{account.outcome}, written by {_code(account.writer)}."
        )
    if account.undo:
        yield f"Take {account.undo_takes} back with {_code(account.undo)}"


def _numbers(account: Account) -> Iterator[str]:
    before, after = account.before, account.after
    if before and after:
        rows = [
            f"| {noun} | {before[name]:,} | {after[name]:,} |"
            for name, noun in (("active", "active memories"), ("tokens", "tokens in them"))
        ]
        yield "\n".join(["| | before | after |", "|---|---:|---:|", *rows])
    usage = account.usage
    if usage.get("calls") or usage.get("cached"):
        cost = usage.get("cost_usd")
        said = "unknown" if cost is None else f"{cost:.4f} USD"
        calls = counted(usage["calls"], "call", "calls")
        yield f"The model: {calls}, {usage['cached']} answered from the file, cost {said}."


def _proposals(account: Account) -> Iterator[str]:
    states = ", ".join(f"{count:,} {state}" for state, count in sorted(account.states.items()))
    count = counted(account.proposals, "proposal", "proposals")
    yield f"### {count}{': ' if states else ''}{states}"
    written = shown = 0
    for item in account.items[:_MOST_ITEMS]:
        undo = f"\n\nTake it back with {_code(item.undo)}" if item.undo else ""
        approve = f"\n\nApprove it with {_code(item.approve)}" if item.approve else ""
        block = _code_block("diff", _proposal(item)) + approve + undo
        written += len(block)
        if written > _MOST_CHARACTERS:
            break
        shown += 1
        yield block
    if shown < account.proposals:
        yield f"The first {shown} of {account.proposals:,}; all of them with `slowwave log`."


def _proposal(item: ShownProposal) -> Iterator[str]:
    """Yield what is kept, what goes and the result, as a diff shows it."""
    tenant = "" if item.tenant == "default" else f", tenant {item.tenant}"
    yield clean(f"@@ {item.operation} ({item.state}{tenant}) @@")
    yield from _wrapped("  ", item.reason)
    if item.why:
        yield from _wrapped("! ", item.why)
    for said in item.sources:
        yield from _wrapped("- " if said.goes else "  ", _dated(said))
    if item.result:
        yield from _wrapped("+ " if item.is_effective else "! ", item.result)
    for wording in item.wording:
        yield from _wrapped("  ", wording)


def _pairs(title: str, pairs: Pairs) -> Iterator[str]:
    if not pairs.count:
        return
    yield f"### {title}: {pairs.count:,}"
    lines: list[str] = []
    for pair in pairs.shown[:_MOST_PAIRS]:
        lines += _wrapped("", pair.why)
        for said in pair.sources:
            lines += _wrapped("  ", _dated(said))
    yield _code_block("text", lines)
    if pairs.count > _MOST_PAIRS:
        yield f"The first {_MOST_PAIRS} of {pairs.count:,}."


def _dated(said: ShownSource) -> str:
    return f"{said.day}  {said.text}".strip()


def _wrapped(sign: str, text: str) -> Sequence[str]:
    """Return a text on lines that can be read without moving sideways, each with its sign."""
    return textwrap.wrap(_cut(clean(text)), _WIDTH, initial_indent=sign, subsequent_indent=sign)


def _cut(line: str) -> str:
    return line if len(line) <= _MOST_SAID else f"{line[: _MOST_SAID - 1]}…"


def _code_block(language: str, lines: Iterable[str]) -> str:
    """Return lines between fences that are longer than any in them."""
    text = "\n".join(lines)
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _code(text: str) -> str:
    """Return a text as code within a line, whatever it holds."""
    line = clean(text)
    ticks = "`" * (_longest(line) + 1)
    room = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{room}{line}{room}{ticks}"


def _longest(text: str) -> int:
    """Return how many backticks stand in a row at the most."""
    return max(map(len, re.findall("`+", text)), default=0)
