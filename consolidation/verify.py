"""Does a draft say what its sources say, all of it, and nothing else? Decided without a model.

Every check is on the text: what a rule can read (values, names, denials, roles) must agree both
ways. Whoever wrote the draft, it passes here or is not written to the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from . import lexicon
from .extractive import Source
from .guards import contradiction, first_conflict
from .proposals import Claim, Draft, Operation
from .reading import Reading, read, stem
from .thresholds import DRAFT_SIMILARITY, EXTRACT_SOURCES
from .values import Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DATE_MARK = re.compile(r"\[(\d{4}-\d{2}-\d{2})\] ")
_TELLING = frozenset().union(*lexicon.EXCLUSIVE)


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
    if len(_DATE_MARK.sub("", draft.text)) > sum(len(source.text) + 2 for source in sources):
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
    marked = _DATE_MARK.match(claim.text)
    if marked and marked.group(1) not in {source.observed_at[:10] for source in cited}:
        yield f"invents the date {marked.group(1)}"
    reading = read(_DATE_MARK.sub("", claim.text))
    readings = [read(source.text) for source in cited]
    for value in reading.values:
        if not _stands(value, readings):
            yield f"invents the {value.family} {value.text}"
    for name in dict.fromkeys(reading.names):
        if not any(_mentions(other, name) for other in readings):
            yield f"invents the name {name}"
    words = frozenset().union(*(other.words for other in readings))
    for word in sorted((reading.words & _TELLING) - words):
        if any(word in line and line & words for line in lexicon.EXCLUSIVE):
            yield f"says '{word}', which no source says"
    if reading.negators and not any(other.negators or other.denials for other in readings):
        yield f"denies ({reading.negators[0]}) what no source denies"
    turned = (contradiction(reading, other) for other in readings)
    for objection in filter(None, turned):
        yield f"turns round who does what: {objection.why}"


def _lost(draft: Draft, sources: Sequence[Source]) -> Iterator[str]:
    claims = [(read(claim.text), frozenset(claim.sources)) for claim in draft.claims]
    readings = [reading for reading, _ in claims]
    cited = frozenset().union(*(sources_of for _, sources_of in claims))
    for source in sources:
        reading = read(source.text)
        if source.id not in cited:
            yield f"leaves out a source: {_short(source.text)}"
        for lost in _missing(reading, readings):
            yield f"loses {lost}"
        told = [other for other, sources_of in claims if source.id in sources_of]
        if reading.negators and not any(other.negators or other.denials for other in told):
            yield f"loses the denial '{reading.negators[0]}' of: {_short(source.text)}"


def _missing(reading: Reading, others: Sequence[Reading]) -> Iterator[str]:
    for value in reading.values:
        if not _stands(value, others):
            yield f"the {value.family} {value.text}"
    for name in dict.fromkeys(reading.names):
        if not any(_mentions(other, name) for other in others):
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
    reading = read(_DATE_MARK.sub("", claim.text))
    for value in reading.values:
        if sum(_stands(value, [other]) for other in readings) < EXTRACT_SOURCES:
            yield f"too few sources support the {value.family} {value.text}"
    for name in dict.fromkeys(reading.names):
        if sum(_mentions(other, name) for other in readings) < EXTRACT_SOURCES:
            yield f"too few sources support the name {name}"


def _stands(value: Value, readings: Sequence[Reading]) -> bool:
    return any(value.key in reading.value_keys or _written(value, reading) for reading in readings)


def _written(value: Value, reading: Reading) -> bool:
    """Whether the value's words stand in the text, for values that have no other spelling."""
    if value.family in ("number", "time", "date", "year"):
        return False
    return value.norm in reading.text.lower()


def _mentions(reading: Reading, name: str) -> bool:
    return name in reading.words or stem(name) in reading.stem_set


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
