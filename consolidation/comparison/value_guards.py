"""Guards over what is compared to the letter: values, names, commas, signs and capitals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from slowwave.consolidation.text.reading import Reading
from slowwave.consolidation.text.values import Value

from .objections import Objection, listed


def values(left: Reading, right: Reading) -> Iterator[Objection]:
    """Numbers with units, dates, times, versions, identifiers, paths, hosts, quoted words."""
    if left.value_keys == right.value_keys:
        return
    only_left = [value for value in left.values if not right.holds(value)]
    only_right = [value for value in right.values if not left.holds(value)]
    for family in sorted({value.family for value in only_left + only_right}):
        here = [value for value in only_left if value.family == family]
        there = [value for value in only_right if value.family == family]
        yield Objection(
            (here or there)[0].kind,
            ", ".join(value.text for value in here),
            ", ".join(value.text for value in there),
            conflict=bool(here and there) and not _shortened(here, there),
        )


def units(left: Reading, right: Reading) -> Iterator[Objection]:
    """Units without a number, of one kind: "given in milliseconds" and "given in seconds"."""
    here, there = left.bare_units - right.bare_units, right.bare_units - left.bare_units
    for dimension in sorted({of for of, _ in here} & {of for of, _ in there}):
        one, other = (
            listed(unit for of, unit in side if of == dimension) for side in (here, there)
        )
        yield Objection("unit", one, other)


def _shortened(here: Sequence[Value], there: Sequence[Value]) -> bool:
    """Whether each may be another one without its beginning: "w07" for "hb1-w07"."""
    return all(
        any(_ends_in(one.norm, other.norm) or _ends_in(other.norm, one.norm) for other in there)
        for one in here
    )


def _ends_in(longer: str, shorter: str) -> bool:
    named = shorter[:1].isalpha() and longer[:1].isalpha()
    return named and longer.endswith(f"-{shorter}")


def names(left: Reading, right: Reading) -> Iterator[Objection]:
    """Names that one has and the other does not."""
    if left.names == right.names:
        return
    here, there = _names_without(left, right), _names_without(right, left)
    if here or there:
        both = bool(here and there)
        # Nobody and nothing is named in both: they speak of someone else.
        strangers = both and bool(left.persons and right.persons)
        strangers = strangers and set(left.names).isdisjoint(right.names)
        guard = "subject" if strangers else "name"
        yield Objection(guard, ", ".join(here), ", ".join(there), conflict=both)


def _names_without(reading: Reading, other: Reading) -> list[str]:
    """Return the names of one text that the other has not, or as a common noun: "the mark"."""
    common = other.common - reading.common - set(other.names)
    names = dict.fromkeys(reading.names)
    return [name for name in names if not other.mentions(name) or name in common]


def commas(left: Reading, right: Reading) -> Iterator[Objection]:
    """Two words side by side, with a comma between them and without: "eat, grandma"."""
    here, there = left.commas, right.commas
    for pair in sorted(here.keys() & there.keys()):
        if here[pair] != there[pair]:
            with_comma, without = ", ".join(pair), " ".join(pair)
            sides = (with_comma, without) if here[pair] else (without, with_comma)
            yield Objection("comma", *sides, conflict=False, doubtful=True)


def signs(left: Reading, right: Reading) -> Iterator[Objection]:
    """Signs that are no punctuation: "> 200" and "< 200", "A+" and "A-", a tick and a cross."""
    here, there = left.signs, right.signs
    if (here or there) and here != there:
        one, other = (" ".join((side - rest).elements()) for side, rest in _both_ways(here, there))
        yield Objection("sign", one, other, conflict=bool(one and other))


def _both_ways(here: Counter[str], there: Counter[str]) -> tuple[tuple[Counter[str], ...], ...]:
    return (here, there), (there, here)


def spelled_by_case(left: Reading, right: Reading) -> Iterator[Objection]:
    """One word whose capitals tell two things apart: "sk-AbC9" and "sk-abc9", "Mb" and "MB"."""
    here, there = left.cased, right.cased
    apart = [word for word in here if word in there and here[word].isdisjoint(there[word])]
    for word in sorted(apart):
        one, other = ", ".join(sorted(here[word])), ", ".join(sorted(there[word]))
        yield Objection("case", one, other, conflict=False)
