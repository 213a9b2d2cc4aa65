"""A night as an HTML page or as Markdown, in which the text of a memory is only text.

A page needs no other file. In Markdown, for a mail or a comment on a pull request, texts of
memories are only in fenced blocks, which no text can end, and in which nothing is a link, a
picture, a mention or HTML.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.differences import mark_differences
from slowwave.cli.terminal.output import clean, shortened, with_file
from slowwave.cli.terminal.wording import counted
from slowwave.store.records import LAYERS

from .costs import usd_of
from .night import NightView
from .proposal import ProposalView
from .report_file import MARK

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"
# A browser has trouble with many more proposals.
_MAX_PROPOSALS = 1_000
_MAX_TITLE = 300
# Characters of Markdown for proposals, and for effects: common sites limit a comment to 65,536.
_MAX_OF_PROPOSALS, _MAX_OF_EFFECTS = 45_000, 10_000
# Characters of a text in Markdown, and of a line.
_MAX_TEXT, _WIDTH = 600, 96


def as_page(night: NightView) -> str:
    """Return the report of a night as HTML."""
    return render(
        "report.html",
        {
            "file": night.file,
            "night": night,
            "layers": LAYERS,
            "items": list(map(_with_differences, night.proposals[:_MAX_PROPOSALS])),
            "max_items": _MAX_PROPOSALS,
        },
    )


def render(template: str, values: Mapping[str, Any]) -> str:
    """Fill in a template: any value is text on the page, and never markup."""
    style, script = ((_TEMPLATES / f"report.{kind}").read_text("utf-8") for kind in ("css", "js"))
    # Both are ours; with their hashes a browser runs these bytes and nothing else.
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    ours = {"mark": MARK, "style": style, "script": script, "policy": policy}
    return _environment().get_template(template).render(values, **ours, version=version("slowwave"))


def as_markdown(night: NightView) -> str:
    """Return the report of a night as Markdown, with how much it omits."""
    blocks = map(_proposal_block, night.proposals[:_MAX_PROPOSALS])
    template = _environment(escapes=False, code=_code, fenced=_fenced, usd=usd_of)
    return template.get_template("report.md").render(
        mark=MARK,
        night=night,
        states=", ".join(f"{count:,} {state}" for state, count in sorted(night.states.items())),
        undo=_code(_command(f"undo FILE {night.run.id}")),
        proposals=_fitting(blocks, _MAX_OF_PROPOSALS),
    )


def _environment(escapes: bool = True, **filters: Callable[..., str]) -> Environment:
    """Return what fills in templates. escapes: values are not markup; filters: more filters."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=escapes,  # noqa: S701 - Markdown fences its texts instead
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "lines": _lines,
        "line": clean,
        "title": lambda text: shortened(text, _MAX_TITLE),
        "command": _command,
        "counted": counted,
        "change": _change,
        **filters,
    }
    return environment


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _lines(text: str) -> str:
    """Return a text with its line ends, and every other control code as an escape."""
    return "\n".join(map(clean, text.replace("\r\n", "\n").split("\n")))


def _change(before: int, after: int) -> str:
    return f"{round(100 * (after - before) / before):+d}%" if before else ""


def _with_differences(proposal: ProposalView) -> dict[str, Any]:
    """Return a proposal with the words marked that differ in its sources and its result."""
    result, sources = proposal.result or "", proposal.sources
    texts = [_lines(memory.content) for _, memory in sources]
    marked, result_spans = mark_differences(texts if result else [], _lines(result))
    spans = marked or [[] for _ in sources]
    return {
        "item": proposal,
        "sources": [(*source, marks) for source, marks in zip(sources, spans, strict=True)],
        "result": result_spans,
    }


def _fitting(blocks: Iterable[str], characters: int) -> list[str]:
    """Return the blocks that fit into a number of characters; long ones are skipped."""
    fitting = []
    for block in blocks:
        if len(block) <= characters:
            characters -= len(block)
            fitting.append(block)
    return fitting


def _proposal_block(view: ProposalView) -> str:
    """Return what stays, what goes and the result as a diff, and what can be done about it."""
    proposal, target_id = view.proposal, shlex.quote(view.proposal.id[:12])
    tenant = "" if proposal.tenant == "default" else f", tenant {proposal.tenant}"
    lines = [
        clean(f"@@ {proposal.operation} ({view.state}{tenant}) @@"),
        *_wrapped("  ", proposal.reason),
        *_wrapped("! ", view.why or ""),
    ]
    for is_leaving, memory in view.sources:
        lines += _wrapped("- " if is_leaving else "  ", f"{memory.head}{memory.content}")
    lines += _wrapped("+ " if view.effect == "effective" else "! ", view.result or "")
    for author in view.authors:
        lines += _wrapped("  ", author)
    parts = [_fence("\n".join(lines), "diff")]
    if view.effect == "pending":
        parts.append(f"Approve it with {_code(_command(f'review approve FILE {target_id}'))}")
    if view.is_applied:
        parts.append(f"Undo it with {_code(_command(f'undo FILE {target_id}'))}")
    return "\n\n".join(parts)


def _wrapped(sign: str, text: str) -> list[str]:
    """Return a text on lines that fit a screen, each with its sign."""
    line = shortened(text, _MAX_TEXT)
    return textwrap.wrap(line, _WIDTH, initial_indent=sign, subsequent_indent=sign)


def _fenced(text: str, language: str) -> str:
    """Return the beginning of a text between fences."""
    lines = [shortened(line, _MAX_TEXT) for line in text.split("\n")]
    shown = _fitting(lines, _MAX_OF_EFFECTS)
    return _fence("\n".join([*shown, *(["..."] if len(shown) < len(lines) else [])]), language)


def _fence(text: str, language: str) -> str:
    """Return lines between fences that are longer than any in them."""
    fence = "`" * max(3, _longest_ticks(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _command(arguments: str) -> str:
    return clean(with_file(f"slowwave {arguments}"))


def _code(text: str) -> str:
    """Return a text as code within a line, regardless of what it contains."""
    line = clean(text)
    ticks = "`" * (_longest_ticks(line) + 1)
    room = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{room}{line}{room}{ticks}"


def _longest_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
