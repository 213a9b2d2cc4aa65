"""Does what stays already say what this one says? Asked sentence by sentence.

A sentence is told by another if each of its values and names stands there, if both are as sure of
it and deny as much, if nobody in them could have changed places, if they differ in nothing that is
meant to the letter, and if each of its content words has one there that means the same: the same
stem, or a word that lies near it in this context (`WordVectors`). Values carry a fact: where both
have one in common, single words may lie further away, and a few weights, fit on texts of our own
(`python -m benchmarks.quality.fit`), say whether all of them together are near enough.

Where words alone do not tell, a network that reads both sentences may (`entailment.py`): it needs
no list of moods, roles or voices, only that no value, name, denial or person speaks against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product, zip_longest
from statistics import fmean
from typing import NamedTuple

from slowwave.consolidation import thresholds
from slowwave.consolidation.guards import Objection, objections, say_the_same
from slowwave.consolidation.language.mood import moods_of
from slowwave.consolidation.language.reading import Reading, read
from slowwave.consolidation.replacing.cues import CUE, NO_MORE

from .english import is_english
from .entailment import Entailment
from .word_vectors import Sense, WordVectors, content_words

# Kinds of values that many facts do not share by chance.
_ANCHORS = frozenset(
    {"number", "time", "date", "identifier", "quoted", "path", "url", "host", "version"}
    | {"address", "email", "weekday", "month"}
)
# Of these, the ones that hardly two facts have in common.
_IDENTIFYING = frozenset(
    {"identifier", "quoted", "path", "url", "host", "email", "address", "version", "date"}
)
# Of these, a text may name several that do not replace each other.
_SEVERAL = frozenset({"quoted", "path", "identifier", "url", "host", "email", "address"})
# What differs by such a guard differs to the letter, or in the time of a verb.
_TO_THE_LETTER = frozenset({"sign", "case", "comma", "literal", "tense"})
# Moods that limit when, how surely or of how many something is so.
_LIMITING = frozenset(
    {"may", "used to", "almost", "unless", "if", "only", "until", "some", "most", "sometimes", "?"}
)
_CONDITIONS = frozenset({"when", "whenever", "once"})
# A mood that may be left out: a date or a time says as much.
_SPARE = frozenset({"will"})
# From so many content words on, more of them say nothing about whether a sentence is told.
_LONG = 10
_LONGER = 15
# With fewer content words a sentence says too little for the network: the rest may limit it.
_FEWEST = 3
# Where a clause may end that says something by itself.
_CLAUSE_END = re.compile(r",\s+|[;()\u2013\u2014]\s*|\s+(?=(?:so|since|because|and|but)\s)")


@dataclass(frozen=True)
class Gap:
    """What of a sentence the others do not say."""

    # A key of `_WHY`.
    kind: str
    # As it stands in the sentence.
    said: str


# What a person is told of a gap.
_WHY = {
    "value": "only one of them says {}",
    "name": "only one of them names {}",
    "mood": "one of them says it with: {}",
    "denial": "one of them denies it: {}",
    "change": "one of them says that it changed",
    "parties": "who does what to whom cannot be told: {}",
    "conflict": "they differ: {}",
    "scope": "one of them limits it",
    "order": "the same words in another order",
    "language": "not in English",
    "word": "no word for '{}'",
    "meaning": "near words, that need not mean the same",
}


class _Limit(NamedTuple):
    """What a sentence takes to be told by the network: how likely, and how near its words."""

    likelihood: float
    words: float


_PLAIN = _Limit(thresholds.ENTAILED, thresholds.NEAR_WORDS)
_ANCHORED = _Limit(thresholds.ENTAILED_ANCHORED, thresholds.NEAR_WORDS_ANCHORED)


class Coverage:
    """Finds out who tells what a sentence says."""

    def __init__(self) -> None:
        """Load nothing yet."""
        self._words = WordVectors()
        self._entailment = Entailment()

    def teller(self, said: Reading, kept: Sequence[Reading]) -> int | None:
        """Find the first of some sentences that says all that another says, by its place.

        Raises `EmbedderError`.
        """
        affirmed = [_affirmed(one, said) for one in kept]
        same = next((at for at, one in enumerate(affirmed) if say_the_same(one, said)), None)
        if same is not None or not is_english(said):
            return same
        left = [at for at, one in enumerate(affirmed) if _lost(said, one) is None]
        # Together they take half the time that they take one after the other.
        self._words.prepare([said, *(affirmed[at] for at in left)] if left else ())
        by_words = (at for at in left if self._untold(said, affirmed[at]) is None)
        told = next((at for at in by_words if not self._doubted(said, affirmed[at])), None)
        if told is not None:
            return told
        open_to = [at for at, one in enumerate(kept) if _opposed(said, one) is None]
        entailed = self._entailed(said, [kept[at] for at in open_to])
        return next((at for at, is_so in zip(open_to, entailed, strict=True) if is_so), None)

    def gap(self, said: Reading, teller: Reading) -> Gap | None:
        """Say what one sentence does not say of another; None if it says all of it.

        Raises `EmbedderError`.
        """
        affirmed = _affirmed(teller, said)
        if say_the_same(affirmed, said):
            return None
        if not is_english(said):
            return Gap("language", said.text)
        gap = _lost(said, affirmed) or self._untold(said, affirmed)
        if gap is None and self._doubted(said, affirmed):
            return Gap("meaning", said.text)
        if (
            gap is not None
            and _opposed(said, teller) is None
            and any(self._entailed(said, [teller]))
        ):
            return None
        return gap

    def lacking(self, said: Reading, teller: Reading) -> str:
        """Say in a few words what of one text another one does not say."""
        gap = self.gap(said, teller)
        return _WHY[gap.kind].format(gap.said) if gap is not None else "told in other words"

    def look_alikes(self, texts: Sequence[Reading]) -> list[tuple[int, int]]:
        """Find pairs of texts that the network takes for one and a guard tells apart, by places.

        They differ in one thing, such as a number or who does it, and are not about one matter.
        Raises `EmbedderError`.
        """
        sentences = [[read(one) for one in text.sentences] for text in texts]
        places = [
            ((at, by), (said.text, teller.text))
            for at, by in permutations(range(len(texts)), 2)
            for said, teller in product(sentences[at], sentences[by])
            if _share_words(said, teller)
            and not say_the_same(said, teller)
            and _differs_in_a_thing(said, teller)
        ]
        likely = self._entailment.likelihoods(pair for _, pair in places)
        found = zip(places, likely, strict=True)
        alike = {place for (place, _), one in found if one >= thresholds.LOOKS_ENTAILED}
        return sorted({(min(pair), max(pair)) for pair in alike})

    def undecided(self, said: Reading, teller: Reading) -> Match | None:
        """Measure two sentences that share a value and of which nothing but words can tell."""
        teller = _affirmed(teller, said)
        if say_the_same(teller, said) or not is_english(said):
            return None
        if _lost(said, teller) or not _anchors(said, teller):
            return None
        return self._match(said, teller)

    def _entailed(self, said: Reading, tellers: Sequence[Reading]) -> list[bool]:
        """Whether the network finds it told by each, where the words of both are near enough.

        On sentences of one person's life the network alone takes for told what is about the same.
        """
        self._words.prepare([said, *tellers] if tellers else ())
        matches = [self._match(said, one) for one in tellers]
        limits = [_ANCHORED if _anchors(said, one) else _PLAIN for one in tellers]
        asked = [at for at, one in enumerate(matches) if one.mean >= limits[at].words]
        likely = self._entailment.likelihoods((said.text, tellers[at].text) for at in asked)
        told = {at for at, one in zip(asked, likely, strict=True) if one >= limits[at].likelihood}
        return [at in told for at in range(len(tellers))]

    def _doubted(self, said: Reading, teller: Reading) -> bool:
        """Whether the network all but rules out what words call told."""
        (likely,) = self._entailment.likelihoods([(said.text, teller.text)])
        return likely < thresholds.DOUBTED

    def _match(self, said: Reading, teller: Reading) -> Match:
        """Measure how near the words of two sentences lie, each where it stands."""
        here, there = self._words.sense(said), self._words.sense(teller)
        return Match(_nearest(here, there), _nearest(there, here), float(here.whole @ there.whole))

    def _untold(self, said: Reading, teller: Reading) -> Gap | None:
        """Find the word that keeps a sentence from being told, where nothing else does."""
        match = self._match(said, teller)
        anchors = _anchors(said, teller)
        if anchors:
            identified = len(anchors) > 1 or anchors[0] in _IDENTIFYING
            score = thresholds.IDENTIFIED_SCORE if identified else thresholds.TOLD_SCORE
            told = match.least >= thresholds.ANCHORED_WORD and match.score >= score
        else:
            near = match.nearness >= thresholds.TOLD_SENTENCE
            told = near and match.least >= thresholds.TOLD_WORD
        if told:
            return None
        words = content_words(said)
        return Gap("word", words[match.told.index(match.least)].text if words else said.text)


@dataclass(frozen=True)
class Match:
    """How near the words of a sentence and those of its teller lie to each other, 0 to 1."""

    # Of each content word of the sentence the nearest of the teller, and the other way round.
    told: tuple[float, ...]
    telling: tuple[float, ...]
    # Of the sentences as a whole.
    nearness: float

    @property
    def least(self) -> float:
        """The word that is told least."""
        return min(self.told, default=1.0)

    @property
    def mean(self) -> float:
        """How near its words are told, all together."""
        return fmean(self.told) if self.told else 1.0

    @property
    def features(self) -> tuple[float, ...]:
        """What `score` weighs: chance words are as near in short sentences, not in long ones."""
        return (
            self.least,
            self.nearness,
            fmean(self.telling) if self.telling else 1.0,
            min(len(self.told), _LONG) / _LONG,
            min(len(self.telling), _LONGER) / _LONGER,
        )

    @property
    def score(self) -> float:
        """The odds, as a logarithm, that a sentence with the same values is told."""
        weighed = zip(thresholds.TOLD_WEIGHTS, self.features, strict=True)
        return sum(weight * feature for weight, feature in weighed) + thresholds.TOLD_BIAS


def first_stand(left: Reading, right: Reading) -> Objection | None:
    """Find the first conflict between two texts that keeps them out of one memory.

    A mood is none: "the tests run" and "the tests should run" may stand side by side, since
    neither is left out for the other.
    """
    return next(
        (one for one in objections(left, right) if one.conflict and one.guard != "mood"), None
    )


@lru_cache(maxsize=65_536)
def _lost(said: Reading, teller: Reading) -> Gap | None:
    """Find what keeps one sentence from telling another, whatever its words mean."""
    lost = _values_lost(said, teller) or _names_lost(said, teller) or _moods_lost(said, teller)
    return lost[0] if lost else _obstacle(said, teller)


@lru_cache(maxsize=65_536)
def _opposed(said: Reading, teller: Reading) -> Gap | None:
    """Find what no network may overrule: values, names, denials, changes, persons, conflicts."""
    if not (is_english(said) and is_english(teller)):
        return Gap("language", said.text)
    lost = _values_lost(said, teller) or _names_lost(said, teller)
    if lost:
        return lost[0]
    if "=" in said.signs or "=" in teller.signs:
        # What is assigned is meant to the letter.
        return Gap("value", said.text)
    if not any(one.kind == "date" for one in said.values):
        # What is so on one day is not so on every day.
        dates = [one.text for one in teller.values if one.kind == "date"]
        if dates:
            return Gap("value", ", ".join(dates))
    against = _against(said, teller)
    if against is not None:
        return against
    if len(said.stem_set) < _FEWEST:
        return Gap("scope", said.text)
    return None


def _obstacle(said: Reading, teller: Reading) -> Gap | None:
    """Find what keeps one sentence from telling another as far as words can say."""
    limited = (moods_of(teller) - moods_of(said)) & _LIMITING
    if limited:
        return Gap("mood", ", ".join(sorted(limited)))
    against = _against(said, teller)
    if against is not None:
        return against
    if said.stem_set == teller.stem_set:
        return Gap("order", teller.text)
    others = _others(said, teller)
    if others:
        return Gap("parties", ", ".join(others))
    turned = _turned(said.actors, teller.actors)
    if turned is None and said.passive != teller.passive:
        turned = "by"
    if turned is not None:
        return Gap("parties", turned)
    return None


def _against(said: Reading, teller: Reading) -> Gap | None:
    """Find what keeps one sentence from telling another, whoever finds it told."""
    if changes(teller) and not changes(said):
        return Gap("change", teller.text)
    if bool(said.negators) != bool(teller.negators) or _deny_others(said, teller):
        return Gap("denial", ", ".join(said.negators or teller.negators))
    more = _rivals(said, teller)
    if more:
        return Gap("value", ", ".join(sorted(more)))
    parties = _parties(said, teller)
    if len(parties) > 1:
        # Who does it for whom stands in verbs and prepositions that no list of words holds.
        return Gap("parties", ", ".join(sorted(parties)))
    numbered = _otherwise_numbered(said, teller)
    if numbered:
        return Gap("value", ", ".join(numbered))
    if said.stem_set == teller.stem_set and said.value_keys == teller.value_keys:
        # All that differs is order and little words, which is for the guards to tell.
        return Gap("order", teller.text)
    here, there = said.stem_set - teller.stem_set, teller.stem_set - said.stem_set
    if len(here) == len(there) == 1:
        # In one sentence "left" and "right" lie as near each other as any two words for one thing.
        return Gap("word", ", ".join(said.spelled(here)))
    if _qualified(said.stems, teller.stems):
        return Gap("scope", teller.text)
    both = said.words & teller.words
    found = (one for one in objections(said, teller) if _is_exact(one, both))
    return next((Gap("conflict", one.why) for one in found), None)


def _deny_others(said: Reading, teller: Reading) -> bool:
    """Whether both deny, and nothing that both deny: "no ban on it", "it may not run"."""
    return bool(said.negators) and said.denied.isdisjoint(teller.denied)


def _differs_in_a_thing(said: Reading, teller: Reading) -> bool:
    """Whether one gives another value or number, or denies what the other says."""
    gap = _against(said, teller)
    return gap is not None and gap.kind in ("value", "denial")


def _share_words(said: Reading, teller: Reading) -> bool:
    """Whether two sentences have half of the longer one's words in common."""
    most = max(len(said.stem_set), len(teller.stem_set))
    return 2 * len(said.stem_set & teller.stem_set) >= most > 0


