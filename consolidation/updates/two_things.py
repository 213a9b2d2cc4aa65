"""Signs that two sentences are about two things, or the later one about a part only."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import dropwhile, takewhile

from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.tokens import is_content
from slowwave.consolidation.text.verbs import verbs_of

from .attributes import SINGLE, attribute_of
from .frames import Frame
from .slots import Slot, stemmed
from .subjects import COUNTING, KIN, shared_names, subjects_of

# What names a thing by itself.
DESIGNATING = frozenset({"identifier", "path", "host", "url", "address", "email"})
_EXCLUSIVE = tuple(frozenset(map(attribute_of, line)) for line in lexicon.EXCLUSIVE)
# Which of two; "lower" is a verb of change, too, and so no term of a frame.
_SIDES = (frozenset({"upper", "lower"}), frozenset({"inner", "outer"}))
_ANOTHER = frozenset(
    {"former", "acting", "interim", "next", "second", "deputy", "assistant", "vice", "planned"}
)


def narrowed(old: Frame, new: Frame, slot: Slot) -> bool:
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


def about_two_things(old: Frame, new: Frame, slot: Slot) -> bool:
    """Whether something else than the value tells that they are about two things."""
    if _owned_otherwise(old, new) or _designates(old, slot) or _in_another_role(old, new):
        return True
    if _tell_other_attributes(old, new, slot) or _tell_of_others(old, new, slot):
        return True
    if any(
        value.kind in DESIGNATING and key not in slot.old_keys and key not in new.values
        for key, value in old.values.items()
    ):
        return True
    before, after = subjects_of(old, new, slot)
    only_old, only_new = before - after - new.implied, after - before
    if _excluded(only_old, only_new) or _on_two_sides(old, new):
        return True
    if (before & KIN) ^ (after & KIN) and not shared_names(old, new):
        return True
    rates = _rates(old), _rates(new)
    if not new.cued and all(rates) and not rates[0] & rates[1]:
        return True
    of_phrases = slot.kind != "word" and _contrasting(
        old.complements, new.complements, only_old, only_new
    )
    return of_phrases or _contrasting(old.modifiers, new.modifiers, only_old, only_new)


def _tell_other_attributes(old: Frame, new: Frame, slot: Slot) -> bool:
    """Whether each says another thing of it: where Ann lives, and where she now works.

    Not where the later one says that just this changed: "moved" for "lives".
    """
    only_old = old.topic_terms - new.topic_terms - new.implied
    only_new = new.topic_terms - old.topic_terms
    told = {term for term in only_old if term[0] == "="}
    if slot.kind == "word":
        # The verb itself is no value: "the choir sings in Thun", "is now called Cantus".
        told |= only_old & set(map(old.term_of, verbs_of(old.reading.tokens)))
    if not told or SINGLE.isdisjoint(only_new):
        return False
    # In "listens on port 80" and "serves it on port 90" the noun tells what the value is.
    noun = _noun_before(old, slot.old)
    return noun is None or noun != _noun_before(new, slot.new)


def _noun_before(frame: Frame, value: str) -> str | None:
    """Return the word right in front of a value; None if it is no content word."""
    start = frame.reading.said.find(value)
    before = [token for token in frame.reading.tokens if token.start < start]
    return frame.term_of(before[-1]) if before and is_content(before[-1].bare) else None


def _tell_of_others(old: Frame, new: Frame, slot: Slot) -> bool:
    """Whether nothing that one begins with stands in the other: "the door", "the shutters".

    Not where the value itself stands there, but for words: "the cat" is no value of "the book".
    """
    if slot.ended or old.of_user or new.of_user:
        return False
    values = frozenset() if slot.kind == "word" else slot.old_words | slot.new_words
    only_old = old.topic_terms - new.topic_terms - new.implied - values
    only_new = new.topic_terms - old.topic_terms - values
    first, then = _opening_terms(old), _opening_terms(new)
    return bool(first and then) and first <= only_old and then <= only_new


def _opening_terms(frame: Frame) -> set[str]:
    """Return what the first words say, up to a little word behind them."""
    after_article = dropwhile(lambda one: not is_content(one.bare), frame.reading.tokens)
    opening = takewhile(lambda one: is_content(one.bare), after_article)
    return set(map(frame.term_of, opening)) & frame.topic_terms


def _owned_otherwise(old: Frame, new: Frame) -> bool:
    """Whether one is about somebody, and the other about what or whom they have: "Ann's mother"."""
    here, there = _owning(old), _owning(new)
    return any(
        (here[name] > there[name] and _possessed(old, name).isdisjoint(new.topic_terms))
        or (there[name] and _possessed(new, name).isdisjoint(old.topic_terms))
        or (
            here[name]
            and there[name]
            and _possessed(old, name) & KIN != _possessed(new, name) & KIN
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


def _on_two_sides(old: Frame, new: Frame) -> bool:
    """Whether one speaks of the upper thing and the other of the lower one."""
    here, there = old.reading.words, new.reading.words
    return any(line & here and line & there and not line & here & there for line in _SIDES)


def _excluded(left: frozenset[str], right: frozenset[str]) -> bool:
    """Whether words that exclude each other show that it is about two things."""
    return any(line & left and line & right and not line & left & right for line in _EXCLUSIVE)
