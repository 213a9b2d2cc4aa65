"""A report as Markdown, for a mail or a comment on a pull request.

Texts of memories are only in fenced blocks, which no text can end, and in which nothing is a link,
a picture, a mention or HTML.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator

from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted

from .conflict import Pairs
from .costs import usd_of
from .memory import MemoryView
from .night import NightView
from .proposal import ProposalView
from .report_file import MARK

# Common sites limit a comment to 65,536 characters: these are for proposals and pairs of a kind.
_MAX_OF_PROPOSALS, _MAX_OF_PAIRS = 34_000, 12_000
_MAX_PROPOSALS = 50
_MAX_PAIRS = 20
_WIDTH = 96
# How many characters of a text are shown.
_MAX_TEXT = 600


def as_markdown(night: NightView) -> str:
    """Return the report of a night, with what it omits."""
    parts = [
        *_head(night),
        *_numbers(night),
        *(_fenced("text", map(_cut, remark.split("\n"))) for remark in night.remarks),
        *_proposals(night),
        *_pairs("Conflicts, left unchanged", night.conflicts),
        *_pairs("Similar, but kept apart", night.apart),
    ]
    return f"{MARK}\n" + "\n\n".join(parts) + "\n"


def _head(night: NightView) -> Iterator[str]:
    yield f"## {'What a run would do' if night.dry_run else 'What the run did'}"
    if night.run is None:
        read = "; the file was only read" if night.is_whole else ""
        yield f"{_code(night.file)}: {night.outcome}{read}."
    else:
        yield (
            f"{_code(night.file)}: run {_code(night.run.id)} of {_code(night.started)}, "
            f"{night.outcome}, model: {_code(night.writer)}."
        )
        if night.has_applied:
            what = "all of it" if night.is_whole else "the proposals"
            yield f"Undo {what} with {_command('undo', night, night.run.id)}"


def _numbers(night: NightView) -> Iterator[str]:
    before, after = night.before, night.after
    if before and after:
        rows = [
            f"| {noun} | {before[name]:,} | {after[name]:,} |"
            for name, noun in (("active", "active memories"), ("tokens", "tokens"))
        ]
        yield "\n".join(["| | before | after |", "|---|---:|---:|", *rows])
    usage = night.usage
    if usage["calls"] or usage["cached"]:
        cost = usage["cost_usd"]
        price = "unknown" if cost is None else usd_of(cost)
        calls = counted(usage["calls"], "call")
        yield f"The model: {calls}, {usage['cached']} answers from the cache, cost {price}."


def _proposals(night: NightView) -> Iterator[str]:
    states = ", ".join(f"{count:,} {state}" for state, count in sorted(night.states.items()))
    count = len(night.proposals)
    heading = counted(count, "proposal")
    yield f"### {heading}{': ' if states else ''}{states}"
    blocks = (_block(proposal, night) for proposal in night.proposals[:_MAX_PROPOSALS])
    shown = _fitting(blocks, _MAX_OF_PROPOSALS)
    yield from shown
    if len(shown) < count:
        log = _code(f"slowwave log {shlex.quote(night.file)}")
        yield f"Showing {len(shown)} of {count:,}; {log} lists all."


def _fitting(blocks: Iterable[str], left: int) -> list[str]:
    """Return the blocks that fit into a budget of characters; long ones are skipped."""
    fitting = []
    for block in blocks:
        if len(block) <= left:
            left -= len(block)
            fitting.append(block)
    return fitting


def _block(proposal: ProposalView, night: NightView) -> str:
    block, key = _fenced("diff", _proposal(proposal)), proposal.proposal.id[:12]
    if proposal.effect == "pending":
        block += f"\n\nApprove it with {_command('review approve', night, key)}"
    if proposal.is_applied:
        block += f"\n\nUndo it with {_command('undo', night, key)}"
    return block


def _proposal(view: ProposalView) -> Iterator[str]:
    """Yield what stays, what goes and the result, as a diff shows them."""
    proposal = view.proposal
    tenant = "" if proposal.tenant == "default" else f", tenant {proposal.tenant}"
    yield clean(f"@@ {proposal.operation} ({view.state}{tenant}) @@")
    yield from _wrapped("  ", proposal.reason)
    if view.why:
        yield from _wrapped("! ", view.why)
    for goes, memory in view.sources:
        yield from _wrapped("- " if goes else "  ", _dated(memory))
    if view.result:
        yield from _wrapped("+ " if view.effect == "effective" else "! ", view.result)
    for author in view.authors:
        yield from _wrapped("  ", author)


def _pairs(title: str, pairs: Pairs | None) -> Iterator[str]:
    if pairs is None or not pairs.count:
        return
    yield f"### {title}: {pairs.count:,}"
    blocks = (
        "\n".join(
            [
                *_wrapped("", why),
                *(line for memory in memories for line in _wrapped("  ", _dated(memory))),
            ]
        )
        for why, memories in pairs.shown[:_MAX_PAIRS]
    )
    shown = _fitting(blocks, _MAX_OF_PAIRS)
    yield _fenced("text", shown)
    if len(shown) < pairs.count:
        yield f"Showing {len(shown)} of {pairs.count:,}."


def _dated(memory: MemoryView) -> str:
    return f"{memory.head}{memory.content}"


def _wrapped(sign: str, text: str) -> list[str]:
    """Return a text on lines that fit a screen, each with its sign."""
    return textwrap.wrap(_cut(clean(text)), _WIDTH, initial_indent=sign, subsequent_indent=sign)


def _cut(line: str) -> str:
    return line if len(line) <= _MAX_TEXT else f"{line[: _MAX_TEXT - 1]}…"


def _fenced(language: str, lines: Iterable[str]) -> str:
    """Return lines between fences that are longer than any in them."""
    text = "\n".join(lines)
    fence = "`" * max(3, _longest_ticks(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _command(verb: str, night: NightView, which: str) -> str:
    """Return a command on the file, for a shell, as code within a line."""
    return _code(f"slowwave {verb} {shlex.quote(night.file)} {shlex.quote(which)}")


def _code(text: str) -> str:
    """Return a text as code within a line, regardless of what it contains."""
    line = clean(text)
    ticks = "`" * (_longest_ticks(line) + 1)
    room = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{room}{line}{room}{ticks}"


def _longest_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
