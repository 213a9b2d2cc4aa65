"""Does a draft say what its sources say, all of it, and nothing else? Decided without a model.

Every check is on the text: what a rule can read (values, names, denials, roles) must agree both
ways. Whoever wrote the draft, it passes here or is not written to the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from . import lexicon
from .extractive import DATE_MARK, Source
from .guards import first_conflict, first_difference, other_statement, other_term, turned_round
from .mood import moods_of
from .places import exchanged
from .proposals import Claim, Draft, Operation
from .reading import Reading, read
from .thresholds import DRAFT_SIMILARITY, EXTRACT_SOURCES
from .tokens import stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# From this share of a claim's words on, names aside, a sentence of a source is taken to say the
# same, and must not conflict with it.
NEAR = 0.75
# From this share of common words on, two are the same sentence but for a denial.
TWIN = 0.8
# The most of a sentence's words that may stand in none of its sources.
NEW_WORDS = 0.5
# The least of a sentence's words and values that must stand in the draft: a draft may say it in
# other words, but what shares next to nothing with it leaves it out. Of 14 drafts that told night
# fixture facts in other words, the least told sentence had 0.38.
TOLD_WORDS = 0.3


def find_faults(draft: Draft, sources: Sequence[Source], operation: Operation) -> list[str]:
    """Give what is wrong with a draft, a sentence each; none if it may be written.

    Checks that each claim cites given sources only, that nothing in it is invented, that a
    synthesis loses nothing, that a rule has its supporters, and that it is not longer than what
    it stands for.
    """
    known = {source.id: source for source in sources}
    faults = list(_structure(draft, known))
    if faults:
        return faults
    for claim in draft.claims:
        faults += _invented(claim, [known[one] for one in claim.sources])
    if operation == "extract":
        faults += _unsupported(draft, known)
    else:
        faults += _lost(draft, sources)
    if len(DATE_MARK.sub("", draft.text)) > sum(len(source.text) + 2 for source in sources):
        faults.append("the draft is longer than its sources together")
    return faults


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
        conflict = first_conflict(read(staying), read(text))
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
    for mood in _missing_moods(reading, readings):
        yield f"says it as '{mood}', which no source does"
    yield from _turned(reading, readings)


def _unmarked(text: str) -> Reading:
    """Read a text without the days on which its sentences were said."""
    return read(DATE_MARK.sub("", text))


def _misdated(claim: Claim, cited: Sequence[Source]) -> Iterator[str]:
    marks = DATE_MARK.findall(claim.text)
    known = {source.observed_at[:10] for source in cited if read(source.text).deictic}
    known.update(*(DATE_MARK.findall(source.text) for source in cited))
    for day in marks:
        if day not in known:
            yield f"invents the date {day}"
    if not marks and read(claim.text).deictic:
        days = " or ".join(f"[{day}]" for day in sorted(known))
        yield f"speaks of a day without {days} in front: {_short(claim.text)}"


def _foreign_words(reading: Reading, readings: Sequence[Reading]) -> Iterator[str]:
    """Find words that no source says: opposites of what one says, denials, or too many."""
    words = frozenset().union(*(other.words for other in readings))
    stems = frozenset().union(*(other.stem_set for other in readings))
    denied = frozenset().union(*(other.denied for other in readings))
    for line in lexicon.EXCLUSIVE:
        if line & words:
            for word in sorted(line & reading.words - words):
                yield f"says '{word}', which no source says"
    for word in reading.denials:
        # "Avoid yarn" may stand for "do not use yarn".
        prohibits = word.lower() in lexicon.PROHIBITING and denied
        if not prohibits and not any(one.startswith(stem(word.lower())) for one in stems):
            yield f"says '{word}', which no source says"
    if reading.negators and not any(other.negators or other.denials for other in readings):
        yield f"denies ({reading.negators[0]}) what no source denies"
    for sentence in map(read, reading.sentences):
        new = sentence.stem_set - stems
        if len(new) > NEW_WORDS * len(sentence.stem_set):
            yield f"says what no source says: {_short(sentence.text)}"


def _turned(reading: Reading, readings: Sequence[Reading]) -> Iterator[str]:
    """Find what a claim turns round: roles, places, and what the sentences nearest to it say."""
    told = [sentence for other in readings for sentence in map(read, other.sentences)]
    for sentence in map(read, reading.sentences):
        # What a source says in these words needs no second look, whatever its other sentences say.
        if all(first_difference(sentence, one) is not None for one in told):
            yield from _turned_sentence(sentence, told)


def _turned_sentence(sentence: Reading, told: Sequence[Reading]) -> Iterator[str]:
    for objection in filter(None, (turned_round(sentence, one) for one in told)):
        yield f"turns round who does what: {objection.why}"
    for one, other in exchanged(sentence, told):
        yield f"has '{one}' and '{other}' in each other's place"
    yield from _said_otherwise(sentence, told)
    yield from _denied_otherwise(sentence, told)


def _said_otherwise(sentence: Reading, told: Sequence[Reading]) -> Iterator[str]:
    """Find what conflicts with the sentences that a sentence was plainly made from."""
    near = [one for one in told if _nearness(sentence, one) >= NEAR]
    conflicts = [other_statement(sentence, one) for one in near]
    if near and all(conflicts):
        first = next(filter(None, conflicts))
        yield f"contradicts its source in a {first.guard}: {first.why}"
    known = frozenset().union(*(one.stem_set for one in told))
    for term in (term for one in told for term in other_term(sentence, one)):
        if term.left not in known:
            yield f"says '{term.left}' where its source says '{term.right}'"


def _denied_otherwise(sentence: Reading, told: Sequence[Reading]) -> Iterator[str]:
    """Find words that are denied here and nowhere else, or everywhere else and not here."""
    denied = frozenset().union(*(one.denied for one in told))
    affirmed = frozenset().union(*(one.stem_set - one.denied for one in told))
    denying = frozenset().union(*(one.stem_set for one in told if _denies(one)))
    for word in sorted((sentence.stem_set - sentence.denied) & (denied - affirmed)):
        yield f"says '{word}' without the denial of its source"
    for word in sorted(sentence.denied & (affirmed - denying)):
        yield f"denies '{word}', which its source says"
    twins = [one for one in told if _likeness(sentence, one) >= TWIN]
    if twins and not any(_denies(one) == _denies(sentence) for one in twins):
        yield f"denies what its source says, or the reverse: {_short(sentence.text)}"


def _denies(reading: Reading) -> bool:
    return bool(reading.negators or reading.denials)


def _likeness(sentence: Reading, told: Reading) -> float:
    """Give the share of the words of both that both have."""
    words = sentence.stem_set | told.stem_set
    return len(sentence.stem_set & told.stem_set) / len(words) if words else 0.0


def _nearness(sentence: Reading, told: Reading) -> float:
    """Give the share of a sentence's words, names aside, that stand in another."""
    words = sentence.stem_set - {stem(name) for name in sentence.names}
    return len(words & told.stem_set) / len(words) if words else 0.0


