"""The built-in writer: texts made of the sources' own sentences, without any model.

It adds no word of its own but the day on which a sentence was said, in square brackets, and that
only where the sentence speaks of "yesterday" or "last week" and would turn false without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import lexicon
from .guards import first_conflict
from .proposals import Claim, Draft
from .reading import Reading, is_content, read, stem
from .thresholds import EXTRACT_SIMILARITY, EXTRACT_SOURCES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VERSION = "extractive/1"

# A sentence is told already if so few of its words are new, or if it is so near, as a whole
# memory, to one that is kept. On the night fixture all 34 details that only one of a fact's
# wordings tells came through; with 0.75 in place of 0.80 one did not.
NEW_WORDS = 0.25
SAME_SENTENCE = 0.80


@dataclass(frozen=True, eq=False)
class Source:
    """A memory as a writer sees it. `vector`: float32, shape (d,), unit length."""

    id: str
    text: str
    observed_at: str
    vector: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class _Unit:
    """A sentence of a source. `vector` is None where the source has more than one."""

    source: Source
    position: int
    reading: Reading
    vector: NDArray[np.float32] | None

    @property
    def richness(self) -> int:
        """How much it tells; values and names weigh more than words."""
        values, names = len(self.reading.value_keys), len(set(self.reading.names))
        return 3 * values + 3 * names + len(self.reading.stem_set)


def compose_synthesis(sources: Sequence[Source]) -> Draft:
    """Write a text that tells all that the sources tell, each thing once, in order of time.

    A sentence is left out only if one that is kept tells all of it. The richest are kept first.
    """
    units = [unit for source in in_time(sources) for unit in _units(source)]
    kept: list[_Unit] = []
    told: list[tuple[_Unit, _Unit]] = []
    for unit in sorted(units, key=lambda one: (-one.richness, units.index(one))):
        teller = next((one for one in kept if _tells(one, unit)), None)
        if teller is None:
            kept.append(unit)
        else:
            told.append((unit, teller))
    kept.sort(key=units.index)
    return Draft(tuple(_claim(unit, told) for unit in kept))


def tells_already(text: str, tellers: Sequence[Source], source: Source) -> bool:
    """Whether `text`, which was made from `tellers`, tells all that `source` tells."""
    written = _units(Source("", text, "", source.vector))
    # A sentence of a teller counts only as far as it still stands in the text.
    standing = [unit for teller in tellers for unit in _units(teller)]
    standing = [unit for unit in standing if unit.reading.text.rstrip(".") in text]
    return all(any(_tells(one, unit) for one in standing + written) for unit in _units(source))


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
    sentences = read(source.text).sentences
    vector = source.vector if len(sentences) == 1 else None
    return [
        _Unit(source, position, read(sentence), vector)
        for position, sentence in enumerate(sentences)
    ]


def _tells(one: _Unit, unit: _Unit) -> bool:
    """Whether one sentence tells all that another tells.

    It must hold each of its values, names, denials and qualifications, be about the same one,
    and either hold nearly all of its words or lie so near to it that it says the same.
    """
    here, there = one.reading, unit.reading
    if here.names[:1] != there.names[:1] and here.names and there.names:
        return False
    lacking = (
        there.value_keys - here.value_keys
        or set(there.names) - here.words
        or there.denied - here.denied
        or bool(there.negators) != bool(here.negators)
        or _qualifications(there) - here.stem_set
        or (there.words & _TELLING) - here.words
    )
    if lacking:
        return False
    if len(there.stem_set - here.stem_set) <= NEW_WORDS * len(there.stem_set):
        return True
    if one.vector is None or unit.vector is None:
        return False
    near = float(unit.vector @ one.vector) >= SAME_SENTENCE
    return near and first_conflict(here, there) is None


_TELLING = frozenset().union(*lexicon.EXCLUSIVE) | lexicon.DENIALS


def _qualifications(reading: Reading) -> frozenset[str]:
    """Give the stems of the content words behind a word that opens a qualification."""
    return frozenset(
        stem(content.bare)
        for index, token in enumerate(reading.tokens)
        if token.lower in lexicon.QUALIFYING
        for content in reading.tokens[index + 1 : index + 4]
        if is_content(content.bare)
    )


def _claim(unit: _Unit, told: Sequence[tuple[_Unit, _Unit]]) -> Claim:
    citing = {unit.source.id} | {other.source.id for other, teller in told if teller is unit}
    return Claim(_dated(unit.source, _ended(unit.reading.text)), tuple(sorted(citing)))


def _ended(text: str) -> str:
    return text if text[-1:] in ".!?\"'”)`" else f"{text}."


def _dated(source: Source, text: str) -> str:
    return f"[{source.observed_at[:10]}] {text}" if read(text).deictic else text


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
