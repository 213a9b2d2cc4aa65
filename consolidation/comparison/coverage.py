"""Does what stays already say what this one says? Asked sentence by sentence.

A sentence is told by others if each of its values and names stands there, if they are as sure of
it and deny as much, if nobody in them could have changed places, and if each of its content words
has one there that means the same: the same stem, or a word that lies near it in this context
(`WordVectors`). Values carry a fact: of sentences that share one with the sentence, words may lie
further away. Without a shared value, only one sentence that is near as a whole may tell it.

Measured, with the thresholds that are named below, in docs/quality.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from slowwave.consolidation import thresholds
from slowwave.consolidation.guards import Objection, objections, say_the_same
from slowwave.consolidation.language.mood import moods_of
from slowwave.consolidation.language.reading import Reading, read
from slowwave.consolidation.language.values import Value
from slowwave.consolidation.replacing.cues import CUE, NO_MORE

from .english import is_english
from .word_vectors import Sense, WordVectors, content_words, stems_in

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Kinds of values that many facts do not share by chance.
_ANCHORS = frozenset(
    {"number", "time", "date", "identifier", "quoted", "path", "url", "host", "version"}
    | {"address", "email", "weekday", "month"}
)
# Of these, a text may name several that do not replace each other.
_SEVERAL = frozenset({"quoted", "path", "identifier", "url", "host", "email", "address"})
# Moods that limit when, how surely or of how many something is so.
_LIMITING = frozenset(
    {"may", "used to", "almost", "unless", "if", "only", "until", "some", "most", "sometimes", "?"}
)
_CONDITIONS = frozenset({"when", "whenever", "once"})
# A mood that may be left out: a date or a time says as much.
_SPARE = frozenset({"will"})
# Where a clause may end that says something by itself.
_CLAUSE_END = re.compile(r",\s+|[;()\u2013\u2014]\s*|\s+(?=(?:so|since|because|and|but)\s)")


@dataclass(frozen=True)
class Gap:
    """What of a sentence the others do not say."""

    # "value", "name", "mood", "denial", "change", "parties", "conflict", "language", "word" or
    # "distance".
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
    "language": "not in English",
    "word": "no word for '{}'",
    "distance": "told in other words",
}


class Coverage:
    """Finds out who tells what a sentence says."""

    def __init__(self, words: WordVectors | None = None) -> None:
        """Take what reads words in their context; by default the packaged model."""
        self._words = words or WordVectors()

    def prepare(self, sentences: Iterable[Reading]) -> None:
        """Read several sentences at once, of which most will be asked about."""
        self._words.prepare(sentences)

    def tellers(self, said: Reading, kept: Sequence[Reading]) -> list[int] | None:
        """Find the fewest of some sentences that together say all that a sentence says.

        Returns their places in `kept`, None if there are none. Raises `EmbedderError`.
        """
        for at, one in enumerate(kept):
            if say_the_same(one, said):
                return [at]
        if not is_english(said):
            return None
        kept = [_affirmed(one, said) for one in kept]
        fit = [at for at, one in enumerate(kept) if _obstacle(said, one) is None]
        anchored = [at for at in fit if _anchors(said, kept[at])]
        single = next((at for at in fit if not self._gaps(said, [kept[at]], at in anchored)), None)
        if single is not None:
            return [single]
        if len(anchored) < 2 or self._gaps(said, [kept[at] for at in anchored], True):
            return None
        return self._fewest(said, kept, anchored)

    def gap(self, said: Reading, teller: Reading) -> Gap | None:
        """Say what one sentence lacks of another; None if it says all of it."""
        if say_the_same(teller, said):
            return None
        if not is_english(said):
            return Gap("language", said.text)
        teller = _affirmed(teller, said)
        obstacle = _obstacle(said, teller)
        return obstacle or next(
            iter(self._gaps(said, [teller], bool(_anchors(said, teller)))), None
        )

    def lacking(self, said: Reading, teller: Reading) -> str:
        """Say in a few words what of one text another one does not say."""
        gap = self.gap(said, teller)
        return _WHY[gap.kind].format(gap.said) if gap is not None else "told in other words"

    def _fewest(self, said: Reading, kept: Sequence[Reading], among: Sequence[int]) -> list[int]:
        """Leave out, one by one, who is not needed, the least near first."""
        whole = self._words.sense(said).whole
        needed = list(among)
        for at in sorted(among, key=lambda at: float(self._words.sense(kept[at]).whole @ whole)):
            rest = [one for one in needed if one != at]
            if rest and not self._gaps(said, [kept[one] for one in rest], True):
                needed = rest
        return needed

    def _gaps(self, said: Reading, tellers: Sequence[Reading], anchored: bool) -> list[Gap]:
        """Say what some sentences, between which nothing stands, do not say of another."""
        told = [*_values_lost(said, tellers), *_names_lost(said, tellers)]
        told += _moods_lost(said, tellers)
        if told:
            return told
        senses = [self._words.sense(one) for one in tellers]
        own = self._words.sense(said)
        nearness = max(float(one.whole @ own.whole) for one in senses)
        least = thresholds.ANCHORED_SENTENCE if anchored else thresholds.TOLD_SENTENCE
        if nearness < least:
            return [Gap("distance", f"{nearness:.2f}")]
        floor = thresholds.ANCHORED_WORD if anchored else thresholds.TOLD_WORD
        return [Gap("word", word) for word in _words_lost(said, own, senses, floor)]


def first_stand(left: Reading, right: Reading) -> Objection | None:
    """Find the first conflict between two texts that keeps them out of one memory.

    A mood is none: "the tests run" and "the tests should run" may stand side by side, since
    neither is left out for the other.
    """
    return next(
        (one for one in objections(left, right) if one.conflict and one.guard != "mood"), None
    )


def _obstacle(said: Reading, teller: Reading) -> Gap | None:
    """Find what keeps one sentence from telling another at all."""
    if changes(teller) and not changes(said):
        return Gap("change", teller.text)
    if bool(said.negators) != bool(teller.negators):
        return Gap("denial", ", ".join(said.negators or teller.negators))
    limited = (moods_of(teller) - moods_of(said)) & _LIMITING
    if limited:
        return Gap("mood", ", ".join(sorted(limited)))
    more = _rivals(said, teller)
    if more:
        return Gap("value", ", ".join(sorted(more)))
    parties = _parties(said) & _parties(teller)
    if len(parties) > 1:
        # Who does it for whom stands in verbs and prepositions that no list of words holds.
        return Gap("parties", ", ".join(sorted(parties)))
    others = _others(said, teller)
    if others:
        return Gap("parties", ", ".join(others))
    turned = _turned(said.actors, teller.actors)
    if turned is not None:
        return Gap("parties", turned)
    stand = first_stand(said, teller)
    return Gap("conflict", stand.why) if stand is not None else None


def changes(reading: Reading) -> bool:
    """Whether a sentence says that something is no longer what it was."""
    return any(cue.search(reading.said) for cue in (CUE, NO_MORE)) or "->" in reading.signs


def _anchors(said: Reading, teller: Reading) -> list[Value]:
    return [one for one in said.values if one.kind in _ANCHORS and teller.holds(one)]


def _rivals(said: Reading, teller: Reading) -> set[str]:
    """Find values of the teller that may stand in the place of one of the sentence's."""
    measures = {one.measure for one in said.values if one.kind not in _SEVERAL}
    return {one.text for one in teller.values if one.measure in measures and not said.holds(one)}


