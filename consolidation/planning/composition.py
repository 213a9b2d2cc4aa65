"""Texts made of the sources' own sentences, without any model.

It adds nothing of its own but days in square brackets: in front of a sentence that speaks of
"yesterday" or "last week" the day on which it was said, since it would turn false without it; in
front of a value since when it is so, and of an older one from when until when it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from slowwave.consolidation import thresholds
from slowwave.consolidation.comparison.guards import say_the_same
from slowwave.consolidation.proposals import Claim, Draft, Operation, Source
from slowwave.consolidation.text.dates import DATE_MARK, NEWEST_MARK
from slowwave.consolidation.text.reading import Reading, read

# Goes up whenever the rules change by which texts are composed here.
_RULES = "extractive/1"


def method_key(operation: Operation) -> str:
    """Return the hash of the rules by which a plan's own drafts are composed."""
    return hashlib.sha256(f"{_RULES} {operation}".encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class _Unit:
    """A sentence of a source."""

    source: Source
    reading: Reading

    @property
    def richness(self) -> int:
        """How much it tells; values and names weigh more than words."""
        values, names = len(self.reading.value_keys), len(set(self.reading.names))
        return 3 * values + 3 * names + len(self.reading.stem_set)


# Finds one of some sentences that says all that another says, by its place; None if none does.
FindCovering = Callable[[Reading, Sequence[Reading]], "int | None"]


def in_the_same_words(said: Reading, kept: Sequence[Reading]) -> int | None:
    """Find a sentence that says what another says in the same words, in the same or other voice."""
    return next((at for at, one in enumerate(kept) if say_the_same(one, said)), None)


@dataclass(frozen=True)
class Composition:
    """A draft, and which sources are left out of it since others say all that they say."""

    draft: Draft
    # Per source of which no sentence was kept, the ids of the sources that cover its sentences.
    covered_by: Mapping[str, frozenset[str]]


def compose_synthesis(
    sources: Sequence[Source], find_covering: FindCovering = in_the_same_words
) -> Composition:
    """Write a text that tells all that the sources tell, in order of time.

    A sentence is left out only if kept ones tell all of it, so that nothing of a source is lost.
    The richest are kept first.
    """
    kept, covered = _chosen(sources, [], find_covering)
    staying = {unit.source.id for unit in kept}
    covered_by: dict[str, set[str]] = {}
    for unit, by in covered:
        if unit.source.id not in staying:
            covered_by.setdefault(unit.source.id, set()).add(by.source.id)
    return Composition(
        Draft(tuple(_claim(unit, covered) for unit in kept)),
        {one: frozenset(by) for one, by in covered_by.items()},
    )


def compose_growth(
    derived: Source, sources: Sequence[Source], find_covering: FindCovering = in_the_same_words
) -> Draft:
    """Write a derived memory's text again, word for word, and behind it what the sources add."""
    derived_units = _units_of_derived(derived)
    added, covered = _chosen(sources, derived_units, find_covering)
    kept = [
        Claim(sentence, _citing(unit, covered))
        for sentence, unit in zip(read(derived.text).sentences, derived_units, strict=True)
    ]
    return Draft((*kept, *(_claim(unit, covered) for unit in added)))


def is_shorter(draft: Draft, leaving: Sequence[Source]) -> bool:
    """Whether a draft is enough shorter than what goes for it to be worth writing."""
    before = sum(len(source.text) for source in leaving)
    return len(draft.text) <= thresholds.SHORTER * before


def compose_update(stages: Sequence[Sequence[Source]]) -> Draft:
    """Write what is so now, since when (or when that was noted), and what was so before.

    stages: the wordings of each value, the newest value first. Each claim but the first cites who
    told the next value, too: that is where its end comes from.
    """
    starts = [min(source.observed_at for source in stage)[:10] for stage in stages]
    # Not before it is needed: the first stem takes a dictionary, and a quiet night has none.
    from slowwave.consolidation.updates.frames import says_since_now

    began = any(says_since_now(source.text) for source in stages[0])
    mark = f"[{'since' if began else 'noted'} {starts[0]}] "
    claims = [_stage_claim(stages[0], starts[0], mark)]
    for number in range(1, len(stages)):
        mark = f"[{starts[number]} until {starts[number - 1]}] "
        claim = _stage_claim(stages[number], starts[number], mark)
        cited = {*claim.sources, sorted_by_time(stages[number - 1])[0].id}
        claims.append(Claim(claim.text, tuple(sorted(cited))))
    return Draft(tuple(claims))


def compose_next_update(
    derived: Source, stages: Sequence[Sequence[Source]], ended_by: Sequence[Source]
) -> Draft:
    """Write newer values in front of a text that `compose_update` wrote.

    stages: as there, without the derived memory. ended_by: the one of them that ended its value.
    """
    start = min(source.observed_at for source in ended_by)[:10]
    before = NEWEST_MARK.sub(rf"[\1 until {start}] ", derived.text)
    cited = tuple(sorted({derived.id, sorted_by_time(ended_by)[0].id}))
    return Draft((*compose_update(stages).claims, Claim(before, cited)))


def already_says(
    derived: Source, source: Source, find_covering: FindCovering = in_the_same_words
) -> bool:
    """Whether one memory tells all that another tells."""
    derived_units = _units_of_derived(derived)
    units = _units(source)
    return all(_covering(unit, derived_units, find_covering) is not None for unit in units)


def richness(source: Source) -> int:
    """Return how much a memory tells; values and names weigh more than words."""
    return sum(unit.richness for unit in _units(source))


def sorted_by_time(sources: Sequence[Source]) -> list[Source]:
    """Return sources in the order in which they were said."""
    return sorted(sources, key=lambda one: (one.observed_at, one.id))


def _chosen(
    sources: Sequence[Source], derived_units: Sequence[_Unit], find_covering: FindCovering
) -> tuple[list[_Unit], list[tuple[_Unit, _Unit]]]:
    """Choose the sentences to keep besides those that stand; say what covers the rest."""
    units = [unit for source in sorted_by_time(sources) for unit in _units(source)]
    places = {unit: at for at, unit in enumerate(units)}
    kept: list[_Unit] = []
    # Each sentence that is left out, with the kept one that covers it, directly or through others.
    covering_of = {unit: unit for unit in derived_units}
    for unit in sorted(units, key=lambda one: (-one.richness, len(one.reading.text), places[one])):
        by = _covering(unit, list(covering_of), find_covering)
        if by is None:
            kept.append(unit)
        covering_of[unit] = unit if by is None else covering_of[by]
    covered = [(unit, by) for unit, by in covering_of.items() if unit is not by]
    return sorted(kept, key=places.__getitem__), covered


def _covering(unit: _Unit, kept: Sequence[_Unit], find_covering: FindCovering) -> _Unit | None:
    """Find what covers a sentence; only its own day covers "it broke yesterday"."""
    day = unit.source.observed_at[:10]
    if unit.reading.deictic:
        kept = [one for one in kept if one.source.observed_at[:10] == day]
    at = find_covering(unit.reading, [one.reading for one in kept])
    return None if at is None else kept[at]


def _stage_claim(stage: Sequence[Source], start: str, mark: str) -> Claim:
    """Write all wordings of one value behind one mark, which also tells when they were said."""
    kept, _ = _chosen(stage, [], in_the_same_words)
    texts = [
        with_full_stop(unit.reading.text)
        if unit.source.observed_at[:10] == start
        else with_date(unit.source, with_full_stop(unit.reading.text))
        for unit in kept
    ]
    return Claim(mark + " ".join(texts), tuple(sorted(source.id for source in stage)))


def _units(source: Source) -> list[_Unit]:
    return [_Unit(source, read(sentence)) for sentence in read(source.text).sentences]


def _units_of_derived(derived: Source) -> list[_Unit]:
    """Read a memory made before, each sentence as of the day that stands in front of it."""
    units = []
    for sentence in read(derived.text).sentences:
        mark = DATE_MARK.match(sentence)
        said = derived if mark is None else replace(derived, observed_at=mark[1])
        units.append(_Unit(said, read(DATE_MARK.sub("", sentence))))
    return units


def _claim(unit: _Unit, covered: Sequence[tuple[_Unit, _Unit]]) -> Claim:
    return Claim(with_date(unit.source, with_full_stop(unit.reading.text)), _citing(unit, covered))


def _citing(unit: _Unit, covered: Sequence[tuple[_Unit, _Unit]]) -> tuple[str, ...]:
    """Return who says a sentence, and who would only have said it again."""
    return tuple(
        sorted({unit.source.id} | {other.source.id for other, by in covered if by is unit})
    )


def with_full_stop(text: str) -> str:
    """Return a text with its full stop."""
    return text if text[-1:] in ".!?\"'”)`" else f"{text}."


def with_date(source: Source, text: str) -> str:
    """Return a text with the day on which it was said, where it turns false without it."""
    marked = DATE_MARK.match(text) is not None
    return f"[{source.observed_at[:10]}] {text}" if read(text).deictic and not marked else text
