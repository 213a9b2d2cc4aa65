"""Spellings and phrases of one meaning, brought to one form before a text is read.

"It won't start w/o the config" and "It will not start without the configuration" come out the
same. Only what means the same wherever it stands is here: what depends on the sentence is left
as it is, and to a model.
"""

from __future__ import annotations

import re

from . import spellings
from .announcing import without_announcements
from .anyof import any_of
from .case_folding import fold_case
from .literals import around_literals
from .normal_forms import AFTER, BEFORE, RULES

# The signs at each place of a text, the longest of each place; and by each sign the numbers of the
# rules that look for it, or for what it begins with.
_SIGN = re.compile(f"(?=({any_of(sign for signs, _, _ in RULES for sign in signs)}))")
_BY_SIGN = {
    sign: [number for number, (looks, _, _) in enumerate(RULES) if sign.startswith(looks)]
    for signs, _, _ in RULES
    for sign in signs
}
_SPELLINGS = re.compile(
    rf"{BEFORE}(?:{'|'.join(sorted(map(re.escape, spellings.SPELLINGS), key=len, reverse=True))})"
    rf"{AFTER}",
    re.IGNORECASE,
)

# What stands before a part of a path.
_IN_PATH = re.compile(r"[/_][\w.-]*$")

# The word with which each other spelling begins.
_SPELLED = re.compile(r"\w+")
_OTHERWISE = frozenset(
    found.group() for other in spellings.SPELLINGS if (found := _SPELLED.match(other.casefold()))
)


def normalise(text: str) -> str:
    """Return a text without announcements, its contractions and spellings brought to one form.

    Not what is meant to the letter in it.
    """
    return around_literals(text, _normalised)


def _normalised(text: str) -> str:
    text = without_announcements(text)
    due = _due(text)
    while due:
        number, *due = due
        _, pattern, form = RULES[number]
        formed = pattern.sub(form, text)
        if formed != text:
            # Other signs may stand in it now.
            text = formed
            due = [later for later in _due(text) if later > number]
    if _OTHERWISE.isdisjoint(_SPELLED.findall(text.casefold())):
        return text
    return _SPELLINGS.sub(_spelled, text)


def _due(text: str) -> list[int]:
    """Return the numbers of the rules of which a sign stands in a text."""
    signs = set(_SIGN.findall(text.casefold()))
    return sorted({number for sign in signs for number in _BY_SIGN[sign]})


def _spelled(found: re.Match[str]) -> str:
    word = found.group()
    if word[:1].isupper() and word.lower() in spellings.ALSO_NAMES:
        return word
    # "kv/net/harbour-wg" is a path, and spelled as it is.
    if _IN_PATH.search(found.string[: found.start()]) or found.string[found.end() :][:1] == "/":
        return word
    # "40 db" is a noise.
    if word.lower() in ("db", "dbs") and found.string[: found.start()].rstrip()[-1:].isdigit():
        return word
    form = spellings.SPELLINGS[fold_case(word)]
    # "DB" is short, and no name: "the database".
    return form[:1].upper() + form[1:] if word.istitle() else form
