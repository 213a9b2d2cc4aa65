"""Two sentences about one thing, of which the later one says something else of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import pairwise, takewhile

from msgspec import Struct

from slowwave.consolidation.text import cues, lexicon, units
from slowwave.consolidation.text.anyof import any_of
from slowwave.consolidation.text.tokens import is_content, stem, tokenise
from slowwave.consolidation.thresholds import (
    ATTRIBUTE_WEIGHT,
    CUED_MATTER,
    PLAIN_MATTER,
    SHARED_MATTER,
    TURNED_TOPIC,
    WHOLE_TOPIC,
    WORD_WEIGHT,
)

from .attributes import attribute_of
from .frames import Frame, Key
from .slots import Slot, names_the_one, slot_of, stemmed

# What a thing has one of at a time. A date or a name may be one of many.
MEASURED = frozenset({"number", "time", "version", "address", "host", "url", "path", "weekday"})
# What names a thing by itself.
_DESIGNATING = frozenset({"identifier", "path", "host", "url", "address", "email"})
# What comes once, on one day.
_DATED = frozenset({"=due", "=expire"})
# Of what runs on something, or needs it, the number behind its name is a version.
_SOFTWARE = frozenset({"=run", "=need", "=build", "=use"})
_ORDINALS = frozenset({*lexicon.ORDINALS[:5], "last"})
_EXCLUSIVE = tuple(frozenset(map(attribute_of, line)) for line in lexicon.EXCLUSIVE)
_KIN = frozenset(map(attribute_of, lexicon.KIN))
# What two sentences about one thing need not have in common.
COUNTING = _ORDINALS | _KIN
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
_ANOTHER = frozenset(
    {"former", "acting", "interim", "next", "second", "deputy", "assistant", "vice", "planned"}
)


class ValueChange(Struct, frozen=True, array_like=True):
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

    The two sentences alone decide, so that the answer stands however many memories come.
    """
    told = old.reported and new.reported
    if not (old.state or old.cued or told) or old.adds or not (new.news or told):
        return None
    slot = slot_of(old, new)
    if slot is None or _two_things(old, new, slot) or _narrowed(old, new, slot):
        return None
    alike = _certain if slot.ended else _cued if new.cued else _plain
    if not alike(old, new, slot):
        return None
    cued = slot.ended or new.cued
    return ValueChange(
        *(slot.kind, slot.old, slot.new, slot.old_keys, slot.new_keys),
        cued=cued,
        single=not cued and _has_one_value(old, new, slot),
        doubted=old.doubted or new.doubted,
        about=" ".join(new.spelled(old.topic_terms & new.topic_terms)),
    )


def _share(of: frozenset[str], shared: frozenset[str]) -> float:
    """Return the share of some words that others make up, by weight."""
    whole = _weight(of)
    return _weight(of & shared) / whole if whole else 0.0


def _weight(words: frozenset[str]) -> int:
    return sum(ATTRIBUTE_WEIGHT if word[0] == "=" else WORD_WEIGHT for word in words)


def _about(old: Frame, new: Frame, slot: Slot) -> tuple[frozenset[str], frozenset[str]]:
    """Return what each is about, but for the values."""
    # "The first Thursday" and "the second Tuesday" are one slot.
    counting = _ORDINALS if slot.kind == "weekday" else frozenset()
    # Whose daughter it is needs no saying once she has a name.
    counting |= _KIN - stemmed(old.names) if _shared_names(old, new) else frozenset()
    priced = frozenset({"=price"}) if _is_price(old, slot) else frozenset()
    return (
        (old.topic_terms | priced) - slot.old_words - counting,
        (new.topic_terms | priced) - slot.new_words - counting,
    )


def _is_price(frame: Frame, slot: Slot) -> bool:
    """Whether the value is money: then it is a price, whatever the verb."""
    return any(
        key in slot.old_keys and value.measure[1] in units.CURRENCIES
        for key, value in frame.values.items()
    )


def _common(old: Frame, new: Frame, shared: frozenset[str]) -> int:
    """Count what both are about, the user among it; an attribute alone is no thing."""
    things = any(term[0] not in "=@" for term in shared) or len(shared) >= SHARED_MATTER
    users = old.of_user and new.of_user
    return len(shared) + users if things or users else 0


def _certain(old: Frame, new: Frame, slot: Slot) -> bool:
    """Whether the value that has ended is the one that `old` gives: of the same thing."""
    before, after = _about(old, new, slot)
    shared = before & (after | new.implied)
    common = _common(old, new, shared)
    if common >= SHARED_MATTER and old.of_user and new.of_user:
        return True
    return common > 0 and (not before or _share(before, shared) >= TURNED_TOPIC)


