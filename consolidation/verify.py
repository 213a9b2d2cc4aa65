"""Does a draft say what its sources say, all of it, and nothing else? Decided without a model.

Every check is on the text: what a rule can read (values, names, denials, roles) must agree both
ways. Whoever wrote the draft, it passes here or is not written to the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from . import lexicon
from .extractive import DATE_MARK, Source
from .guards import certain_conflict
from .instructions import obeyed
from .objections import Objection
from .parties import out_of_order, turned
from .places import exchanged
from .proposals import Claim, Draft, Operation
from .reading import Reading, read
from .retelling import Retelling, Told
from .roles import direction, owners
from .stance import (
    denials_lost,
    denied_otherwise,
    lines_of,
    moods_lost,
    on_whose_word,
    said_otherwise,
)
from .statements import word_set
from .thresholds import DRAFT_SIMILARITY, EXTRACT_SOURCES
from .tokens import stem
from .values import Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PRONOUNS = word_set("he she him her his hers i you my your they them")
_THIS_YEAR = re.compile(r"\bthis year\b", re.IGNORECASE)
# Behind these "the two" acts, and is no number of anything.
_ACTING = re.compile(r" (?:are|were|have|had|will|would|can|could|may|might|must|should|do|did)\b")
# Of the sources of a rule more than this share must have a value or a name for the rule to give it;
# and what so many have, the rule must not leave out.
MOST_VOICES = 0.5
# A word that so many of them say is what the rule is about.
ALL_VOICES = 0.75


def find_faults(draft: Draft, sources: Sequence[Source], operation: Operation) -> list[str]:
    """Give what is wrong with a draft, a sentence each; none if it may be written.

    Checks that each claim cites given sources only, that nothing in it is invented or moved to
    where it is not true, that a synthesis loses nothing, that a rule has its supporters, that no
    order in a source is taken for a fact, and that the draft is not longer than what it stands for.
    """
    known = {source.id: source for source in sources}
    faults = list(_structure(draft, known))
    if faults:
        return faults
    for claim in draft.claims:
        faults += _invented(claim, [known[one] for one in claim.sources])
    retelling = Retelling(
        [(_bare(claim.text), claim.sources) for claim in draft.claims],
        {source.id: _bare(source.text) for source in sources},
    )
    faults += _retold(retelling, operation)
    if operation == "extract":
        faults += _unsupported(draft, known, retelling)
    else:
        faults += _lost(draft, sources)
        faults += _untold(retelling)
    if len(DATE_MARK.sub("", draft.text)) > sum(len(source.text) + 2 for source in sources):
        faults.append("the draft is longer than its sources together")
    return list(dict.fromkeys(faults))


def find_distance(draft_vector: NDArray[np.float32], sources: Sequence[Source]) -> list[str]:
    """Give the fault of a draft that lies too far from one of its sources, if there is one.

    draft_vector: float32, shape (d,), unit length, of the same model as the sources' vectors.
    """
    nearness = min(float(source.vector @ draft_vector) for source in sources)
    if nearness >= DRAFT_SIMILARITY:
        return []
    return [f"the draft has a similarity of only {nearness:.2f} to one of its sources"]


def find_loss(staying: str, leaving: Sequence[str]) -> list[str]:
    """Give what would be lost if `staying` stood for the texts in `leaving` too."""
    faults = []
    for text in leaving:
        conflict = certain_conflict(read(staying), read(text))
        if conflict is not None:
            faults.append(f"the two differ in a {conflict.guard}: {conflict.why}")
        faults += [f"loses {lost}" for lost in _missing(read(text), [read(staying)])]
    return faults


def _structure(draft: Draft, known: Mapping[str, Source]) -> Iterator[str]:
    if not draft.claims or not all(claim.text.strip() for claim in draft.claims):
        yield "the draft says nothing"
    for claim in draft.claims:
        if not claim.sources:
            yield f"a claim cites no source: {_short(claim.text)}"
        for cited in claim.sources:
            if cited not in known:
                yield f"a claim cites an id that was not given: {cited}"


def _invented(claim: Claim, cited: Sequence[Source]) -> Iterator[str]:
    reading = _unmarked(claim.text)
    readings = [_unmarked(source.text) for source in cited]
    yield from _misdated(claim, cited)
    for invented in _missing(reading, readings):
        yield f"invents {invented}"
    yield from _foreign_words(reading, readings)


def _unmarked(text: str) -> Reading:
    """Read a text without the days on which its sentences were said."""
    return read(_bare(text))


def _bare(text: str) -> str:
    return DATE_MARK.sub("", text)


def _misdated(claim: Claim, cited: Sequence[Source]) -> Iterator[str]:
    marks = list(DATE_MARK.finditer(claim.text))
    known = {source.observed_at[:10] for source in cited if read(source.text).deictic}
    known.update(*(_days(DATE_MARK.finditer(source.text)) for source in cited))
    # Since when something is so, or until when it was, is when it was first said.
    said = known.union(source.observed_at[:10] for source in cited)
    for mark in marks:
        spanning = mark[2] is not None or mark[0].startswith("[since")
        for day in sorted(_days([mark]) - (said if spanning else known)):
            yield f"invents the date {day}"
    if not marks and _is_dated_by_day(claim.text, cited):
        days = " or ".join(f"[{day}]" for day in sorted(known))
        yield f"speaks of a day without {days} in front: {_short(claim.text)}"


def _is_dated_by_day(text: str, cited: Sequence[Source]) -> bool:
    """Whether a text turns false without the day on which it was said.

    "This year" does not where all was said in one year: the memory's own day tells which.
    """
    if len({source.observed_at[:4] for source in cited}) == 1:
        text = _THIS_YEAR.sub("", text)
    return read(text).deictic


def _days(marks: Iterable[re.Match[str]]) -> set[str]:
    return {day for mark in marks for day in mark.groups() if day is not None}


def _foreign_words(reading: Reading, readings: Sequence[Reading]) -> Iterator[str]:
    """Find words that no source says: opposites of what one says, and denials."""
    words = frozenset().union(*(other.words for other in readings))
    stems = frozenset().union(*(other.stem_set for other in readings))
    denied = frozenset().union(*(other.denied for other in readings))
    for line in lexicon.EXCLUSIVE:
        # "Ann's book" may become "hers".
        if line & words and not line <= _PRONOUNS:
            for word in sorted(line & reading.words - words):
                if not (denied and word in lexicon.NEGATORS):
                    yield f"says '{word}', which no source says"
    for word in reading.denials:
        # "Avoid yarn" may stand for "do not use yarn".
        prohibits = word.lower() in lexicon.PROHIBITING and denied
        if not prohibits and not any(one.startswith(stem(word.lower())) for one in stems):
            yield f"says '{word}', which no source says"
    if reading.negators and not any(other.negators or other.denials for other in readings):
        yield f"denies ({reading.negators[0]}) what no source denies"


def _retold(retelling: Retelling, operation: Operation) -> Iterator[str]:
    """Find what a draft says otherwise than its sources, statement by statement."""
    told = [one for one in retelling.told if not one.word_for_word]
    for one in told:
        yield from retelling.invented(one)
        yield from _turned(retelling, one)
        if operation != "extract":
            yield from retelling.moved(one)
    lines = [(line, lines_of(one.cited)) for one in told for line in lines_of([one.statement])]
    # What all voices of a rule name is what it is about, and weighs as much as the rest.
    evenly = dict.fromkeys(retelling.weights, 1.0)
    yield from denied_otherwise(lines, evenly if operation == "extract" else retelling.weights)
    if operation != "extract":
        yield from said_otherwise(lines, retelling.weights)
    yield from obeyed([one.statement for one in told], retelling.sources)


def _turned(retelling: Retelling, told: Told) -> Iterator[str]:
    """Find what a statement turns round: who does what, whose it is, what stands where."""
    reading = told.statement.reading
    known = retelling.weights.keys()
    for source in told.made_from:
        for why in turned(told.statement, source, retelling.keys, known):
            yield f"turns round who does what: {why}"
        for guard in (owners, direction):
            for objection in guard(reading, source.reading):
                if not _one_name(objection, source.reading):
                    yield f"turns round what belongs to what: {objection.why}"
    for why in out_of_order(told.statement, told.made_from):
        yield f"turns round what comes first: {why}"
    for one, other in exchanged(reading, [source.reading for source in told.cited]):
        yield f"has '{one}' and '{other}' in each other's place"


def _one_name(objection: Objection, reading: Reading) -> bool:
    """Whether two owners are one: "Corvin Ltd's" is "of Corvin Ltd"."""
    one, other = (side.rpartition(" of ")[2] for side in (objection.left, objection.right))
    said = reading.said.lower()
    return f"{one} {other}" in said or f"{other} {one}" in said


def _untold(retelling: Retelling) -> Iterator[str]:
    """Find what sources say and a draft leaves out, statement by statement."""
    sources = [one for one in retelling.sources if not retelling.has_word_for_word(one)]
    for source in sources:
        yield from retelling.lost(source)
    told = lines_of(one.statement for one in retelling.told)
    lines = lines_of(sources)
    yield from denials_lost(lines, told, retelling.weights)
    yield from moods_lost(lines, told, retelling.weights, lines_of(retelling.sources))
    yield from on_whose_word([one.statement for one in retelling.told], sources)


def _lost(draft: Draft, sources: Sequence[Source]) -> Iterator[str]:
    readings = [read(claim.text) for claim in draft.claims]
    cited = {source for claim in draft.claims for source in claim.sources}
    for source in sources:
        if source.id not in cited:
            yield f"leaves out a source: {_short(source.text)}"
        for lost in _missing(read(source.text), readings):
            yield f"loses {lost}"


def _is_pronoun(value: Value, reading: Reading) -> bool:
    """Whether a number stands for those spoken of: "the two might rent a car"."""
    before, after = reading.said[: value.start], reading.said[value.end :]
    return before.lower().endswith("the ") and bool(_ACTING.match(after))


def _missing(reading: Reading, others: Sequence[Reading]) -> Iterator[str]:
    """Give the values and names of a text that stand in none of the others."""
    for value in reading.values:
        if _is_pronoun(value, reading):
            continue
        # "Each a week" and "a week": a length of time by itself, and how often by its place.
        spelled = re.compile(rf"\b{re.escape(value.text)}(?!\w)", re.IGNORECASE)
        alone = value.text[0].isalpha() and value.kind == "number"
        if not any(
            other.holds(value) or (alone and spelled.search(other.said)) for other in others
        ):
            yield f"the {value.kind} {value.text}"
    for name in dict.fromkeys(reading.names):
        if not any(other.mentions(name) for other in others):
            yield f"the name {name}"


def _unsupported(draft: Draft, known: Mapping[str, Source], retelling: Retelling) -> Iterator[str]:
    if len(draft.claims) != 1:
        yield "a rule is one claim"
        return
    claim = draft.claims[0]
    readings = [read(known[cited].text) for cited in dict.fromkeys(claim.sources)]
    if len(readings) < EXTRACT_SOURCES:
        yield f"only {len(readings)} sources support the rule; {EXTRACT_SOURCES} must"
        return
    yield from _voiced_by_few(_unmarked(claim.text), readings)
    if not all(told.word_for_word for told in retelling.told):
        yield from _left_out_of_rule(_unmarked(claim.text), readings)


def _voiced_by_few(rule: Reading, readings: Sequence[Reading]) -> Iterator[str]:
    """Find details that only few of the sources of a rule give."""
    enough = min(EXTRACT_SOURCES, int(MOST_VOICES * len(readings)) + 1)
    for value in rule.values:
        if sum(other.holds(value) for other in readings) < enough:
            yield f"too few sources support the {value.kind} {value.text}"
    for name in dict.fromkeys(rule.names):
        if sum(other.mentions(name) for other in readings) < enough:
            yield f"too few sources support the name {name}"


def _left_out_of_rule(rule: Reading, readings: Sequence[Reading]) -> Iterator[str]:
    """Find what most sources of a rule say and the rule does not."""
    values = Counter(value.key for other in readings for value in other.values)
    shown = {value.key: value for other in readings for value in other.values}
    for key, voices in sorted(values.items()):
        if voices > MOST_VOICES * len(readings) and not rule.holds(shown[key]):
            yield f"loses the {shown[key].kind} {shown[key].text}, which most sources give"
    words = Counter(word for other in readings for word in other.stem_set)
    for word, voices in sorted(words.items()):
        if voices > ALL_VOICES * len(readings) and not rule.mentions(word):
            (spelled,) = readings[0].spelled([word])
            yield f"loses '{spelled}', which nearly all sources say"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
