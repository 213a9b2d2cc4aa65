"""The built-in writer: texts made of the sources' own sentences, without any model.

It adds no word of its own but the day on which a sentence was said, in square brackets, and that
only where the sentence speaks of "yesterday" or "last week" and would turn false without it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .guards import first_difference
from .proposals import Claim, Draft
from .reading import Reading, read
from .thresholds import EXTRACT_SIMILARITY, EXTRACT_SOURCES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VERSION = "extractive/1"
# In front of a sentence that speaks of "yesterday": the day on which it was said.
DATE_MARK = re.compile(r"\[(\d{4}-\d{2}-\d{2})\] ")


@dataclass(frozen=True, eq=False)
class Source:
    """A memory as a writer sees it. `vector`: float32, shape (d,), unit length."""

    id: str
    text: str
    observed_at: str
    vector: NDArray[np.float32]


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


def compose_synthesis(sources: Sequence[Source]) -> Draft:
    """Write a text that tells all that the sources tell, in order of time.

    A sentence is left out only if one that is kept says the same in the same words, so that
    nothing of a source is lost. The richest are kept first.
    """
    units = [unit for source in in_time(sources) for unit in _units(source)]
    kept: list[_Unit] = []
    told: list[tuple[_Unit, _Unit]] = []
    for unit in sorted(units, key=lambda one: (-one.richness, units.index(one))):
        teller = next((one for one in kept if _tells(one.reading, unit.reading)), None)
        if teller is None:
            kept.append(unit)
        else:
            told.append((unit, teller))
    kept.sort(key=units.index)
    return Draft(tuple(_claim(unit, told) for unit in kept))


def tells_already(text: str, source: Source) -> bool:
    """Whether `text` tells all that `source` tells."""
    told = [read(DATE_MARK.sub("", sentence)) for sentence in read(text).sentences]
    return all(any(_tells(one, unit.reading) for one in told) for unit in _units(source))


def in_time(sources: Sequence[Source]) -> list[Source]:
    """Give sources in the order in which they were said."""
    return sorted(sources, key=lambda one: (one.observed_at, one.id))


def compose_rule(sources: Sequence[Source]) -> Draft | None:
    """Choose the sentence that best stands for all sources, with those that support it.

    It says what ought to be; each of its values and names stands in as many supporters as a rule
    needs, and few of its words stand in fewer: a reason that one voice gave is not the rule. None
    if no sentence is supported by enough.
    """
    candidates = []
    for chosen in sources:
        rule = read(chosen.text)
        supporters = _supporters(chosen, sources)
        single = len(rule.sentences) == 1 and rule.normative
        if single and len(supporters) >= EXTRACT_SOURCES and _agreed(rule, supporters):
            nearness = sum(float(one.vector @ chosen.vector) for one in sources)
            candidates.append((_own_words(rule, supporters), -nearness, chosen.id, chosen))
    if not candidates:
        return None
    *_, chosen = min(candidates)
    ids = tuple(sorted(source.id for source in _supporters(chosen, sources)))
    return Draft((Claim(_dated(chosen, _ended(chosen.text.strip())), ids),))


def _own_words(rule: Reading, supporters: Sequence[Source]) -> int:
    """Count the content words that too few supporters use to make them part of the rule."""
    readings = [read(source.text) for source in supporters]
    return sum(
        sum(word in reading.stem_set for reading in readings) < EXTRACT_SOURCES
        for word in rule.stem_set
    )


def _units(source: Source) -> list[_Unit]:
    return [_Unit(source, read(sentence)) for sentence in read(source.text).sentences]


def _tells(here: Reading, there: Reading) -> bool:
    """Whether one sentence says what another says: the same words, in the same or the other voice.

    To hold all of its words is not enough: "only passes on Windows" holds all of "passes on
    Windows". Nor is nearness: at a cosine of 0.90 "Evan suggested swapping soda for seltzer to
    Sam" would stand for "Sam agreed to swap soda for seltzer".
    """
    return first_difference(here, there) is None


def _claim(unit: _Unit, told: Sequence[tuple[_Unit, _Unit]]) -> Claim:
    citing = {unit.source.id} | {other.source.id for other, teller in told if teller is unit}
    return Claim(_dated(unit.source, _ended(unit.reading.text)), tuple(sorted(citing)))


def _ended(text: str) -> str:
    return text if text[-1:] in ".!?\"'”)`" else f"{text}."


def _dated(source: Source, text: str) -> str:
    marked = DATE_MARK.match(text) is not None
    return f"[{source.observed_at[:10]}] {text}" if read(text).deictic and not marked else text


def _supporters(chosen: Source, sources: Sequence[Source]) -> list[Source]:
    return [
        source
        for source in sources
        if source is chosen or float(source.vector @ chosen.vector) >= EXTRACT_SIMILARITY
    ]


def _agreed(rule: Reading, supporters: Sequence[Source]) -> bool:
    """Whether each value and name of the rule stands in enough of its supporters."""
    readings = [read(source.text) for source in supporters]
    values_agreed = all(
        sum(key in reading.value_keys for reading in readings) >= EXTRACT_SOURCES
        for key in rule.value_keys
    )
    names_agreed = all(
        sum(name in reading.words for reading in readings) >= EXTRACT_SOURCES for name in rule.names
    )
    return values_agreed and names_agreed
