"""Norms: what memories demand, which of them demand one thing, and which say no more than a rule.

Tellings of one rule share few words and have a median cosine of 0.30. What they share is the
demand: what is left of "Never commit without asking", "Ask before committing" and "A commit needs
the user's ok" once the words that only demand are gone. The average of the cosines of these words
and of the sentences tells norms apart far better than either does alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from math import comb, log
from typing import TYPE_CHECKING
from zlib import crc32

from .checking.statements import word_set
from .clusters import find_groups, split_group
from .extractive import DATE_MARK, Source, dated, ended
from .guards import certain_conflict
from .language import lexicon
from .language.mood import moods_of, permission
from .language.reading import Reading, read
from .language.tokens import stem
from .neighbours import similar_pairs
from .proposals import Claim, Draft
from .thresholds import (
    ALIKE_VOICES,
    CLEAR_SIMILARITY,
    CONTESTED_NORMS,
    DEMAND_SIMILARITY,
    EXTRACT_SOURCES,
    OPPOSED_VOICES,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@lru_cache(maxsize=1)
def _of_demanding() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Give the stems of who consents, of what only frames a demand, and of what is done with it.

    When first asked for: stems need a dictionary that takes a moment to load.
    """
    framing = lexicon.NORMATIVE | lexicon.DENIALS | lexicon.NEGATORS | lexicon.ANNOUNCING
    groups = (_CONSENTING, _FRAMING | framing, _DOING)
    consenting, frame, doing = (frozenset(map(stem, words)) for words in groups)
    return consenting, frame, doing


# A text without any of these demands nothing, whatever else it says.
_MAY_DEMAND = re.compile(
    r"\b(?:must|should|shall|ought|always|never|not?|nothing|nobody|without|unless|only|first|"
    r"needs?|ha(?:s|ve) to|requires?|required|(?:is|are) to be|wants?|asks?|asked|insist\w*|"
    r"allowed|permitted|please|avoid\w*|forb\w+|prohibit\w+|keep|leave)\b|n['\u2019]t\b|\u2192|->",
    re.IGNORECASE,
)
# These demand it, and do not only tell of it.
_DEMANDS = re.compile(
    r"\b(?:must|should|shall|ought|always|never|avoid|forbidden|prohibited|mandatory|required|"
    r"do not|don't|ha(?:s|ve) to|(?:is|are) (?:not )?to be|(?:only|not) allowed|allowed only|"
    r"may (?:only|not)|under no circumstances|user (?:wants|does not want))\b|"
    r"(?:^|: |\bsa(?:id|ys) )no(?:thing)?\b|"
    r"\bno\b.*\bwithout\b|(?:^|\u2192 |-> )ask\b|\bneeds?\b",
    re.IGNORECASE,
)
# These free from a demand.
_RELEASES = re.compile(
    r"\b(?:no|not|never)\b[^.;]*\b(?:needed|necessary|required|need|ha(?:s|ve) to)\b|"
    r"\bneed not\b|\bdo(?:es)? not must\b",
    re.IGNORECASE,
)
# Who asks and who agrees is one demand, whichever side it is told from.
_CONSENT = "consent"
_CONSENTING = word_set(
    "ask approve approval confirm confirmation permission consent ok okay agree agreement yes"
)
# Verbs that stand for the noun behind them, and words of how a demand was voiced.
_FRAMING = word_set(
    "make do happen take have give get put let keep beforehand first ever again advance prior "
    "annoyed upset cross angry unhappy complained repeated reminded insisted asked wants want "
    "whenever unless circumstances allow allowed need require explicit"
)
# What is done with the thing that is demanded, where one of two does not say it.
_DOING = word_set("add use run write create include")
# What stands behind these is not what stands before them.
_LINKING = re.compile(
    r"\b(before|after|until|unless|without|if|when|instead|rather|than|over|from|to|by|for|in|on)\b"
    r"|[,(] ?(not)\b",
    re.IGNORECASE,
)
# Each of these turns what is demanded round: "never X without Y" demands Y.
_TURNING = re.compile(
    r"\b(?:not|never|no|none|nothing|nobody|avoid\w*|forbid\w*|prohibit\w*|without|unless|until|"
    r"reject\w*|refuse\w*|off limits|lacks?|lacking|another\b[^.;]*\bthan)\b",
    re.IGNORECASE,
)
_EXCEPTING = re.compile(r"\b(?:except\w*|only|apart|but|other than|even)\b", re.IGNORECASE)
# Moods that demanding itself puts a sentence in: they say nothing of when or of what it is true.
_OF_DEMANDS = frozenset(
    {"should", "can", "may", "will", "wants to", "until", "unless", "if", "only"}
)
# What these object to is how it is demanded, which is told by how often it is turned round.
_DEMANDING_GUARDS = frozenset({"negation", "mood"})
# Into so many columns the words of norms are folded, at random but always the same: without a
# vocabulary, memory does not grow with it.
_COLUMNS = 1_024


