"""Why one sentence does not entail another, whatever the network says.

What can be looked up, and no network may overrule: values, names, denials, changes, two persons who
could have changed places, and what is meant to the letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest

from slowwave.consolidation import thresholds
from slowwave.consolidation.text.cues import CUE, NO_MORE
from slowwave.consolidation.text.demands import demand_of
from slowwave.consolidation.text.english import is_english
from slowwave.consolidation.text.reading import Reading, read

from .acting import other_party, writers
from .guards import objections
from .mood import moods_of
from .objections import Objection

# Kinds of values that many facts do not share by chance; a month is shared by all of a season.
_ANCHORS = frozenset(
    {"number", "time", "date", "identifier", "quoted", "path", "url", "host", "version"}
    | {"address", "email", "weekday"}
)
# Of these, a text may name several that do not replace each other.
_SEVERAL = frozenset({"quoted", "path", "identifier", "url", "host", "email", "address"})
# What differs by such a guard differs to the letter, or in the time of a verb.
_TO_THE_LETTER = frozenset({"sign", "case", "comma", "literal", "tense"})
# Moods that limit when or how surely something is so.
_LIMITING = frozenset({"may", "used to", "almost", "unless", "if", "until", "?"})
# A case in which alone something is so.
_CASE = re.compile(r"\b(?:if|unless|provided(?: that)?|in case) (?P<case>[^,;.]+)", re.IGNORECASE)
# Where a clause may end that says something by itself.
_CLAUSE_END = re.compile(r",\s+|[;()\u2013\u2014]\s*|\s+(?=(?:so|since|because|and|but)\s)")


@dataclass(frozen=True)
class Gap:
    """What of a sentence the others do not say."""

    # What kind of thing it is, see `WHY`.
    kind: str
    # As it stands in the sentence.
    said: str


# What a person reads of a gap.
WHY = {
    "value": "only one of them says {}",
    "name": "only one of them names {}",
    "denial": "one of them denies it: {}",
    "change": "one of them says that it changed",
    "parties": "who does what to whom cannot be told: {}",
    "conflict": "they differ: {}",
    "scope": "one of them limits it",
    "order": "the same words in another order",
    "language": "not in English",
    "word": "one word differs: {}",
    "words": "other words, that need not mean the same",
}


@lru_cache(maxsize=65_536)
def find_gap(said: Reading, premise: Reading) -> Gap | None:
    """Find what no network may overrule: values, names, denials, changes, persons, conflicts."""
    if not (is_english(said) and is_english(premise)):
        return Gap("language", said.text)
    lost = _values_lost(said, premise) or _names_lost(said, premise)
    if lost:
        return lost[0]
    if "=" in said.signs or "=" in premise.signs:
        # What is assigned is meant to the letter.
        return Gap("value", said.text)
    if not any(one.kind == "date" for one in said.values):
        # What is so on one day is not so on every day.
        dates = [one.text for one in premise.values if one.kind == "date"]
        if dates:
            return Gap("value", ", ".join(dates))
    if _adds_a_case(said, premise):
        # What is so in some case only is not said to be so.
        return Gap("scope", premise.text)
    against = _against(said, premise)
    if against is not None:
        return against
    if len(said.stem_set) < thresholds.FEWEST_WORDS:
        return Gap("scope", said.text)
    pivot = _pivot_word(said, premise)
    return Gap("parties", pivot) if pivot is not None else None


def first_blocking_conflict(left: Reading, right: Reading) -> Objection | None:
    """Find the first conflict between two texts that keeps them out of one memory.

    A mood is none: "the tests run" and "the tests should run" may stand side by side, since
    neither is left out for the other.
    """
    return next(
        (one for one in objections(left, right) if one.conflict and one.guard != "mood"), None
    )


def differ_in_a_thing(said: Reading, premise: Reading) -> bool:
    """Whether one gives another value or number, or denies what the other says."""
    gap = _against(said, premise)
    return gap is not None and gap.kind in ("value", "denial")


def differ_in_a_word(said: Reading, premise: Reading) -> Gap | None:
    """Find the one word in which two differ, or that it is only their order."""
    if said.stem_set == premise.stem_set and said.value_keys == premise.value_keys:
        # All that differs is order and little words, which is for the guards to tell.
        return Gap("order", premise.text)
    here, there = said.stem_set - premise.stem_set, premise.stem_set - said.stem_set
    if len(here) == len(there) == 1:
        # In one sentence "left" and "right" lie as near each other as any two words for one thing.
        return Gap("word", ", ".join(said.spelled(here)))
    return None


def share_an_anchor(said: Reading, premise: Reading) -> bool:
    """Whether both have a value that few facts share by chance: it carries the fact."""
    return any(one.kind in _ANCHORS and premise.holds(one) for one in said.values)


def limiting_phrases(reading: Reading) -> frozenset[str]:
    """Find what limits when or how surely a sentence is so."""
    return moods_of(reading) & _LIMITING


def _adds_a_case(said: Reading, premise: Reading) -> bool:
    """Whether a sentence is so in a case only that another says nothing of, in whichever words."""
    if _CASE.search(premise.text) is None or _CASE.search(said.text):
        return False
    clauses = premise.text.split(";")
    telling = max(clauses, key=lambda one: len(read(one).stem_set & said.stem_set))
    case = _CASE.search(telling)
    if case is None:
        return False
    named = read(case["case"]).stem_set
    return len(named - said.stem_set) > len(named) / 2


def share_a_subject(said: Reading, premise: Reading) -> bool:
    """Whether both name one person or begin with one word: of that, much else may be said."""
    return said.stems[:1] == premise.stems[:1] or not _parties(said, premise) <= {"user"}


def without_other_denials(reading: Reading, said: Reading) -> Reading:
    """Remove the clauses that deny something else than what another sentence says.

    "Port 80, not 8080" says "port 80"; "the files stay, they are not deleted" does not say that
    they are deleted.
    """
    if said.negators or not reading.negators or not reading.denied.isdisjoint(said.stem_set):
        return reading
    return read(" ".join(one for one in _CLAUSE_END.split(reading.text) if not read(one).negators))


def _against(said: Reading, premise: Reading) -> Gap | None:
    """Find what keeps one sentence from telling another, whatever a network says."""
    if _changes(premise) and not _changes(said):
        return Gap("change", premise.text)
    if _denies(said, premise):
        return Gap("denial", ", ".join(said.negators or premise.negators))
    more = _rivals(said, premise)
    if more:
        return Gap("value", ", ".join(sorted(more)))
    parties = _parties(said, premise)
    if len(parties) > 1:
        # Who does it for whom stands in verbs and prepositions that no list of words holds.
        return Gap("parties", ", ".join(sorted(parties)))
    other = other_party(said, premise)
    if other is not None:
        return Gap("parties", other)
    numbered = _otherwise_numbered(said, premise)
    if numbered:
        return Gap("value", ", ".join(numbered))
    a_word = differ_in_a_word(said, premise)
    if a_word is not None:
        return a_word
    if _qualified(said.stems, premise.stems):
        return Gap("scope", premise.text)
    both = said.words & premise.words
    found = (one for one in objections(said, premise) if _is_exact(one, both))
    return next((Gap("conflict", one.why) for one in found), None)


def _pivot_word(said: Reading, premise: Reading) -> str | None:
    """Find the one word on which it hangs who does what to whom.

    Its neighbours have changed sides: "a calls b" and "b calls a". Or it is all that a sentence
    has of its own, between words of both: "a depends on b" and "a is a prerequisite for b".
    """
    between = {(one, other): word for one, word, other in _threes(said.actors)}
    for one, word, other in _threes(premise.actors):
        if between.get((other, one)) == word:
            return word
    own = [word for word in said.stems if word not in premise.stem_set]
    if len(own) != 1 or own[0] in (said.stems[0], said.stems[-1]) or share_an_anchor(said, premise):
        return None
    return said.spelled(own)[0]


def _threes(words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    return zip(words, words[1:], words[2:], strict=False)


def _denies(said: Reading, premise: Reading) -> bool:
    """Whether one denies what the other says, or another thing.

    "Ask before a push" and "never push without asking" demand one thing.
    """
    if bool(said.negators) == bool(premise.negators) and not _deny_others(said, premise):
        return False
    one, other = demand_of(said.text), demand_of(premise.text)
    return not (one.plain and other.plain and one.turned == other.turned)


def _deny_others(said: Reading, premise: Reading) -> bool:
    """Whether both deny, and nothing that both deny: "no ban on it", "it may not run"."""
    return bool(said.negators) and said.denied.isdisjoint(premise.denied)


def _is_exact(one: Objection, both: frozenset[str]) -> bool:
    """Whether two texts differ in more than their words; both: the words that stand in both."""
    if one.guard == "name" and not both.isdisjoint((one.left or one.right).split(", ")):
        return True  # "Mark is done", "the mark is done"
    return (one.conflict and one.guard != "mood") or one.guard in _TO_THE_LETTER


def _changes(reading: Reading) -> bool:
    """Whether a sentence says that something is no longer what it was."""
    return any(cue.search(reading.said) for cue in (CUE, NO_MORE)) or "->" in reading.signs


def _rivals(said: Reading, premise: Reading) -> set[str]:
    """Find values of the premise that may stand in the place of one of the sentence's."""
    measures = {one.measure for one in said.values if one.kind not in _SEVERAL}
    return {one.text for one in premise.values if one.measure in measures and not said.holds(one)}


