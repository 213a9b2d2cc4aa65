"""Norms: what memories demand, which of them demand one thing, and which say no more than a rule.

Tellings of one rule share few words and have a median cosine of 0.30. What they share is the
demand: what is left of "Never commit without asking", "Ask before committing" and "A commit needs
the user's ok" once the words that only demand are gone. The average of the cosines of these words
and of the sentences tells demands apart far better than either does alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from math import comb, log
from typing import TYPE_CHECKING
from zlib import crc32

from slowwave.consolidation.clustering.groups import find_groups, split_group
from slowwave.consolidation.clustering.neighbours import similar_pairs
from slowwave.consolidation.comparison.guards import certain_conflict
from slowwave.consolidation.comparison.mood import permission
from slowwave.consolidation.comparison.objections import Objection
from slowwave.consolidation.comparison.restating import Likelihood, find_restating
from slowwave.consolidation.proposals import Claim, Draft, Source
from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.demands import EXCEPTING, Demand, demand_of, is_framing, is_order
from slowwave.consolidation.text.reading import Reading, read
from slowwave.consolidation.text.tokens import stem
from slowwave.consolidation.thresholds import (
    ALIKE_VOICES,
    ASKED_VOICES,
    CLEAR_SIMILARITY,
    CONTESTED_DEMANDS,
    DEMAND_SIMILARITY,
    EXTRACT_SOURCES,
    OPPOSED_VOICES,
)

from .composition import with_date, with_full_stop

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# What these object to is how it is demanded, which is told by how often it is turned round.
_DEMANDING_GUARDS = frozenset({"negation", "mood"})
# Into so many columns the words of demands are folded, at random but always the same: without a
# vocabulary, memory does not grow with it.
_COLUMNS = 1_024


def find_demand_groups(texts: Sequence[str], vectors: NDArray[np.float32]) -> list[list[int]]:
    """Return the groups of texts that demand one thing, by their places.

    Where many pairs of a group demand the opposite of each other, none of it is agreed enough to
    be a rule.

    vectors: float32, shape (len(texts), d), unit length.
    """
    import numpy as np

    demands = [demand_of(text) for text in texts]
    both = np.hstack([vectors, _of_words(demands)]) * np.float32(0.5**0.5)
    near = similar_pairs(both, DEMAND_SIMILARITY)
    return [
        [rows[at] for at in undisputed]
        for group in find_groups(both, near, DEMAND_SIMILARITY)
        for rows in _told_apart(both, group)
        if (undisputed := _undisputed(both[rows] @ both[rows].T, [demands[at] for at in rows]))
    ]


def _told_apart(vectors: NDArray[np.float32], group: list[int]) -> list[list[int]]:
    """Split a group in which there are clearly two rules, each with enough voices.

    In a file with few demands, what two rules on one topic share weighs as much as what
    they do not share.
    """
    import numpy as np

    parts = split_group(vectors[group] @ vectors[group].T, CLEAR_SIMILARITY, lambda *_: False)
    rules = [[group[at] for at in part] for part in parts if len(part) >= EXTRACT_SOURCES]
    if len(rules) < 2:
        return [group]
    centres = np.stack([vectors[rule].mean(axis=0) for rule in rules])
    for row in sorted(set(group).difference(*rules)):
        rules[int((centres @ vectors[row]).argmax())].append(row)
    return [sorted(rule) for rule in rules]


def _undisputed(alike: NDArray[np.float32], demands: Sequence[Demand]) -> list[int]:
    """Return the places of those that demand one thing; none where too many are in conflict."""
    conflicts = {
        (one, other)
        for one, other in combinations(range(len(demands)), 2)
        if _in_conflict(demands[one], demands[other])
    }
    if len(conflicts) > CONTESTED_DEMANDS * comb(len(demands), 2):
        return []
    parts = split_group(alike, DEMAND_SIMILARITY, lambda *pair: pair in conflicts)
    # Of what a conflict cuts off, nobody knows whether it is a rule of its own or misread.
    return max(parts, key=len)


def _of_words(demands: Sequence[Demand]) -> NDArray[np.float32]:
    """Return a vector of each demand's words and values, of which rare ones weigh more."""
    import numpy as np

    keys = [{*demand.words, *map(str, demand.core.value_keys)} for demand in demands]
    counts = Counter(key for some in keys for key in some)
    vectors = np.zeros((len(demands), _COLUMNS), dtype=np.float32)
    for row, some in enumerate(keys):
        for key in some:
            lot = crc32(key.encode())
            sign = 1 if lot & 1 else -1
            vectors[row, (lot >> 1) % _COLUMNS] += sign * log(1 + len(demands) / counts[key])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: NDArray[np.float32] = vectors / np.maximum(lengths, np.float32(1e-6))
    return scaled