def _parties(reading: Reading) -> frozenset[str]:
    """Find who may be the one who acts, or the other one."""
    return reading.persons | ({"user"} & reading.words)


def _affirmed(reading: Reading, said: Reading) -> Reading:
    """Leave the clauses of a sentence out that deny something else than what another says.

    "Port 80, not 8080" says "port 80"; "the files stay, they are not deleted" does not say that
    they are deleted.
    """
    if said.negators or not reading.denied or not reading.denied.isdisjoint(said.stem_set):
        return reading
    return read(" ".join(one for one in _CLAUSE_END.split(reading.text) if not read(one).negators))


def _others(said: Reading, teller: Reading) -> list[str]:
    """Find what belongs to somebody else there, and names with another number behind them."""
    owners = teller.owners
    of = [one for one, by in said.owners.items() if one in owners and by.isdisjoint(owners[one])]
    here, there = _numbered(said), _numbered(teller)
    return of + [one for one in here.keys() & there.keys() if here[one] != there[one]]


def _numbered(reading: Reading) -> dict[str, set[str]]:
    """Find the plain number behind each name, "" where there is none: "Nubo 2"."""
    found: dict[str, set[str]] = {}
    names = set(reading.names)
    for token, after in zip_longest(reading.tokens, reading.tokens[1:]):
        if token.bare in names and not token.possessive:
            number = after.text if after is not None and after.text.isdigit() else ""
            found.setdefault(token.bare, set()).add(number)
    return found


def _turned(said: Sequence[str], teller: Sequence[str]) -> str | None:
    """Find a word whose neighbours have changed sides: "a calls b" and "b calls a"."""
    between = {(one, other): word for one, word, other in _threes(said)}
    return next(
        (word for one, word, other in _threes(teller) if between.get((other, one)) == word), None
    )


def _threes(words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    return zip(words, words[1:], words[2:], strict=False)


def _values_lost(said: Reading, tellers: Sequence[Reading]) -> list[Gap]:
    lost = (one for one in said.values if not any(teller.holds(one) for teller in tellers))
    return [Gap("value", one.text) for one in lost]


def _names_lost(said: Reading, tellers: Sequence[Reading]) -> list[Gap]:
    lost = (one for one in said.names if not any(teller.mentions(one) for teller in tellers))
    words = _opening_words(said)
    return [Gap("name", one) for one in dict.fromkeys(lost) if one not in words]


def _opening_words(reading: Reading) -> set[str]:
    """Find the words of the dictionary that have a capital only since they open a sentence."""
    import simplemma

    within = {token.bare for token in reading.tokens if not token.starts_sentence}
    opening = {token.bare for token in reading.tokens if token.starts_sentence} - within
    return {word for word in opening if simplemma.is_known(word, lang="en")}


def _moods_lost(said: Reading, tellers: Sequence[Reading]) -> list[Gap]:
    own, told = moods_of(said), frozenset().union(*map(_conditions, tellers))
    if told <= own:
        told |= _SPARE
    if said.normative and any(teller.normative for teller in tellers):
        told |= {"should", "wants to"}
    return [Gap("mood", one) for one in sorted(own - told)]


def _conditions(reading: Reading) -> frozenset[str]:
    """Find the moods of a sentence; "when it fails" is as much a condition as "if it fails"."""
    moods = moods_of(reading)
    return moods | {"if"} if reading.words & _CONDITIONS else moods


def _words_lost(said: Reading, own: Sense, tellers: Sequence[Sense], floor: float) -> list[str]:
    """Find the words of a sentence for which the tellers have none that means the same."""
    import numpy as np

    stems = frozenset().union(*(stem for one in tellers for stem in one.stems))
    words: NDArray[np.float32] = np.vstack([one.words for one in tellers])
    lost = []
    for token, vector in zip(content_words(said), own.words, strict=True):
        if not stems_in(token) & stems and (
            not len(words) or float((words @ vector).max()) < floor
        ):
            lost.append(token.text)
    return lost