def _cued(old: Frame, new: Frame, slot: Slot) -> bool:
    """Whether what `new` says to have changed is what `old` is about."""
    if slot.kind in ("name", "word") and not new.implied and _manifold(old):
        return False
    before, after = _about(old, new, slot)
    shared = before & (after | new.implied)
    here = _share(before, shared)
    if _common(old, new, shared) < SHARED_MATTER:
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
    many = _one_of_many(old, slot) or _one_of_many(new, slot)
    if slot.kind == "word" or new.adds or (many and not (old.doubted or new.doubted)):
        return False
    before, after = _about(old, new, slot)
    shared = before & after
    the_one = _both_name_the_one(old, new, slot)
    alone = (the_one and before == after) or _has_one_value(old, new, slot)
    if _common(old, new, shared) < SHARED_MATTER - alone:
        return False
    here, there = _share(before, shared), _share(after, shared)
    whole = here >= (PLAIN_MATTER if the_one else WHOLE_TOPIC)
    if bool(before - after) and bool(after - before) and not whole:
        return False
    standing = slot.kind not in MEASURED or (_predicated(old, slot) and _predicated(new, slot))
    enough = min(here, there) >= PLAIN_MATTER or (whole and there >= CUED_MATTER)
    return enough and standing and _alike(old, new, slot)


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
    if _identifying(frame, value) is not None or names_the_one(frame, value):
        return False
    code = not value.isalpha() and " " not in value
    return code and not any(frame.term_of(one) in other.topic_terms for one in before)


def _has_one_value(old: Frame, new: Frame, slot: Slot) -> bool:
    """Whether both identify one value of one thing: "the port of Orlo is 8080", "Orlo port: 8443".

    The thing is known by name; or whoever says "the current version", or gives a higher version,
    tells that the value changes. A length, a weight and a date do not.
    """
    if slot.kind in cues.DAYS - {"weekday"} or slot.kind in ("path", "place", "word", "phrase"):
        return False
    heads = _identifying(old, slot.old), _identifying(new, slot.new)
    if not all(heads) or old.doubted or new.doubted or any(map(_is_measured, (old, new))):
        return False
    before, after = _about(old, new, slot)
    if before != after:
        return False
    current = cues.CURRENT.search(f"{old.reading.said} {new.reading.said}") is not None
    return (
        current
        or _rises(slot)
        or all(_is_of_one(thing, frame) for thing, frame in zip(heads, (old, new), strict=True))
    )


def _identifying(frame: Frame, value: str) -> str | None:
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
    known = {key[1] for key, one in frame.values.items() if one.kind in _DESIGNATING} | {"user"}
    known.update(frame.names)
    # Whose it is stands in front, or behind its joint: "Ann's plan", "Orlo port", "port of Orlo".
    owners = [words[0], *(one for joint, one in pairwise(words[-2:]) if joint.lower in _WHOSE)]
    # "API" and "PDF" stand for kinds of things.
    return any(one.bare in known and not one.text.isupper() for one in owners)


def _manifold(frame: Frame) -> bool:
    return any(stem(token.bare) in _MANIFOLD for token in frame.reading.tokens)


def _one_of_many(frame: Frame, slot: Slot) -> bool:
    """Whether there may be another one beside it: "a teacher", "has a meeting at 10:00"."""
    if slot.kind in ("date", "month") and not frame.topic_terms & _DATED:
        # What takes place on another day is another one.
        return True
    if slot.kind == "name":
        return _ONE_OF_MANY.search(frame.reading.said) is not None or _manifold(frame)
    return slot.kind in cues.DAYS | {"time"} and _HAPPENING.search(frame.reading.said) is not None


def _both_name_the_one(old: Frame, new: Frame, slot: Slot) -> bool:
    named = slot.kind == "name"
    return named and names_the_one(old, slot.old) and names_the_one(new, slot.new)


def _narrowed(old: Frame, new: Frame, slot: Slot) -> bool:
    """Whether the later one speaks of a part or a case alone: "in CI", "the docs project"."""
    said = old.implied | slot.new_words | set(map(old.term_of, old.reading.tokens))
    places = frozenset(place for _, place in new.scopes)
    if slot.kind == "word" and not slot.ended and slot.new_words - places:
        # Of the words that are new, "trunk in the fork", some are the value and some the place.
        said -= slot.new_words & places
    # What takes the place of a phrase is no further one: "in the barn", "in the hall".
    replaced = {joint for joint, place in old.scopes if place not in new.kept}
    if not new.cued:
        # Without a cue, whom and where it is about may well be said in other words.
        replaced |= {"for", "at"}
    other_place = any(
        joint not in replaced and place not in said | COUNTING for joint, place in new.scopes
    )
    return other_place or any(
        head in old.topic_terms - slot.old_words
        and head not in old.modifiers
        and of_kind.isdisjoint(said)
        for head, of_kind in new.subject_modifiers.items()
    )


