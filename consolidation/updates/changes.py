"""Two sentences about one thing, of which the later one says something else of it."""

from __future__ import annotations

from msgspec import Struct

from slowwave.consolidation.text import cues, lexicon
from slowwave.consolidation.text.tokens import is_content
from slowwave.consolidation.thresholds import (
    CUED_MATTER,
    PLAIN_MATTER,
    SHARED_MATTER,
    TURNED_TOPIC,
    WHOLE_TOPIC,
)

from .frames import Frame, Key
from .one_value import both_name_the_one, has_one_value, identifying, is_manifold, is_one_of_many
from .slots import Slot, names_the_one, slot_of
from .subjects import common_matter, names_a_thing, share_of, subjects_of
from .two_things import about_two_things, narrowed

# What a thing has one of at a time. A date or a name may be one of many.
MEASURED = frozenset({"number", "time", "version", "address", "host", "url", "path", "weekday"})
# Of what runs on something, or needs it, the number behind its name is a version.
_SOFTWARE = frozenset({"=run", "=need", "=build", "=use"})


class ValueChange(Struct, frozen=True, array_like=True, gc=False):
    """What one sentence says and a later one says otherwise."""

    # What the values are: a number, a name ...
    kind: str
    # As they are spelled, and what they are told apart by.
    old: str
    new: str
    old_keys: frozenset[Key]
    new_keys: frozenset[Key]
    # Whether the later one says that it was otherwise before.
    cued: bool
    # Whether it is a thing known by name that has one such value at a time.
    single: bool
    doubted: bool
    # What both are about, for people to read.
    about: str


def compare(old: Frame, new: Frame) -> ValueChange | None:
    """Return what `new` says otherwise than `old`; None if they are about two things.

    The two sentences alone decide, so that the answer holds however many memories come.
    """
    reported = old.reported and new.reported
    if not (old.state or old.cued or reported) or old.adds or not (new.news or reported):
        return None
    slot = slot_of(old, new)
    if slot is None or about_two_things(old, new, slot) or narrowed(old, new, slot):
        return None
    alike = _certain if slot.ended else _cued if new.cued else _plain
    if not alike(old, new, slot):
        return None
    cued = slot.ended or new.cued
    return ValueChange(
        *(slot.kind, slot.old, slot.new, slot.old_keys, slot.new_keys),
        cued=cued,
        single=not cued and has_one_value(old, new, slot),
        doubted=old.doubted or new.doubted,
        about=" ".join(new.spelled(old.topic_terms & new.topic_terms)),
    )


def _certain(old: Frame, new: Frame, slot: Slot) -> bool:
    """Whether the value that has ended is the one that `old` gives: of the same thing."""
    before, after = subjects_of(old, new, slot)
    shared = before & (after | new.implied)
    common = common_matter(old, new, shared)
    if common >= SHARED_MATTER and old.of_user and new.of_user:
        return True
    if slot.kind == "word" and not names_a_thing(shared):
        # "A lost badge costs the employee 15 euros", "dentist visits at work are no longer paid":
        # no name or number that ended ties the two together.
        return False
    return common > 0 and (not before or share_of(before, shared) >= TURNED_TOPIC)


def _cued(old: Frame, new: Frame, slot: Slot) -> bool:
    """Whether what `new` says to have changed is what `old` is about."""
    if slot.kind in ("name", "word") and not new.implied and is_manifold(old):
        return False
    before, after = subjects_of(old, new, slot)
    shared = before & (after | new.implied)
    here = share_of(before, shared)
    if common_matter(old, new, shared) < SHARED_MATTER:
        return bool(shared) and here == 1.0 and (slot.kind == "name" or before == after)
    if slot.kind == "word":
        said = before & after
        return len(said) >= max(
            SHARED_MATTER - (old.of_user and new.of_user),
            TURNED_TOPIC * len(old.topic_terms),
        )
    return here >= (TURNED_TOPIC if new.turned else CUED_MATTER)


def _plain(old: Frame, new: Frame, slot: Slot) -> bool:
    """Whether both say the same of one thing, but for the value."""
    if (
        _quoted(old) ^ _quoted(new)
        or _names_the_thing(old, new, slot.old)
        or _names_the_thing(new, old, slot.new)
    ):
        return False
    many = is_one_of_many(old, slot) or is_one_of_many(new, slot)
    if slot.kind == "word" or new.adds or (many and not (old.doubted or new.doubted)):
        return False
    before, after = subjects_of(old, new, slot)
    shared = before & after
    the_one = both_name_the_one(old, new, slot)
    alone = (the_one and before == after) or has_one_value(old, new, slot)
    if common_matter(old, new, shared) < SHARED_MATTER - alone:
        return False
    here, there = share_of(before, shared), share_of(after, shared)
    whole = here >= (PLAIN_MATTER if the_one else WHOLE_TOPIC)
    if bool(before - after) and bool(after - before) and not whole:
        return False
    is_predicated = slot.kind not in MEASURED or (_predicated(old, slot) and _predicated(new, slot))
    enough = min(here, there) >= PLAIN_MATTER or (whole and there >= CUED_MATTER)
    return enough and is_predicated and _alike(old, new, slot)


def _quoted(frame: Frame) -> frozenset[Key]:
    return frozenset(one.key for one in frame.reading.values if one.kind == "quoted")


def _names_the_thing(frame: Frame, other: Frame, value: str) -> bool:
    """Whether a value says of which thing it is told: "B-0533 has a flat", "flat 14 has a key"."""
    said = frame.reading.said
    start = said.find(value)
    before = [one for one in frame.reading.tokens if one.start < start]
    behind = [one for one in frame.reading.tokens if one.start >= start + len(value)]
    if value.isdigit() and before[1:] and behind:
        # "In flat 14 they": a noun in front, its joint or article before that, and more behind.
        *_, joint, noun = before
        beside = noun.start + len(noun.text) + 1 == start == behind[0].start - len(value) - 1
        opens = joint.lower in lexicon.PLACING or joint.lower in cues.BEFORE_A_THING
        return beside and opens and is_content(noun.bare) and behind[0].lower not in lexicon.PLACING
    if identifying(frame, value) is not None or names_the_one(frame, value):
        return False
    code = not value.isalpha() and " " not in value
    return code and not any(frame.term_of(one) in other.topic_terms for one in before)


def _alike(old: Frame, new: Frame, slot: Slot) -> bool:
    """Whether both are said in one mood, and both deny or neither does."""
    here, there = old.reading, new.reading
    moods = (
        both_name_the_one(old, new, slot) or old.moods == new.moods or old.doubted or new.doubted
    )
    return moods and bool(here.negators) == bool(there.negators)


def _predicated(frame: Frame, slot: Slot) -> bool:
    """Whether a value is what is said of a thing, and not part of its name or of a plan's day."""
    value = next(
        value for key, value in frame.values.items() if key in slot.old_keys | slot.new_keys
    )
    before = [token for token in frame.reading.tokens if token.start < value.start]
    beside = bool(before) and before[-1].start + len(before[-1].text) + 1 == value.start
    named = beside and before[-1].capitalised and not before[-1].starts_sentence
    named = named and not frame.topic_terms & _SOFTWARE
    counted = (
        value.kind == "number" and not any(map(str.isdigit, value.text)) and " " not in value.norm
    )
    at_time = frame.reading.said[: value.start].endswith(" at ")
    return value.kind in MEASURED and not named and (not counted or at_time)
