"""Literals: what is meant to the letter, with its case, its punctuation and its order.

What stands in backticks, fences and quotation marks is one, and so is code without marks: a flag,
an assignment, a call, a path that ends in a slash. No spelling, stem or capital makes `user_id` of
`user-id`. The marks themselves may come and go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

# Fences, backticks, and quotation marks in pairs.
_MARKED = re.compile(
    r"```(?:\w*\n)?(.+?)```|``(.+?)``|`([^`\n]+)`|\"([^\"\n]+)\"|“([^“”\n]+)”"
    r"|(?<!\w)'([^'\n]+)'(?!\w)",
    re.DOTALL,
)
# Data in brackets, with the quotation marks that belong to it; a call.
_DATA = re.compile(r"[\[{][^\n\[\]{}`]*[\"'][^\n`]*[\]}]|(?<![\w.])[\w.]+\([^()\n\ufffc]+\)")
# What a noun of naming names: "the file is Makefile", "password: blue-Whale".
_NAMED = re.compile(
    r"\b(?:file|folder|password|passphrase|key|variable|class|function|method|branch|command|"
    r"token|username|login|code)(?: is| name is| called| named|:| =) (\w[\w-]*)(?=\W*$|[.;,]\s)",
    re.IGNORECASE | re.MULTILINE,
)
_FILLER = "\ufffc"
_CHUNK = re.compile(r"[^\s\u2013\u2014\u2026]+")
_STOPS = ".,;:!?"
_BRACKETS = {"(": ")", "*": "*", "<": ">", "“": "”", '"': '"', "'": "'"}
# What no word of a sentence is: a letter together with a sign, a flag, a dot or a slash in front, a
# slash at the end, two dots, a bracket with nothing in it, a full stop by itself.
_CODE = re.compile(
    r"(?=.*[^\W\d]).*[\\=<>{}\[\]()|^_;!?&*$@#~+%].*|--?[^\W\d].*|\.{0,2}/.*|\.{1,2}[\w/].*|.*/|"
    r".*\.\..*|.*[^\W\d]:.+|\[\]|\{\}|\(\)|\.\.?|[a-z]+-(?=[A-Z]).*"
)
# Amounts and shares, which are values; plurals that may be; marks of a list of tasks.
_NO_CODE = re.compile(r"[<>~≈≥≤=+$€£#-]*\d.*|[^\W\d]+\(e?s\)|w/o?", re.IGNORECASE)
# A character for private use stands for a literal while the text around it is changed.
_STAND_IN = 0xE000
_MOST = 0x1000


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal as it is compared, and where it stands in its text, marks included."""

    content: str
    start: int
    end: int
    marked: bool


def find_literals(text: str) -> tuple[Literal, ...]:
    """Return the literals of a text in its order."""
    found = list(_marked(text))
    bare = blank_literals(text, found)
    calls = [Literal(one.group(), *one.span(), marked=False) for one in _DATA.finditer(bare)]
    calls += [
        Literal(one[1], *one.span(1), marked=False)
        for one in _NAMED.finditer(bare)
        if not any(call.start <= one.start(1) < call.end for call in calls)
    ]
    found += calls
    found += _chunks(blank_literals(bare, calls))
    return tuple(sorted(found, key=lambda one: one.start))


def blank_literals(text: str, taken: Iterable[Literal]) -> str:
    """Return a text with a sign that is no word in place of literals."""
    parts, end = [], 0
    for one in sorted(taken, key=lambda one: one.start):
        parts += [text[end : one.start], _FILLER * (one.end - one.start)]
        end = one.end
    return "".join([*parts, text[end:]])


def around_literals(text: str, change: Callable[[str], str]) -> str:
    """Change a text, but not what is marked as meant to the letter in it."""
    found = tuple(_marked(text))
    if not found or len(found) > _MOST or any(_is_stand_in(letter) for letter in text):
        return change(text)
    parts, end = [], 0
    for number, one in enumerate(found):
        parts += [text[end : one.start], chr(_STAND_IN + number)]
        end = one.end
    changed = change("".join([*parts, text[end:]]))
    return "".join(
        text[found[ord(letter) - _STAND_IN].start : found[ord(letter) - _STAND_IN].end]
        if _is_stand_in(letter)
        else letter
        for letter in changed
    )


def _is_stand_in(letter: str) -> bool:
    return _STAND_IN <= ord(letter) < _STAND_IN + _MOST


def _marked(text: str) -> Iterator[Literal]:
    if not any(mark in text for mark in "`\"“'"):
        return
    end = 0
    data = (one for one in _DATA.finditer(text) if not one.group().endswith(")"))
    for one in sorted([*data, *_MARKED.finditer(text)], key=lambda one: one.start()):
        if one.start() < end:
            continue
        end = one.end()
        yield Literal(_content(one), *one.span(), marked=True)


def _content(found: re.Match[str]) -> str:
    if found.lastindex is None:
        return found.group()
    content = found[found.lastindex].strip()
    # The comma of a sentence may stand within its quotation marks.
    quoted = found.group()[0] != "`" and any(map(str.isalnum, content))
    return content.rstrip(".,") if quoted else content


def _chunks(text: str) -> Iterator[Literal]:
    """Find code that nothing marks as such, a word at a time."""
    for match in _CHUNK.finditer(text):
        start, chunk = match.start(), match.group()
        if chunk.isalnum() or _FILLER in chunk:
            continue
        if chunk.strip("."):
            before, chunk = _out_of_sentence(chunk)
            start += before
        if chunk and _CODE.fullmatch(chunk) and not _NO_CODE.fullmatch(chunk):
            yield Literal(chunk, start, start + len(chunk), marked=False)


def _out_of_sentence(chunk: str) -> tuple[int, str]:
    """Strip what belongs to the sentence: its full stop, brackets that begin or end in it."""
    before = 0
    while True:
        plain = chunk.rstrip(_STOPS)
        opening = plain[:1]
        closing = _BRACKETS.get(opening, "")
        if closing and (closing not in plain[1:] or plain.endswith(closing)):
            plain, before = plain[1:], before + 1
            plain = plain.removesuffix(closing)
        elif any(plain.endswith(end) and start not in plain for start, end in _BRACKETS.items()):
            plain = plain[:-1]
        if plain == chunk:
            return before, chunk
        chunk = plain


def stands_in(content: str, bare: str) -> bool:
    """Whether a literal stands to the letter in a text without marked ones, as a whole."""
    return any(char.isalnum() for char in content) and bool(_whole(content).search(bare))


def _whole(content: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?<![^\s(\"'“*]){re.escape(content)}(?=[)\"'”*]*[.,;:!?]*(?:[)\"'”*\s]|$))"
    )
