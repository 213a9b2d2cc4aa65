"""Write the pages of a wiki, with texts that have no effect in Markdown or YAML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from hashlib import sha256
from typing import Any

from slowwave.cli.terminal.output import clean, shortened

# In the front matter of the index: the name of the memory file.
FILE = "file"
# The first key of each page, a digest that shows whether a page was edited since.
_MARK = "slowwave"
_MARKED = re.compile(rb'---\nslowwave: "([0-9a-f]{16})"\n')
_NO_DIGEST = "0" * 16
# Characters with a meaning within a line of Markdown. In a bare address these are the colon after
# its scheme, and each dot of its host.
_ACTIVE = re.compile(
    r"([\\`*_{}\[\]<>()#|~$%^=&@!]|(?<=[A-Za-z]):(?=\S)|(?<=[^\W\d])\.(?=\w)|(?<=\d)\.(?=[^\W\d]))"
)
# Begins a list or a heading at the start of a line.
_BEGINS = re.compile(r"\A(\d*)([-+.])")
# Invisible characters that stay unchanged in a block.
_KEPT = re.compile(r"(\n|\t)")
_MAX_IN_TITLE = 80
# A width of YAML lines that no text reaches.
_NO_FOLDING = 1_000_000


def as_line(text: str) -> str:
    """Return a text as a line of Markdown that shows exactly this text."""
    line = _ACTIVE.sub(r"\\\1", clean(text).strip())
    return _BEGINS.sub(r"\1\\\2", line, count=1)


def title_of(text: str) -> str:
    """Return the beginning of a text as the title of a page or of a link."""
    return shortened(" ".join(text.split()), _MAX_IN_TITLE) or "(blank)"


def as_link(text: str, target: str) -> str:
    """Return a link that shows the beginning of a text. target: a plain path."""
    return f"[{as_line(title_of(text))}]({target})"


def as_block(text: str) -> str:
    """Return a text verbatim, between fences that are longer than any in it.

    Control codes are shown as escapes.
    """
    lines = "".join(part if part in "\n\t" else clean(part) for part in _KEPT.split(text))
    longest = max(map(len, re.findall("`+", lines)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{lines}\n{fence}"


def page(front: Mapping[str, Any], body: Iterable[str]) -> str:
    """Return a page of front matter and paragraphs, with its digest."""
    values = {name: value for name, value in front.items() if value not in (None, [], {})}
    front_matter = _as_yaml(values)
    paragraphs = "\n\n".join(body)
    text = f'---\n{_MARK}: "{_NO_DIGEST}"\n{front_matter}---\n\n{paragraphs}\n'
    return text.replace(_NO_DIGEST, _digest(text.encode()), 1)


def _as_yaml(values: Mapping[str, Any]) -> str:
    """Return YAML whose invisible characters are escaped."""
    import yaml

    dump = partial(yaml.safe_dump, values, sort_keys=False, width=_NO_FOLDING)
    text: str = dump(allow_unicode=True)
    is_printable = all(line == clean(line) for line in text.split("\n"))
    return text if is_printable else str(dump(allow_unicode=False))


def file_of_index(content: bytes) -> str | None:
    """Return the name of the memory file in an index page; None if there is none."""
    import yaml

    if _MARKED.match(content) is None:
        return None
    try:
        front = yaml.safe_load(content[: content.index(b"\n---\n")].decode())
    except (ValueError, yaml.YAMLError):
        return None
    name = front.get(FILE) if isinstance(front, dict) else None
    return name if isinstance(name, str) else None


def is_untouched(content: bytes) -> bool:
    """Whether a page is as an export wrote it, or empty, as a crash may leave it."""
    match = _MARKED.match(content)
    if match is None:
        return not content
    blank = content[: match.start(1)] + _NO_DIGEST.encode() + content[match.end(1) :]
    return match[1].decode() == _digest(blank)


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:16]