def _in_conflict(left: Demand, right: Demand) -> bool:
    """Whether two demands that are nearly the same sentence demand different things.

    "Never push untested code" and "always run the tests before a push" are one rule, though one
    denies and the other does not; "push on Fridays" and "don't push on Fridays" are two.
    """
    both, either = left.words & right.words, left.words | right.words
    exceptions = EXCEPTING.search(left.core.said) or EXCEPTING.search(right.core.said)
    opposed = left.turned != right.turned and not exceptions
    if opposed and len(both) >= OPPOSED_VOICES * len(either):
        return True
    if any(permission(left.core, right.core)):
        return True
    if len(both) < ALIKE_VOICES * len(either):
        return False
    conflict = certain_conflict(left.core, right.core)
    return conflict is not None and not _is_of_demanding(conflict)


def _is_of_demanding(conflict: Objection) -> bool:
    """Whether two conflict in how they demand: "not allowed" and "forbidden"."""
    words = f"{conflict.left} {conflict.right}".replace(",", "").split()
    return conflict.guard in _DEMANDING_GUARDS or all(map(is_framing, map(stem, words)))


def choose_voices(sources: Sequence[Source], likelihood: Likelihood) -> list[tuple[int, list[int]]]:
    """Return the voices that may stand for all, each with its supporters, by places, best first.

    sources: sorted by id. A single sentence that demands, each of whose values and names stands in
    as many supporters as a rule needs, and few of whose words stand in fewer: a reason that one
    voice gave is not the rule. Of the likeliest the one that most others only say again.
    """
    candidates = []
    for at, chosen in enumerate(sources):
        rule = demand_of(chosen.text)
        if len(rule.whole.sentences) != 1 or not is_order(rule.whole):
            continue
        supporters = [place for place, one in enumerate(sources) if supports(chosen.text, one)]
        if len(supporters) >= EXTRACT_SOURCES:
            own = _own_words(rule, [sources[place] for place in supporters])
            nearness = sum(float(one.vector @ chosen.vector) for one in sources)
            order = (own, _announced(rule.whole), -nearness, at)
            candidates.append((order, supporters))
    texts = [one.text for one in sources]
    likeliest = [(order[-1], supporters) for order, supporters in sorted(candidates)]
    asked = sorted(
        likeliest[:ASKED_VOICES],
        key=lambda one: -len(find_restating(texts[one[0]], texts, likelihood)),
    )
    return asked + likeliest[ASKED_VOICES:]


def as_rule(voice: Source, supporters: Sequence[Source]) -> Draft:
    """Return what a voice demands as a rule that cites its supporters."""
    ids = tuple(sorted(source.id for source in supporters))
    return Draft((Claim(with_date(voice, with_full_stop(voice.text.strip())), ids),))


def _announced(reading: Reading) -> bool:
    """Whether its text begins with an announcement such as "User said that"."""
    return not lexicon.ANNOUNCING.isdisjoint(token.bare for token in reading.tokens)


def supports(rule: str, source: Source) -> bool:
    """Whether a voice gives all of a rule's values and names."""
    said, reading = demand_of(rule).whole, read(source.text)
    return all(map(reading.holds, said.values)) and all(map(reading.mentions, said.names))


def _own_words(rule: Demand, supporters: Sequence[Source]) -> int:
    """Count the content words that too few supporters use to make them part of the rule."""
    voiced = Counter(word for one in supporters for word in demand_of(one.text).words)
    return sum(voiced[word] < EXTRACT_SOURCES for word in rule.words)