def _is_exact(one: Objection, both: frozenset[str]) -> bool:
    """Whether two texts differ in more than their words; both: the words that stand in both."""
    if one.guard == "name" and not both.isdisjoint((one.left or one.right).split(", ")):
        return True  # "Mark is done", "the mark is done"
    return (one.conflict and one.guard != "mood") or one.guard in _TO_THE_LETTER


def changes(reading: Reading) -> bool:
    """Whether a sentence says that something is no longer what it was."""
    return any(cue.search(reading.said) for cue in (CUE, NO_MORE)) or "->" in reading.signs


def _anchors(said: Reading, teller: Reading) -> list[str]:
    """Find the kinds of the values that both have and that few facts share by chance."""
    shared = {one.key: one.kind for one in said.values if teller.holds(one)}
    return [kind for kind in shared.values() if kind in _ANCHORS]


def _rivals(said: Reading, teller: Reading) -> set[str]:
    """Find values of the teller that may stand in the place of one of the sentence's."""
    measures = {one.measure for one in said.values if one.kind not in _SEVERAL}
    return {one.text for one in teller.values if one.measure in measures and not said.holds(one)}


def _parties(said: Reading, teller: Reading) -> frozenset[str]:
    """Find who may be the one who acts, or the other one; a name may open one of the sentences."""
    persons = (said.persons - _opening_words(said)) | (teller.persons - _opening_words(teller))
    return (persons | {"user"}) & said.words & teller.words


