"""HTML pages without other files, on which the text of a memory is only text."""

from __future__ import annotations

import shlex
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.differences import mark_differences
from slowwave.cli.terminal.output import clean, shortened
from slowwave.cli.terminal.wording import counted
from slowwave.store.records import LAYERS

from .conflict import MAX_PAIRS
from .night import NightView
from .proposal import ProposalView
from .report_file import MARK

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"
# A browser has trouble with many more proposals.
_MAX_PROPOSALS = 1_000
_MAX_TITLE = 300


def as_page(night: NightView) -> str:
    """Return the report of a night."""
    return render(
        "report.html",
        {
            "file": night.file,
            "night": night,
            "layers": LAYERS,
            "items": list(map(_with_differences, night.proposals[:_MAX_PROPOSALS])),
            "max_items": _MAX_PROPOSALS,
            "max_pairs": MAX_PAIRS,
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
    return environment().get_template(template).render(values, **ours, version=version("slowwave"))


def environment(escapes: bool = True, **filters: Callable[..., str]) -> Environment:
    """Return what fills in templates. escapes: values are not markup; filters: more filters."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    found = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=escapes,  # noqa: S701 - Markdown fences its texts instead
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    own = {"lines": _lines, "line": clean, "title": lambda text: shortened(text, _MAX_TITLE)}
    found.filters |= own | {"quoted": shlex.quote, "counted": counted, "change": _change} | filters
    return found


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
    marked, new = mark_differences(texts if result else [], _lines(result))
    spans = marked or [[] for _ in sources]
    return {
        "item": proposal,
        "sources": [(*source, found) for source, found in zip(sources, spans, strict=True)],
        "result": new,
    }
