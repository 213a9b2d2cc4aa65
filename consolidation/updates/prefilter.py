"""Whether two sentences are worth reading in full for an old and a new value.

Each condition here is one that `compare` cannot do without, put to what is kept of the sentences.
It is for speed alone: no pair of which `compare` would say that something changed is passed over.
"""

from __future__ import annotations

from slowwave.consolidation.thresholds import (
    ATTRIBUTE_WEIGHT,
    CUED_MATTER,
    PLAIN_MATTER,
    SHARED_MATTER,
    TURNED_TOPIC,
    WHOLE_TOPIC,
    WORD_WEIGHT,
)

from .attributes import SINGLE
from .sentence_features import (
    ADDS,
    CUED,
    GIVES_UP,
    IN_WORDS,
    NEWS,
    OF_USER,
    PRICED,
    REPORTED,
    WAS,
    SentenceFeatures,
)
from .slots import MOST_PHRASE_WORDS, stemmed
from .subjects import COUNTING

# Shares are counted here: one by weight is never more than one by number, times this.
_MOST = WORD_WEIGHT / ATTRIBUTE_WEIGHT
_TURNED = min(TURNED_TOPIC, CUED_MATTER) / _MOST
_CUED = CUED_MATTER / _MOST
_HERE = min(PLAIN_MATTER, WHOLE_TOPIC) / _MOST
_THERE = min(PLAIN_MATTER, CUED_MATTER) / _MOST


def worth_comparing(old: SentenceFeatures, new: SentenceFeatures) -> bool:
    """Whether a later sentence may give something another value than an earlier one."""
    reported = REPORTED in old.marks and REPORTED in new.marks
    if ADDS in old.marks or not (reported or (WAS in old.marks and NEWS in new.marks)):
        return False
    ended = _may_name_the_ended(old, new)
    renamed = bool(old.names - new.names and new.names - old.names)
    revalued = bool(old.values - new.values and new.values - old.values)
    if _reworded(old, new):
        return True
    return (ended or renamed or revalued) and _about_one_thing(old, new, ended)


def _reworded(old: SentenceFeatures, new: SentenceFeatures) -> bool:
    """Whether what there is one of at a time may be said to be something else in plain words."""
    shared = old.topic_terms & new.topic_terms
    apart = len(old.topic_terms - shared), len(new.topic_terms - shared)
    alike = len(shared) >= SHARED_MATTER and 0 < min(apart) <= max(apart) <= MOST_PHRASE_WORDS
    return alike and not shared.isdisjoint(SINGLE)


def _may_name_the_ended(old: SentenceFeatures, new: SentenceFeatures) -> bool:
    given_up = GIVES_UP in new.marks and not (
        old.values.isdisjoint(new.values) and old.names.isdisjoint(new.names)
    )
    return given_up or IN_WORDS in new.marks


def _about_one_thing(old: SentenceFeatures, new: SentenceFeatures, ended: bool) -> bool:
    priced = frozenset({"=price"} if PRICED in old.marks else ())
    before, after = old.topic_terms | priced, new.topic_terms | priced
    users = OF_USER in old.marks and OF_USER in new.marks
    if ended:
        shared = before & (after | new.implied)
        return users or (bool(shared) and len(shared) >= _TURNED * len(old.core))
    cued = CUED in new.marks
    shared = before & (after | new.implied) if cued else before & after
    # One word may be all that there is to it: "the coach is Ann", "current sprint: 42".
    if not shared or len(shared) + users < SHARED_MATTER - 1 or ADDS in new.marks:
        return False
    here = len(shared) / len(shared | _certainly(before, old.names - new.names))
    if cued:
        return here >= _CUED
    there = len(shared) / len(shared | _certainly(after, new.names - old.names))
    return here >= _HERE and there >= _THERE


def _certainly(topic_terms: frozenset[str], names: frozenset[str]) -> frozenset[str]:
    """Return the words that count for what a sentence is about whichever names are the value."""
    return topic_terms - COUNTING - stemmed(names)