@dataclass(frozen=True)
class Norm:
    """A text as what it demands."""

    text: str

    @cached_property
    def whole(self) -> Reading:
        """All that it says."""
        return read(DATE_MARK.sub("", self.text))

    @cached_property
    def core(self) -> Reading:
        """The sentences that demand; all of it if none does plainly."""
        plain = [one for one in self.whole.sentences if _is_plain(read(one))]
        return read(" ".join(plain)) if plain else self.whole

    @cached_property
    def plain(self) -> bool:
        """Whether a sentence of it demands something, and does not only tell of it."""
        return any(_is_plain(read(one)) for one in self.whole.sentences)

    @cached_property
    def words(self) -> frozenset[str]:
        """The content words of the demand."""
        return _folded(self.core)

    @cached_property
    def turned(self) -> bool:
        """Whether it forbids what its words say."""
        return len(_TURNING.findall(self.core.said)) % 2 == 1


@lru_cache(maxsize=4_096)
def norm_of(text: str) -> Norm:
    """Take a text as what it demands; the same text is taken once."""
    return Norm(text)


def may_demand(text: str) -> bool:
    """Whether a text may say what ought to be."""
    return _MAY_DEMAND.search(text) is not None


def _is_plain(reading: Reading) -> bool:
    demands = reading.normative or _DEMANDS.search(reading.said) is not None
    # Whoever asks a question demands an answer, and nothing of anyone else.
    demands = demands and "?" not in reading.text
    return demands and not _RELEASES.search(reading.said)


def _orders(reading: Reading) -> bool:
    """Whether it demands in so many words: it opens with an imperative, or says "must"."""
    imperative = reading.normative and reading.words.isdisjoint(lexicon.NORMATIVE)
    demands = imperative or _DEMANDS.search(reading.said) is not None
    return demands and _is_plain(reading)


def _folded(reading: Reading) -> frozenset[str]:
    return frozenset(map(_fold, reading.stem_set)) - _of_demanding()[1]


def _fold(word: str) -> str:
    return _CONSENT if word in _of_demanding()[0] else word


def find_norms(texts: Sequence[str], vectors: NDArray[np.float32]) -> list[list[int]]:
    """Give the groups of texts that demand one thing, by their places.

    Where many pairs of a group demand the opposite of each other, none of it is settled enough to
    be a rule.

    vectors: float32, shape (len(texts), d), unit length.
    """
    import numpy as np

    norms = [norm_of(text) for text in texts]
    both = np.hstack([vectors, _of_words(norms)]) * np.float32(0.5**0.5)
    near = similar_pairs(both, DEMAND_SIMILARITY)
    return [
        [rows[at] for at in settled]
        for group in find_groups(both, near, DEMAND_SIMILARITY)
        for rows in _told_apart(both, group)
        if (settled := _settled(both[rows] @ both[rows].T, [norms[at] for at in rows]))
    ]


def _told_apart(vectors: NDArray[np.float32], group: list[int]) -> list[list[int]]:
    """Part a group in which two rules stand clear of each other, each with voices enough.

    In a file with few norms, what two rules on one topic share weighs as much as what they do not.
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


def _settled(alike: NDArray[np.float32], norms: Sequence[Norm]) -> list[int]:
    """Give the places of those that demand one thing; none where too many are in conflict."""
    conflicts = {
        (one, other)
        for one, other in combinations(range(len(norms)), 2)
        if _in_conflict(norms[one], norms[other])
    }
    if len(conflicts) > CONTESTED_NORMS * comb(len(norms), 2):
        return []
    parts = split_group(alike, DEMAND_SIMILARITY, lambda *pair: pair in conflicts)
    # Of what a conflict cuts off, nobody knows whether it is a rule of its own or misread.
    return max(parts, key=len)


def _of_words(norms: Sequence[Norm]) -> NDArray[np.float32]:
    """Give a vector of each norm's words and values, of which rare ones weigh more."""
    import numpy as np

    keys = [{*norm.words, *map(str, norm.core.value_keys)} for norm in norms]
    counts = Counter(key for some in keys for key in some)
    vectors = np.zeros((len(norms), _COLUMNS), dtype=np.float32)
    for row, some in enumerate(keys):
        for key in some:
            lot = crc32(key.encode())
            sign = 1 if lot & 1 else -1
            vectors[row, (lot >> 1) % _COLUMNS] += sign * log(1 + len(norms) / counts[key])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: NDArray[np.float32] = vectors / np.maximum(lengths, np.float32(1e-6))
    return scaled


