"""A report as one HTML page without other files, in which the text of a memory is only text."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from slowwave.cli.terminal.differences import mark_differences
from slowwave.cli.terminal.output import clean, shortened
from slowwave.cli.terminal.wording import counted
from slowwave.store.records import LAYERS

from .account import Account, ShownProposal
from .account_reading import MOST_ITEMS, MOST_PAIRS
from .curve import draw_curve
from .map import MOST_POINTS, draw_map
from .report_file import MARK

_TEMPLATES = Path(__file__).parent / "templates"
# So much of a memory is shown where the mouse rests on its point.
_MOST_IN_TITLE = 300


def as_page(account: Account, memory_file: Path) -> str:
    """Return the page. Raises `StoreError` where the vectors for its map cannot be read."""
    return render(
        "report.html",
        {
            "account": account,
            "layers": LAYERS,
            "items": [_marked(one) for one in account.items],
            "map": draw_map(memory_file, account.embedder, account.items),
            "curve": draw_curve(account.history),
            "most_items": MOST_ITEMS,
            "most_pairs": MOST_PAIRS,
            "most_points": MOST_POINTS,
        },
    )


def render(template: str, values: Mapping[str, Any]) -> str:
    """Return a template filled in: whatever a value holds is text on the page, and no markup."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "lines": _lines,
        "line": clean,
        "title": lambda text: shortened(text, _MOST_IN_TITLE),
        "counted": counted,
        "change": _change,
    }
    style, script = _part("report.css"), _part("report.js")
    # The two files are ours; a hash lets the browser run these bytes and no others.
    return environment.get_template(template).render(
        values,
        mark=MARK,
        style=style,
        script=script,
        policy=_policy(style, script),
        version=version("slowwave"),
    )


def _part(name: str) -> str:
    return (_TEMPLATES / name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src {_allowed(style)}; script-src {_allowed(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _allowed(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _lines(text: str) -> str:
    """Return a text with its ends of lines, and every other control code shown as an escape."""
    return "\n".join(map(clean, text.replace("\r\n", "\n").split("\n")))


def _change(before: int, after: int) -> str:
    """Say by how much something grew or shrank."""
    if not before:
        return ""
    return f"{round(100 * (after - before) / before):+d} %"


def _marked(item: ShownProposal) -> dict[str, Any]:
    """Return a proposal with its differences marked: what the result lacks there, what is new."""
    result = item.result or ""
    texts = [_lines(one.text) for one in item.sources]
    marked, result_spans = mark_differences(texts if result else [], _lines(result))
    spans = marked or [[] for _ in item.sources]
    return {
        "item": item,
        "sources": list(zip(item.sources, spans, strict=True)),
        "result": result_spans,
    }
