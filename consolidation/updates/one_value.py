"""Whether a thing has one such value at a time, or many: a port, a teacher, a meeting."""

from __future__ import annotations

import re
from itertools import pairwise

from slowwave.consolidation.text import cues, lexicon, units
from slowwave.consolidation.text.anyof import any_of
from slowwave.consolidation.text.tokens import stem, tokenise

from .frames import Frame
from .slots import Slot, names_the_one
from .subjects import subjects_of
from .two_things import DESIGNATING

# What comes once, on one day.
_DATED = frozenset({"=due", "=expire"})
# What one does or has of several things at a time: another one comes on top.
_MANIFOLD = frozenset(
    stem(word)
    for words in (
        "like love enjoy prefer speak know support collect play learn study visit recommend read",
        "watch hate dislike allergic want interested practise practice",
    )
    for word in words.split()
)
# What is had at some time is one of many: "has a meeting at 10:00".
_HAPPENING = re.compile(r"\b(?:has|have|having) an? \w+", re.IGNORECASE)
_ONE_OF_MANY = re.compile(r"^(?:an?|one of|another|some)\b|\bis (?:one of|an?)\b", re.IGNORECASE)
# Where a value is what a thing is: "the port of Orlo is 8080", "port of Orlo: 8080"; "Ann is ...".
_IS_VALUE = re.compile(
    r"(?!an? |one |some |each |every )(?:the |our |my )?(?P<thing>[^.;:,]+?)"
    rf"(?: (?:is|are)(?: set to| at)?|:) (?:{any_of(lexicon.TITLES)})?\.? ?",
    re.IGNORECASE,
)
_VALUE_IS = re.compile(
    r" (?:is|are) (?!an? |one |some )(?:the |our |my )?(?P<thing>[^.;:,]+)", re.IGNORECASE
)
_WHOSE = frozenset({"of", "for", "at"})


def has_one_value(old: Frame, new: Frame, slot: Slot) -> bool:
    """Whether both identify one value of one thing: "the port of Orlo is 8080", "Orlo port: 8443".

    Either the thing is known by name, or the text says that the value changes: by "the current
    version", or by a higher version. A length, a weight and a date do not change.
    """
    if slot.kind in cues.DAYS - {"weekday"} or slot.kind in ("path", "place", "word", "phrase"):
        return False
    heads = identifying(old, slot.old), identifying(new, slot.new)
    if not all(heads) or old.doubted or new.doubted or any(map(_is_measured, (old, new))):
        return False
    before, after = subjects_of(old, new, slot)
    if before != after:
        return False
    current = cues.CURRENT.search(f"{old.reading.said} {new.reading.said}") is not None
    return (
        current
        or _rises(slot)
        or all(_is_of_one(thing, frame) for thing, frame in zip(heads, (old, new), strict=True))
    )


def identifying(frame: Frame, value: str) -> str | None:
    """Return what a sentence says to be this value, where it says nothing else."""
    said = cues.CURRENT.sub("", frame.reading.said).strip(" .")
    before, _, after = said.partition(value)
    if not after:
        found = _IS_VALUE.fullmatch(before)
    else:
        found = None if before else _VALUE_IS.fullmatch(after)
    return found["thing"] if found is not None else None


def _is_measured(frame: Frame) -> bool:
    """Whether it gives a length or a weight: these hardly change, and rather one is wrong."""
    return any(value.measure[1] in units.UNITS_OF_SIZE for value in frame.values.values())


def _rises(slot: Slot) -> bool:
    """Whether a version is followed by a higher one."""
    numbers = [[int(one) for one in re.findall(r"\d+", text)] for text in (slot.old, slot.new)]
    return slot.kind == "version" and numbers[0] < numbers[1]


def _is_of_one(thing: str | None, frame: Frame) -> bool:
    """Whether what is identified is that of one known by name: "Ann's plan", "port of Orlo"."""
    words = tokenise(thing or "")
    known = {key[1] for key, one in frame.values.items() if one.kind in DESIGNATING} | {"user"}
    known.update(frame.names)
    # Whose it is stands in front, or behind its joint: "Ann's plan", "Orlo port", "port of Orlo".
    owners = [words[0], *(one for joint, one in pairwise(words[-2:]) if joint.lower in _WHOSE)]
    # "API" and "PDF" stand for kinds of things.
    return any(one.bare in known and not one.text.isupper() for one in owners)


def is_manifold(frame: Frame) -> bool:
    """Whether it is about what one does or has of several things: "Ann likes tea"."""
    return any(stem(token.bare) in _MANIFOLD for token in frame.reading.tokens)


def is_one_of_many(frame: Frame, slot: Slot) -> bool:
    """Whether there may be more than one: "a teacher", "has a meeting at 10:00"."""
    if slot.kind in ("date", "month") and not frame.topic_terms & _DATED:
        # What takes place on another day is another one.
        return True
    if slot.kind == "name":
        return _ONE_OF_MANY.search(frame.reading.said) is not None or is_manifold(frame)
    return slot.kind in cues.DAYS | {"time"} and _HAPPENING.search(frame.reading.said) is not None


def both_name_the_one(old: Frame, new: Frame, slot: Slot) -> bool:
    """Whether the value of each is a name for the only one there is: "the boss is Ann"."""
    named = slot.kind == "name"
    return named and names_the_one(old, slot.old) and names_the_one(new, slot.new)