def _two_things(old: Frame, new: Frame, slot: Slot) -> bool:
    """Whether something else than the value tells that they are about two things."""
    if _owned_otherwise(old, new) or _designates(old, slot) or _in_another_role(old, new):
        return True
    if any(
        value.kind in _DESIGNATING and key not in slot.old_keys and key not in new.values
        for key, value in old.values.items()
    ):
        return True
    before, after = _about(old, new, slot)
    only_old, only_new = before - after - new.implied, after - before
    if _excluded(only_old, only_new):
        return True
    if (before & _KIN) ^ (after & _KIN) and not _shared_names(old, new):
        return True
    rates = _rates(old), _rates(new)
    if not new.cued and all(rates) and not rates[0] & rates[1]:
        return True
    of_phrases = slot.kind != "word" and _contrasting(
        old.complements, new.complements, only_old, only_new
    )
    return of_phrases or _contrasting(old.modifiers, new.modifiers, only_old, only_new)


def _owned_otherwise(old: Frame, new: Frame) -> bool:
    """Whether one is about somebody, and the other about what or whom they have: "Ann's mother"."""
    here, there = _owning(old), _owning(new)
    return any(
        (here[name] > there[name] and _possessed(old, name).isdisjoint(new.topic_terms))
        or (there[name] and _possessed(new, name).isdisjoint(old.topic_terms))
        or (
            here[name]
            and there[name]
            and _possessed(old, name) & _KIN != _possessed(new, name) & _KIN
        )
        for name in here.keys() & there.keys()
    )


def _possessed(frame: Frame, name: str) -> frozenset[str]:
    """Return the words for what somebody has, as they stand behind the name: "Ann's shoe size"."""
    tokens = frame.reading.tokens
    at = next(at for at, one in enumerate(tokens) if one.bare == name and one.possessive)
    behind = takewhile(lambda one: is_content(one.bare), tokens[at + 1 :])
    return frozenset(map(frame.term_of, behind))


def _owning(frame: Frame) -> dict[str, bool]:
    """Return for each name whether everything said of it is about what it has."""
    found: dict[str, bool] = {}
    before = ""
    for token in frame.reading.tokens:
        # Of "the lesson for Ann" it does not show.
        if token.bare in frame.reading.names and before not in ("for", "of"):
            found[token.bare] = found.get(token.bare, True) and token.possessive
        before = token.lower
    return found


def _designates(frame: Frame, slot: Slot) -> bool:
    """Whether the value says which thing it is about: "issue 41 is open", "gate 12 is closed"."""
    tokens = [token for token in frame.reading.tokens if token.lower not in ("the", "a", "an")]
    return any(
        value.covers(token.start)
        for key, value in frame.values.items()
        if key in slot.old_keys and slot.kind in ("number", "version")
        for token in tokens[1:2]
    )


def _in_another_role(old: Frame, new: Frame) -> bool:
    """Whether one speaks of the former, the acting, the next or a second one."""
    return bool((old.reading.words ^ new.reading.words) & _ANOTHER)


def _rates(frame: Frame) -> frozenset[str]:
    rates = (one.norm for one in frame.reading.values if one.kind == "rate")
    return frozenset(rates) - lexicon.WEEKDAYS - _weekdays()


@cache
def _weekdays() -> frozenset[str]:
    # Not before it is asked for: the first stem takes a dictionary, and a quiet night has none.
    return stemmed(lexicon.WEEKDAYS)


def _shared_names(old: Frame, new: Frame) -> bool:
    return any(new.reading.mentions(name) for name in old.names)


def _contrasting(
    old: Mapping[str, frozenset[str]],
    new: Mapping[str, frozenset[str]],
    only_old: frozenset[str],
    only_new: frozenset[str],
) -> bool:
    """Whether one word goes with something in one and with something else in the other."""
    return any(
        old[word] & only_old and new[word] & only_new and not old[word] & new[word]
        for word in old.keys() & new.keys()
    )


def _alike(old: Frame, new: Frame, slot: Slot) -> bool:
    """Whether both are said in one mood, and both deny or neither does."""
    here, there = old.reading, new.reading
    moods = (
        _both_name_the_one(old, new, slot) or old.moods == new.moods or old.doubted or new.doubted
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


def _excluded(left: frozenset[str], right: frozenset[str]) -> bool:
    """Whether words that exclude each other show that it is about two things."""
    return any(line & left and line & right and not line & left & right for line in _EXCLUSIVE)