def _affirmed(reading: Reading, said: Reading) -> Reading:
    """Leave the clauses of a sentence out that deny something else than what another says.

    "Port 80, not 8080" says "port 80"; "the files stay, they are not deleted" does not say that
    they are deleted.
    """
    if said.negators or not reading.negators or not reading.denied.isdisjoint(said.stem_set):
        return reading
    return read(" ".join(one for one in _CLAUSE_END.split(reading.text) if not read(one).negators))


def _others(said: Reading, teller: Reading) -> list[str]:
    """Find what belongs to somebody else there."""
    owners = teller.owners
    of = [one for one, by in said.owners.items() if one in owners and by.isdisjoint(owners[one])]
    return of + sorted(_parties(said, teller) & (_owning(said) ^ _owning(teller)))


def _otherwise_numbered(said: Reading, teller: Reading) -> list[str]:
    """Find names with another number behind them."""
    here, there = _numbered(said), _numbered(teller)
    return sorted(one for one in here.keys() & there.keys() if here[one] != there[one])


def _owning(reading: Reading) -> frozenset[str]:
    """Find who only owns what acts: "Audrey's dogs love hikes" does not say that Audrey does."""
    owners = {token.bare for token in reading.tokens if token.possessive}
    return frozenset(owners - {token.bare for token in reading.tokens if not token.possessive})


