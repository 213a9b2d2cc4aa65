"""What is meant verbatim: code in backticks and fences, and quotations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_MARKED = re.compile(
    r"```(?:\w*\n)?(?P<fence>.+?)```|``(?P<ticks>.+?)``|`(?P<code>[^`\n]+)`"
    r"|(?<!\w)\"(?P<straight>[^\"\n]+)\"|[“„](?P<curly>[^“”„\n]+)[”“]"
    r"|[«»](?P<angled>[^«»\n]+)[«»]|「(?P<corner>[^「」\n]+)」"
    r"|(?<!\w)['\u2018\u201a](?P<single>[^'\u2018\u2019\u201a\n]+)['\u2019](?!\w)",
    re.DOTALL,
)
# Words of Chinese and Japanese have no blanks between them.
_LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff]"
_CODE = ("fence", "ticks", "code")


class LiteralSpan(NamedTuple):
    """A code span or a quotation, without its marks, and where it is with them."""

    kind: str
    content: str
    start: int
    end: int


def find_literals(text: str) -> Iterator[LiteralSpan]:
    """Yield the code spans and quotations of a text."""
    for match in _MARKED.finditer(text):
        kind = "code" if match.lastgroup in _CODE else "quotation"
        content = match[match.lastgroup or 0].strip()
        if any(map(str.isalnum, content)):
            yield LiteralSpan(kind, content, *match.span())


def has_literal(text: str, literal: LiteralSpan) -> bool:
    """Whether a text contains each line of code, or each word of a quotation in its order.

    The marks may differ. An ellipsis in a quotation marks an omission.
    """
    if literal.kind == "code":
        lines = (" ".join(line.split()) for line in literal.content.splitlines())
        whole = " ".join(text.split())
        return all(_contains(whole, line) for line in lines if line)
    words = f" {_words(text)} "
    parts = map(_words, re.split(r"…|\.{3}|\[[^\]]*\]", literal.content))
    return all(f" {part} " in words for part in parts if part)


def _contains(text: str, part: str) -> bool:
    before = rf"(?<!{_LETTER})" if part[0].isalnum() else ""
    return re.search(rf"{before}{re.escape(part)}(?!{_LETTER})", text) is not None


@lru_cache(maxsize=1_024)
def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+|[^\w\s.,;:!?'\u2019\u2018\"“”„«»`()\[\]…-]", text.casefold()))
