"""The built-in writer: texts made of the sources' own sentences, without any model.

It adds no word of its own but the day on which a sentence was said, in square brackets, and that
only where the sentence speaks of "yesterday" or "last week" and would turn false without it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .guards import say_the_same
from .language.reading import Reading, read
from .proposals import Claim, Draft

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DAY = r"\d{4}-\d{2}-\d{2}"
# In front of a sentence that speaks of "yesterday": the day on which it was said. In front of what
# changed: since when it is so, or from when until when it was.
DATE_MARK = re.compile(rf"\[(?:since )?({_DAY})(?: until ({_DAY}))?\] ")
_SINCE = re.compile(rf"\[since ({_DAY})\] ")


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
    kept, told = _chosen(sources, [])
    return Draft(tuple(_claim(unit, told) for unit in kept))


def compose_growth(owner: Source, sources: Sequence[Source]) -> Draft:
    """Write the owner's text again, word for word, and behind it what the sources add to it."""
    sentences = read(owner.text).sentences
    standing = [_Unit(owner, read(DATE_MARK.sub("", sentence))) for sentence in sentences]
    added, told = _chosen(sources, standing)
    kept = [
        Claim(sentence, _citing(unit, told))
        for sentence, unit in zip(sentences, standing, strict=True)
    ]
    return Draft((*kept, *(_claim(unit, told) for unit in added)))


def compose_update(stages: Sequence[Sequence[Source]]) -> Draft:
    """Write what is so now, since when, and what was so before.

    stages: the wordings of each value, the newest value first. Each claim but the first cites who
    told the next value, too: that is where its end comes from.
    """
    starts = [min(source.observed_at for source in stage)[:10] for stage in stages]
    claims = [_stage_claim(stages[0], starts[0], f"[since {starts[0]}] ")]
    for number in range(1, len(stages)):
        mark = f"[{starts[number]} until {starts[number - 1]}] "
        claim = _stage_claim(stages[number], starts[number], mark)
        cited = {*claim.sources, in_time(stages[number - 1])[0].id}
        claims.append(Claim(claim.text, tuple(sorted(cited))))
    return Draft(tuple(claims))


def compose_next_update(
    owner: Source, stages: Sequence[Sequence[Source]], ended_by: Sequence[Source]
) -> Draft:
    """Write newer values in front of a text that `compose_update` wrote.

    stages: as there, without the owner. ended_by: the one of them that ended the owner's value.
    """
    start = min(source.observed_at for source in ended_by)[:10]
    before = _SINCE.sub(rf"[\1 until {start}] ", owner.text)
    cited = tuple(sorted({owner.id, in_time(ended_by)[0].id}))
    return Draft((*compose_update(stages).claims, Claim(before, cited)))


def current_part(text: str) -> str:
    """Give what a text that `compose_update` wrote says of today; all of any other text."""
    marked = _SINCE.match(text)
    if marked is None:
        return text
    ended = next((one for one in DATE_MARK.finditer(text) if one[2] is not None), None)
    return text[marked.end() : ended.start() if ended else None].strip()


def tells_already(text: str, source: Source) -> bool:
    """Whether `text` tells all that `source` tells."""
    told = [read(DATE_MARK.sub("", sentence)) for sentence in read(text).sentences]
    return all(any(_tells(one, unit.reading) for one in told) for unit in _units(source))


def in_time(sources: Sequence[Source]) -> list[Source]:
    """Give sources in the order in which they were said."""
    return sorted(sources, key=lambda one: (one.observed_at, one.id))


def _chosen(
    sources: Sequence[Source], standing: Sequence[_Unit]
) -> tuple[list[_Unit], list[tuple[_Unit, _Unit]]]:
    """Give the sentences to keep besides those that stand, and who tells what is left out."""
    units = [unit for source in in_time(sources) for unit in _units(source)]
    places = {unit: at for at, unit in enumerate(units)}
    kept = list(standing)
    told: list[tuple[_Unit, _Unit]] = []
    for unit in sorted(units, key=lambda one: (-one.richness, places[one])):
        teller = next((one for one in kept if _tells(one.reading, unit.reading)), None)
        if teller is None:
            kept.append(unit)
        else:
            told.append((unit, teller))
    return sorted(kept[len(standing) :], key=places.__getitem__), told


def _stage_claim(stage: Sequence[Source], start: str, mark: str) -> Claim:
    """Write all wordings of one value behind one mark, which also tells when they were said."""
    kept, _ = _chosen(stage, [])
    texts = [
        ended(unit.reading.text)
        if unit.source.observed_at[:10] == start
        else dated(unit.source, ended(unit.reading.text))
        for unit in kept
    ]
    return Claim(mark + " ".join(texts), tuple(sorted(source.id for source in stage)))


def _units(source: Source) -> list[_Unit]:
    return [_Unit(source, read(sentence)) for sentence in read(source.text).sentences]


def _tells(here: Reading, there: Reading) -> bool:
    """Whether one sentence says what another says: the same words, in the same or the other voice.

    To hold all of its words is not enough: "only passes on Windows" holds all of "passes on
    Windows". Nor is nearness: at a cosine of 0.90 "Evan suggested swapping soda for seltzer to
    Sam" would stand for "Sam agreed to swap soda for seltzer".
    """
    return say_the_same(here, there)


def _claim(unit: _Unit, told: Sequence[tuple[_Unit, _Unit]]) -> Claim:
    return Claim(dated(unit.source, ended(unit.reading.text)), _citing(unit, told))


def _citing(unit: _Unit, told: Sequence[tuple[_Unit, _Unit]]) -> tuple[str, ...]:
    """Give who says a sentence, and who would only have said it again."""
    return tuple(
        sorted({unit.source.id} | {other.source.id for other, teller in told if teller is unit})
    )


def ended(text: str) -> str:
    """Give a text with its full stop."""
    return text if text[-1:] in ".!?\"'”)`" else f"{text}."


def dated(source: Source, text: str) -> str:
    """Give a text with the day on which it was said, where it turns false without it."""
    marked = DATE_MARK.match(text) is not None
    return f"[{source.observed_at[:10]}] {text}" if read(text).deictic and not marked else text
