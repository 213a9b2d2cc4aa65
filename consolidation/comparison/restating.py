"""Which texts say no more than a rule does.

What can be looked up must agree; what the words mean is the network's to say. In a group of texts
that demand the same a denial tells nothing by itself: "never commit without asking" and "ask before
committing" demand one thing. So it is counted how often each turns its words round.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.demands import (
    EXCEPTING,
    Demand,
    demand_of,
    is_framing,
    unify_consent,
)
from slowwave.consolidation.text.reading import Reading, read
from slowwave.consolidation.thresholds import ENTAILED_DEMAND, FEWEST_WORDS

from .coverage_guards import differ_in_a_word
from .mood import moods_of, permission

# How likely it is that what the first of two texts says is entailed by the second.
Likelihood = Callable[[str, str], float]

# What stands behind these is not what stands before them.
_LINKING = re.compile(
    r"\b(before|after|until|unless|without|if|when|instead|rather|than|over|from|to|by|for|in|on)\b"
    r"|[,(] ?(not)\b",
    re.IGNORECASE,
)
# Moods that demanding itself puts a sentence in: they say nothing of when or of what it is true.
_OF_DEMANDS = frozenset(
    {"should", "can", "may", "will", "wants to", "until", "unless", "if", "only"}
)


def find_restating(rule: str, texts: Sequence[str], likelihood: Likelihood) -> list[int]:
    """Return the places of the texts that say no more than a rule does.

    What restates one of these restates the rule, too.
    """
    found: list[int] = []
    open_to = list(range(len(texts)))
    premises = [rule]
    for premise in premises:
        again = [at for at in open_to if restates(premise, texts[at], likelihood)]
        found += again
        premises += [texts[at] for at in again]
        open_to = [at for at in open_to if at not in again]
    return sorted(found)


def restates(rule: str, text: str, likelihood: Likelihood) -> bool:
    """Whether a text demands what a rule demands and says nothing that the rule does not say.

    What can be looked up must agree; what the words mean is the network's to say.
    """
    one, other = demand_of(rule), demand_of(text)
    return (
        one.plain
        and other.plain
        and one.turned == other.turned
        and _holds(one, other)
        and _marks(one.whole) <= _marks(other.whole)
        and not _opposed(one.whole, other.whole)
        and _in_one_order(one.whole, other.whole)
        and not any(permission(one.core, other.core))
        and _is_entailed(rule, text, likelihood)
    )


def may_restate(rule: str, text: str) -> bool:
    """Whether nothing that can be looked up says that a text demands something else than a rule.

    Whether it says no more, the words alone do not tell.
    """
    one, other = demand_of(rule), demand_of(text)
    return (
        one.turned == other.turned
        and _holds(one, other)
        and not _opposed(one.whole, other.whole)
        and not any(permission(one.core, other.core))
    )


def _is_entailed(rule: str, text: str, likelihood: Likelihood) -> bool:
    """Whether a rule has a text's words in their order, or entails it, as the network finds.

    Of two that differ in one word, or in nothing but their order, it knows too little.
    """
    said, premise = demand_of(text).whole, demand_of(rule).whole
    if said.stems == premise.stems:
        return True
    entailed = len(said.stem_set) >= FEWEST_WORDS and differ_in_a_word(said, premise) is None
    return entailed and likelihood(text, rule) >= ENTAILED_DEMAND


def _holds(rule: Demand, text: Demand) -> bool:
    """Whether a rule has all values and names of a text, and those of both in one order.

    What forbids something must have no value more: it would forbid less.
    """
    one, other = rule.whole, text.whole
    if not (all(map(one.holds, other.values)) and all(map(one.mentions, other.names))):
        return False
    if rule.turned and not all(map(other.holds, one.values)):
        return False
    both = one.value_keys & other.value_keys
    here, there = (
        [*dict.fromkeys(value.key for value in side.stated if value.key in both)]
        for side in (one, other)
    )
    named = {name for name in (*one.names, *other.names) if one.mentions(name)}
    return here == there and _in_text(named, one) == _in_text(named, other)


def _in_text(names: set[str], reading: Reading) -> list[str]:
    """Return names in the order in which a text has them, at the head of a sentence, too."""
    return [*dict.fromkeys(token.bare for token in reading.tokens if token.bare in names)]


def _marks(reading: Reading) -> frozenset[str]:
    """Return what says of what, when or how far a demand holds."""
    found = moods_of(reading) - _OF_DEMANDS
    excepting = {"except"} if EXCEPTING.search(reading.said) else set()
    return frozenset(found | excepting | ({"deictic"} if reading.deictic else set()))


def _opposed(left: Reading, right: Reading) -> bool:
    """Whether each has a word that excludes one of the other's, such as "before" and "after"."""
    here = left.words - right.words - lexicon.NORMATIVE
    there = right.words - left.words - lexicon.NORMATIVE
    return any(line & here and line & there for line in lexicon.EXCLUSIVE)


def _in_one_order(left: Reading, right: Reading) -> bool:
    """Whether what stands behind "before", "instead of" and their like is the same in both."""
    here, there = _behind(left), _behind(right)
    return all(here[word] == there[word] for word in here.keys() & there.keys())


def _behind(reading: Reading) -> dict[str, str]:
    """Return the first content word behind each word that tells two things' order or place."""
    found: dict[str, str] = {}
    for linking in _LINKING.finditer(reading.said):
        words = read(reading.said[linking.end() :])
        first = next((one for one in map(unify_consent, words.stems) if not is_framing(one)), "")
        found[(linking[1] or linking[2]).lower()] = first
    return found