def _lost(draft: Draft, sources: Sequence[Source]) -> Iterator[str]:
    claims = [(read(claim.text), frozenset(claim.sources)) for claim in draft.claims]
    readings = [reading for reading, _ in claims]
    cited = frozenset().union(*(sources_of for _, sources_of in claims))
    told_words = frozenset().union(*(reading.flow for reading in readings))
    for source in sources:
        reading = read(source.text)
        if source.id not in cited:
            yield f"leaves out a source: {_short(source.text)}"
        for lost in _missing(reading, readings):
            yield f"loses {lost}"
        for sentence in map(read, reading.sentences):
            said = frozenset(sentence.flow)
            if len(said & told_words) < TOLD_WORDS * len(said):
                yield f"leaves out: {_short(sentence.text)}"
        for mood in _missing_moods(reading, readings):
            yield f"loses the '{mood}' of: {_short(source.text)}"
        told = [other for other, sources_of in claims if source.id in sources_of]
        if reading.negators and not any(other.negators or other.denials for other in told):
            yield f"loses the denial '{reading.negators[0]}' of: {_short(source.text)}"


def _missing_moods(reading: Reading, others: Sequence[Reading]) -> list[str]:
    """Give the moods of a text that none of the others is in."""
    missing = moods_of(reading) - frozenset().union(*map(moods_of, others))
    if reading.normative and all(one.normative for one in others):
        missing -= {"should"}  # "never" and "must" rule alike
    return sorted(missing)


def _missing(reading: Reading, others: Sequence[Reading]) -> Iterator[str]:
    """Give the values and names of a text that stand in none of the others."""
    for value in reading.values:
        if not any(other.holds(value) for other in others):
            yield f"the {value.kind} {value.text}"
    for name in dict.fromkeys(reading.names):
        if not any(other.mentions(name) for other in others):
            yield f"the name {name}"


def _unsupported(draft: Draft, known: Mapping[str, Source]) -> Iterator[str]:
    if len(draft.claims) != 1:
        yield "a rule is one claim"
        return
    claim = draft.claims[0]
    readings = [read(known[cited].text) for cited in dict.fromkeys(claim.sources)]
    if len(readings) < EXTRACT_SOURCES:
        yield f"only {len(readings)} sources support the rule; {EXTRACT_SOURCES} must"
        return
    reading = _unmarked(claim.text)
    for value in reading.values:
        if sum(other.holds(value) for other in readings) < EXTRACT_SOURCES:
            yield f"too few sources support the {value.kind} {value.text}"
    for name in dict.fromkeys(reading.names):
        if sum(other.mentions(name) for other in readings) < EXTRACT_SOURCES:
            yield f"too few sources support the name {name}"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