def _in_conflict(left: Norm, right: Norm) -> bool:
    """Whether two norms that are nearly the same sentence demand different things.

    "Never push untested code" and "always run the tests before a push" are one rule, though one
    denies and the other does not; "push on Fridays" and "don't push on Fridays" are two.
    """
    both, either = left.words & right.words, left.words | right.words
    exceptions = _EXCEPTING.search(left.core.said) or _EXCEPTING.search(right.core.said)
    opposed = left.turned != right.turned and not exceptions
    if opposed and len(both) >= OPPOSED_VOICES * len(either):
        return True
    if any(permission(left.core, right.core)):
        return True
    if len(both) < ALIKE_VOICES * len(either):
        return False
    conflict = certain_conflict(left.core, right.core)
    return conflict is not None and conflict.guard not in _DEMANDING_GUARDS


def rule_drafts(sources: Sequence[Source]) -> Iterator[Draft]:
    """Give the voices that may stand for all as a rule, each with its supporters, the best first.

    A single sentence that demands, each of whose values and names stands in as many supporters as
    a rule needs, and few of whose words stand in fewer: a reason that one voice gave is not the
    rule. Of equals the one that says as much as the most others.
    """
    candidates = []
    for chosen in sources:
        rule = norm_of(chosen.text)
        if len(rule.whole.sentences) != 1 or not _orders(rule.whole):
            continue
        supporters = [one for one in sources if supports(chosen.text, one)]
        if len(supporters) >= EXTRACT_SOURCES:
            own = _own_words(rule, supporters)
            stays = sum(not restates(chosen.text, one.text) for one in sources)
            nearness = sum(float(one.vector @ chosen.vector) for one in sources)
            order = (own, stays, _announced(rule.whole), -nearness, chosen.id)
            candidates.append((order, chosen, supporters))
    for _, chosen, supporters in sorted(candidates, key=lambda one: one[0]):
        ids = tuple(sorted(source.id for source in supporters))
        yield Draft((Claim(dated(chosen, ended(chosen.text.strip())), ids),))


def _announced(reading: Reading) -> bool:
    """Whether it says that somebody said so."""
    return not lexicon.ANNOUNCING.isdisjoint(token.bare for token in reading.tokens)


def supports(rule: str, source: Source) -> bool:
    """Whether a voice gives all of a rule's values and names."""
    said, reading = norm_of(rule).whole, read(source.text)
    return all(map(reading.holds, said.values)) and all(map(reading.mentions, said.names))


def restates(rule: str, text: str) -> bool:
    """Whether a text demands what a rule demands and says nothing else.

    Both ways: a word more in the text would be lost with it, and a word more in the rule would
    make the demand a smaller one than the text's.
    """
    one, other = norm_of(rule), norm_of(text)
    return (
        one.plain
        and other.plain
        and one.turned == other.turned
        and _same_words(one.whole, other.whole)
        and _same_values(one.whole, other.whole)
        and _marks(one.whole) == _marks(other.whole)
        and not _opposed(one.whole, other.whole)
        and _in_one_order(one.whole, other.whole)
    )


def _same_words(left: Reading, right: Reading) -> bool:
    """Whether two have the same content words; only one of them may name what is done with it."""
    here, there = _folded(left) - _folded(right), _folded(right) - _folded(left)
    return here | there <= _of_demanding()[2] and not (here and there)


def _same_values(left: Reading, right: Reading) -> bool:
    """Whether each has all values and names of the other, where there are several in one order."""
    here, there = (dict.fromkeys(one.key for one in side.stated) for side in (left, right))
    if len(here) > 1 or len(there) > 1:
        same = [*here] == [*there]
    else:
        same = all(map(right.holds, left.values)) and all(map(left.holds, right.values))
    named = {*left.names, *right.names}
    if len(named) > 1:
        return same and _in_text(named, left) == _in_text(named, right)
    return same and all(left.mentions(name) and right.mentions(name) for name in named)


def _in_text(names: set[str], reading: Reading) -> list[str]:
    """Give names in the order in which a text has them, at the head of a sentence, too."""
    return [*dict.fromkeys(token.bare for token in reading.tokens if token.bare in names)]


def _marks(reading: Reading) -> frozenset[str]:
    """Give what says of what, when or how far a demand holds."""
    found = moods_of(reading) - _OF_DEMANDS
    excepting = {"except"} if _EXCEPTING.search(reading.said) else set()
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
    """Give the first content word behind each word that tells two things' order or place."""
    found: dict[str, str] = {}
    for linking in _LINKING.finditer(reading.said):
        words = read(reading.said[linking.end() :])
        first = next((one for one in map(_fold, words.stems) if one not in _of_demanding()[1]), "")
        found[(linking[1] or linking[2]).lower()] = first
    return found


def _own_words(rule: Norm, supporters: Sequence[Source]) -> int:
    """Count the content words that too few supporters use to make them part of the rule."""
    voiced = Counter(word for one in supporters for word in norm_of(one.text).words)
    return sum(voiced[word] < EXTRACT_SOURCES for word in rule.words)
