"""Invisible characters: those that hide text, change its direction or control a terminal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

# Controls, format marks, private and unassigned characters, line separators and surrogates.
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"})
# Letters, marks and symbols of Unicode that every font leaves blank.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_WHITE = frozenset("\n\r\t")
# An emoji that this Python does not know yet is visible at least as a box.
_EMOJI = range(0x1F000, 0x1FB00)
# Words and emoji are spelled with these: they join, separate, or select the form of a character.
_JOINERS = "\u200c\u200d"
_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_SPELLS = re.compile(f"[{_JOINERS}{_SELECTORS}]")
_SELECTS = re.compile(f"[{_SELECTORS}]")
# A black flag with the letters of a region, which is drawn as its flag.
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f")
# A letter as a tag, or more characters in a row than words and emoji have.
_HOLDS_TEXT = re.compile(
    f"[\U000e0020-\U000e007e]|[{_JOINERS}{_SELECTORS}\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0]{4}"
)
_KEYCAP = "\u20e3"


@cache
def is_hidden(letter: str) -> bool:
    """Whether a character is invisible wherever it is; white space is not."""
    if letter in _WHITE or _SPELLS.match(letter) or ord(letter) in _EMOJI:
        return False
    return letter in _BLANK or unicodedata.category(letter) in _UNSEEN


def is_unseen(letter: str) -> bool:
    """Whether a character is invisible by itself: hidden, a joiner, or a selector."""
    return is_hidden(letter) or _SPELLS.match(letter) is not None


def hides_text(text: str) -> bool:
    """Whether a text contains an invisible one: letters as tags, or bits as a run."""
    return not text.isascii() and _HOLDS_TEXT.search(_FLAG.sub("", text)) is not None


def misplaced(text: str) -> set[int]:
    """Return the indices of joiners and selectors that are not part of a word or an emoji.

    A single one between two such parts is; one in a run, or in an ASCII word, is not.
    """
    return {match.start() for match in _SPELLS.finditer(text) if not _belongs(text, match.start())}


def find_invisible(text: str, sources: Sequence[str] = ()) -> str | None:
    """Return the first invisible character of a text, as <U+202E>; None if it has none.

    sources: joiners and selectors in a word or an emoji must be in the same place in one of these.
    """
    flags = {position for flag in _FLAG.finditer(text) for position in range(*flag.span())}
    not_spelled = misplaced(text)
    for position, letter in enumerate(text):
        if (is_hidden(letter) and position not in flags) or position in not_spelled:
            return f"<U+{ord(letter):04X}>"
        around = text[max(0, position - 1) : position + 2]
        if _SPELLS.match(letter) and not any(around in source for source in sources):
            return f"<U+{ord(letter):04X}>"
    return None


def _belongs(text: str, position: int) -> bool:
    """Whether a joiner or selector is in a place where words and emoji have one."""
    before, behind = text[position - 1 : position], text[position + 1 : position + 2]
    if _SELECTS.match(text[position]):
        return _is_drawn(before) or (before.isascii() and behind == _KEYCAP and before != "")
    if _SELECTS.match(before):
        before = text[position - 2 : position - 1]
    return _is_drawn(before) and _is_drawn(behind)


def _is_drawn(letter: str) -> bool:
    """Whether a character is visible and not ASCII."""
    if not letter or letter.isascii() or letter.isspace() or _SPELLS.match(letter):
        return False
    return not is_hidden(letter)
