"""Two texts prepared to be compared: what both have in two spellings comes out in one.

Only the other text tells whether "start-up" may be "startup", whether "SLA" is short for a "service
level agreement", and that `yarn install` without its marks is the same command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from .literals import masked, stands_in
from .objections import Objection
from .reading import Reading, read

# "Re-sign" is not "resign".
_HYPHENED = re.compile(r"(?<![\w-])(?!re-)[^\W\d_]+(?:-[^\W\d_]+)+(?![\w-])", re.IGNORECASE)
# With two letters alone, too many words begin with them.
_ACRONYM = re.compile(r"(?<![\w-])[A-Z]{3,5}(?![\w-])")
_USER = re.compile(r"^(?:the )?user (?=(\w+))", re.IGNORECASE)
_FIRST = re.compile(r"\w+")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def missing_literals(left: Reading, right: Reading) -> Iterator[Objection]:
    """Find what is meant to the letter in one, and does not stand like that in the other."""
    if not (left.literals or right.literals):
        return
    here, there = (
        list(dict.fromkeys(one.content for one in side.literals if not _holds(other, one.content)))
        for side, other in ((left, right), (right, left))
    )
    if here or there:
        yield Objection("literal", ", ".join(here), ", ".join(there), bool(here and there))


def _holds(reading: Reading, content: str) -> bool:
    return any(one.content == content for one in reading.literals) or stands_in(
        content, reading.unmarked
    )


class Pair:
    """Two texts in which what both have in two spellings stands in one."""

    def __init__(self, left: Reading, right: Reading) -> None:
        """Bring both into one spelling."""
        self._contents: dict[str, str] = {}
        texts = left.bare, right.bare
        if left.literals or right.literals:
            texts = self._masked(left, right)
        texts = _subject_left_out(*_unabbreviated(*_joined(*texts)))
        changed = texts != (left.bare, right.bare)
        self.left, self.right = map(read, texts) if changed else (left, right)

    def unmasked(self, objection: Objection) -> Objection:
        """Give an objection with the literals as they stand in the texts."""
        if not self._contents:
            return objection
        sides = [objection.left, objection.right]
        for name, content in self._contents.items():
            sides = [re.sub(rf"\b{name}\b", lambda _, put=content: put, one) for one in sides]
        return replace(objection, left=sides[0], right=sides[1])

    def _masked(self, left: Reading, right: Reading) -> tuple[str, str]:
        both = dict.fromkeys(
            one.content
            for side, other in ((left, right), (right, left))
            for one in side.literals
            if _holds(other, one.content)
        )
        names = {content: _name(at) for at, content in zip(count(), both, strict=False)}
        self._contents = {name: content for content, name in names.items()}
        return masked(left.bare, names), masked(right.bare, names)


def _name(at: int) -> str:
    """Give a word that no text has and that no rule knows."""
    return f"zq{_name(at // 26)[2:] if at >= 26 else ''}{_LETTERS[at % 26]}q"


def _joined(left: str, right: str) -> tuple[str, str]:
    """Write with hyphens what one text writes with them: "trunk based", "startup"."""
    return _with_hyphens(left, right), _with_hyphens(right, left)


def _with_hyphens(text: str, other: str) -> str:
    if "-" not in other:
        return text
    for word in dict.fromkeys(_HYPHENED.findall(other)):
        parts = "[ -]?".join(map(re.escape, word.split("-")))
        text = re.sub(rf"(?<![\w-]){parts}(?![\w-])", word.lower(), text, flags=re.IGNORECASE)
    return text


def _unabbreviated(left: str, right: str) -> tuple[str, str]:
    """Write short what one text writes short: "service level agreement" beside "SLA"."""
    return _with_acronyms(left, right), _with_acronyms(right, left)


def _with_acronyms(text: str, other: str) -> str:
    for short in dict.fromkeys(_ACRONYM.findall(other)):
        if short not in text:
            words = r"[ -]".join(rf"{letter}[^\W\d_]+" for letter in short)
            text = re.sub(rf"(?<![\w-]){words}(?![\w-])", short, text, flags=re.IGNORECASE)
    return text


def _subject_left_out(left: str, right: str) -> tuple[str, str]:
    """Leave out the user that only one text begins with: "User uses zsh", "Uses zsh"."""
    return _without_user(left, right), _without_user(right, left)


def _without_user(text: str, other: str) -> str:
    found = _USER.match(text)
    first = _FIRST.search(other)
    alike = found is not None and first is not None and found[1].lower() == first[0].lower()
    return text[found.end() :] if found is not None and alike else text