def _numbered(reading: Reading) -> dict[str, set[str]]:
    """Find the plain number behind each name, "" where there is none: "Nubo 2"."""
    found: dict[str, set[str]] = {}
    names = set(reading.names)
    for token, after in zip_longest(reading.tokens, reading.tokens[1:]):
        if token.bare in names and not token.possessive:
            number = after.text if after is not None and after.text.isdigit() else ""
            found.setdefault(token.bare, set()).add(number)
    return found


def _qualified(said: Sequence[str], teller: Sequence[str]) -> bool:
    """Whether a teller has the same words with others among them: "API access", "API write access".

    Words before or behind them add a clause or an announcement; words among them limit.
    """
    if len(said) < 2 or len(teller) <= len(said) or set(said) - set(teller):
        return False
    places = [teller.index(word) for word in said]
    return places == sorted(places) and places[-1] - places[0] >= len(said)


def _turned(said: Sequence[str], teller: Sequence[str]) -> str | None:
    """Find a word whose neighbours have changed sides: "a calls b" and "b calls a"."""
    between = {(one, other): word for one, word, other in _threes(said)}
    return next(
        (word for one, word, other in _threes(teller) if between.get((other, one)) == word), None
    )


def _threes(words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    return zip(words, words[1:], words[2:], strict=False)


def _values_lost(said: Reading, teller: Reading) -> list[Gap]:
    return [Gap("value", one.text) for one in said.values if not teller.holds(one)]


def _names_lost(said: Reading, teller: Reading) -> list[Gap]:
    lost = dict.fromkeys(one for one in said.names if not teller.mentions(one))
    words = _opening_words(said) if lost else set()
    return [Gap("name", one) for one in lost if one not in words]


def _opening_words(reading: Reading) -> set[str]:
    """Find the words of the dictionary that have a capital only since they open a sentence."""
    import simplemma

    within = {token.bare for token in reading.tokens if not token.starts_sentence}
    opening = {token.bare for token in reading.tokens if token.starts_sentence} - within
    return {word for word in opening if simplemma.is_known(word, lang="en")}


def _moods_lost(said: Reading, teller: Reading) -> list[Gap]:
    own, told = moods_of(said), _conditions(teller)
    if told <= own:
        told |= _SPARE
    if said.normative and teller.normative:
        told |= {"should", "wants to"}
    return [Gap("mood", one) for one in sorted(own - told)]


def _conditions(reading: Reading) -> frozenset[str]:
    """Find the moods of a sentence; "when it fails" is as much a condition as "if it fails"."""
    moods = moods_of(reading)
    return moods | {"if"} if reading.words & _CONDITIONS else moods


def _nearest(here: Sense, there: Sense) -> tuple[float, ...]:
    """Find how near each word of one sentence lies to one of another; the same stem is 1."""
    if not len(there.words):
        return (0.0,) * len(here.words)
    stems = frozenset().union(*there.stems)
    nearest = (here.words @ there.words.T).max(axis=1, initial=0.0).tolist()
    return tuple(
        1.0 if own & stems else near for own, near in zip(here.stems, nearest, strict=True)
    )