def _parties(said: Reading, premise: Reading) -> frozenset[str]:
    """Find who may be the one who acts, or the other one; a name may open one of the sentences.

    Of who writes only "we" and "us" count: "our" stands in many sentences, and does nothing.
    """
    persons = (said.persons - _opening_words(said)) | (premise.persons - _opening_words(premise))
    named = (persons | {"user"}) & said.words & premise.words
    return named | (writers(said) & writers(premise))


def _otherwise_numbered(said: Reading, premise: Reading) -> list[str]:
    """Find names with another number behind them."""
    here, there = _numbered(said), _numbered(premise)
    return sorted(one for one in here.keys() & there.keys() if here[one] != there[one])


def _numbered(reading: Reading) -> dict[str, set[str]]:
    """Find the plain number behind each name, "" where there is none: "Nubo 2"."""
    found: dict[str, set[str]] = {}
    names = set(reading.names)
    for token, after in zip_longest(reading.tokens, reading.tokens[1:]):
        if token.bare in names and not token.possessive:
            number = after.text if after is not None and after.text.isdigit() else ""
            found.setdefault(token.bare, set()).add(number)
    return found


def _qualified(said: Sequence[str], premise: Sequence[str]) -> bool:
    """Whether a premise has the same words and others among them: "API access", "API write access".

    Words before or behind them add a clause or an announcement; words among them limit.
    """
    if len(said) < 2 or len(premise) <= len(said) or set(said) - set(premise):
        return False
    places = [premise.index(word) for word in said]
    return places == sorted(places) and places[-1] - places[0] >= len(said)


def _values_lost(said: Reading, premise: Reading) -> list[Gap]:
    return [Gap("value", one.text) for one in said.values if not premise.holds(one)]


def _names_lost(said: Reading, premise: Reading) -> list[Gap]:
    lost = dict.fromkeys(one for one in said.names if not premise.mentions(one))
    words = _opening_words(said) if lost else frozenset()
    return [Gap("name", one) for one in lost if one not in words]


@lru_cache(maxsize=65_536)
def _opening_words(reading: Reading) -> frozenset[str]:
    """Find the words of the dictionary that have a capital only since they open a sentence."""
    import simplemma

    within = {token.bare for token in reading.tokens if not token.starts_sentence}
    opening = {token.bare for token in reading.tokens if token.starts_sentence} - within
    return frozenset(word for word in opening if simplemma.is_known(word, lang="en"))
