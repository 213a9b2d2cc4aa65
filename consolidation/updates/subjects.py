"""What two sentences are about, but for the values, and how much of it they share."""

from __future__ import annotations

from slowwave.consolidation.text import lexicon, units
from slowwave.consolidation.thresholds import (
    ATTRIBUTE_WEIGHT,
    SHARED_MATTER,
    WORD_WEIGHT,
)

from .attributes import attribute_of
from .frames import Frame
from .slots import Slot, stemmed

_ORDINALS = frozenset({*lexicon.ORDINALS[:5], "last"})
KIN = frozenset(map(attribute_of, lexicon.KIN))
# What two sentences about one thing need not have in common.
COUNTING = _ORDINALS | KIN


def share_of(of: frozenset[str], shared: frozenset[str]) -> float:
    """Return the share of some words that others make up, by weight."""
    whole = _weight(of)
    return _weight(of & shared) / whole if whole else 0.0


def _weight(words: frozenset[str]) -> int:
    return sum(ATTRIBUTE_WEIGHT if word[0] == "=" else WORD_WEIGHT for word in words)


def subjects_of(old: Frame, new: Frame, slot: Slot) -> tuple[frozenset[str], frozenset[str]]:
    """Return what each is about, but for the values."""
    # "The first Thursday" and "the second Tuesday" are one slot.
    counting = _ORDINALS if slot.kind == "weekday" else frozenset()
    # Whose daughter it is needs no saying once she has a name.
    counting |= KIN - stemmed(old.names) if shared_names(old, new) else frozenset()
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


def common_matter(old: Frame, new: Frame, shared: frozenset[str]) -> int:
    """Count what both are about, the user among it; an attribute alone is no thing."""
    things = names_a_thing(shared) or len(shared) >= SHARED_MATTER
    users = old.of_user and new.of_user
    return len(shared) + users if things or users else 0


def names_a_thing(terms: frozenset[str]) -> bool:
    """Whether one of some terms is a word, and no mere attribute: a price, a job."""
    return any(term[0] not in "=@" for term in terms)


def shared_names(old: Frame, new: Frame) -> bool:
    """Whether the later one mentions a name that the older one has."""
    return any(new.reading.mentions(name) for name in old.names)
