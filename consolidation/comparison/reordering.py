"""Whether two texts are one with its parts in another order that leaves the meaning alone.

"In spring Ann sells the boat" and "Ann sells the boat in spring"; "Ann's boat" and "the boat of
Ann"; "the owner is Ann" and "Ann is the owner"; "Ann is married to Ben" and the reverse. What
none of these explains is another statement: "Ann sells Ben the boat" and "Ben sells Ann the boat".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise

from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.reading import Reading, cached_per_text, read
from slowwave.consolidation.text.tokens import Token, is_past_form, stem, stems_of
from slowwave.consolidation.text.word_order import (
    OF_TIME,
    active_form,
    fronted_forms,
    is_thing,
    owner_forms,
    paired_in_order,
)
from slowwave.consolidation.thresholds import MOST_OWNERS, MOST_SENTENCES

# A sentence as what it is made of: stems of words that say something, values, words that join.
_Line = tuple[str, ...]

_JOINTS = lexicon.PLACING | lexicon.SUBORDINATORS
# With these a phrase begins that may stand in front or at the end.
_OPENERS = _JOINTS | OF_TIME
_LINKS = frozenset({"and", "or", "but"})
# What a word like "only" is about turns on where it stands.
_SCOPES = frozenset(
    {"only", "just", "even", "also", "all", "some", "any", "both", "most", "many"}
) | {*("up", "down", "out", "off", "over")}
_POINTERS = lexicon.TITLES | {"this", "these", "those", "here", "there"}
_TELLING = _OPENERS | _LINKS | _SCOPES | _POINTERS | lexicon.NEGATORS | {"of"}
# What another order may do without, or have another word for: the "by" of a passive, the "of" of an
# owner, the user who goes without saying, what joins two halves.
_LOOSE = _LINKS | {"of", "by", "user"}
_COPULAS = frozenset({"is", "are", "was", "were"})
_DEFINITE = lexicon.POSSESSIVES | {"the"}
# Three words or more in a row: "milk, eggs and bread".
_LIST = re.compile(r"(?<=[a-z] )(?:[\w.+#-]+, )+[\w.+#-]+,? (?:and|or) [\w.+#-]*\w")


def rearranged(left: Reading, right: Reading) -> bool:
    """Whether each has the parts of the other, in an order that says the same."""
    return _rearranged(*map(read, _in_one_order(left, right)))


def _in_one_order(left: Reading, right: Reading) -> tuple[str, str]:
    """Return both texts with a list that both have sorted: "milk, eggs and bread".

    Not with more than one list, nor in what is to be done, where the order may tell something.
    """
    here, there = _listed(left), _listed(right)
    if here is None or there is None or _items(here) != _items(there):
        return left.said, right.said
    items = " and ".join(_items(here))
    return left.said.replace(here, items), right.said.replace(there, items)


@cached_per_text
def _listed(reading: Reading) -> str | None:
    """Return the only list of a text whose order tells nothing."""
    if reading.normative or not reading.words.isdisjoint(lexicon.RANKING):
        return None
    found = _LIST.findall(reading.said)
    return found[0] if len(found) == 1 else None


def _items(listed: str) -> list[str]:
    return sorted(re.split(r",? (?:and|or) |, ", listed.lower()))


def _rearranged(left: Reading, right: Reading) -> bool:
    alike = _parts(left) == _parts(right)
    if alike and (_plain(left) in _lines(right) or _plain(right) in _lines(left)):
        return True
    if len(left.sentences) != len(right.sentences) or len(left.sentences) > MOST_SENTENCES:
        return False
    if len(left.sentences) == 1:
        return _same_sentence(left, right)
    here, waiting = ([read(one) for one in text.sentences] for text in (left, right))
    there = waiting[:]
    for at, sentence in enumerate(here):
        # "She called him then" means something else in another place.
        fixed = _points_back(sentence) or _points_back(there[at])
        choice = [there[at]] if fixed else waiting
        found = next((one for one in choice if _same_sentence(sentence, one)), None)
        if found is None or found not in waiting:
            return False
        waiting.remove(found)
    return True


def _points_back(sentence: Reading) -> bool:
    return not sentence.words.isdisjoint(lexicon.POINTING)


def _same_sentence(left: Reading, right: Reading) -> bool:
    if _parts(left) == _parts(right) and (_same_line(left, right) or _swapped_halves(left, right)):
        return True
    return _swapped_copula(left, right) or _swapped_partners(left, right)


def _same_line(left: Reading, right: Reading) -> bool:
    # The owners of one only may be read in another way: of both, "the boss of Ann" would come
    # out as "Ann, of the boss".
    return any(_turned(one, other) for one in _plain_lines(left) for other in _lines(right)) or any(
        _turned(one, other) for one in _lines(left) for other in _plain_lines(right)
    )


@cached_per_text
def _parts(reading: Reading) -> frozenset[str]:
    """Return what stands in a line of a text whichever way it is put.

    Where it differs, no order makes two texts one, and none need be tried.
    """
    return frozenset(_line(reading, reading.tokens)) - _LOOSE


def _plain(reading: Reading) -> _Line:
    """Return the words of a text in order, passives turned."""
    return _line(reading, paired_in_order(active_form(reading.tokens)))


@cached_per_text
def _plain_lines(reading: Reading) -> tuple[_Line, ...]:
    """Return the lines of a sentence as it stands, and with the phrase in front of it last."""
    forms = fronted_forms(reading.tokens)
    return tuple({_line(reading, paired_in_order(active_form(form))) for form in forms})


@cached_per_text
def _lines(reading: Reading) -> tuple[_Line, ...]:
    """Return the lines of a sentence: one for each way in which its owners may be read."""
    return tuple(
        sorted(
            {
                _line(reading, paired_in_order(active_form(form)))
                for tokens in owner_forms(reading.tokens, MOST_OWNERS)
                for form in fronted_forms(tokens)
            }
        )
    )


def _line(reading: Reading, tokens: Sequence[Token]) -> _Line:
    found: list[str] = []
    plain, norms = _places(reading)
    for token in tokens:
        if token.start in plain and is_thing(token):
            found += stems_of(token.bare) or (stem(token.bare),)
        elif token.start in plain and token.lower in _TELLING:
            found.append(token.lower)
        else:
            # The words of a value stand for it together.
            found += [norm for norm in norms.get(token.start, ()) if norm not in found[-1:]]
    return tuple(found)


def _places(reading: Reading) -> tuple[frozenset[int], Mapping[int, Sequence[str]]]:
    """Return where the words stand that are no part of a value, and by their places the values."""
    norms: dict[int, list[str]] = {}
    for value in reading.amounts:
        for at in range(value.start, value.end):
            norms.setdefault(at, []).append(value.norm)
    return frozenset(token.start for token in reading.plain), norms


def _turned(left: _Line, right: _Line) -> bool:
    """Whether one is the other, or has the phrase at its end in front."""
    if left == right:
        return True
    if len(left) <= 2 or sorted(left) != sorted(right):
        return False
    if "because" in left and not lexicon.NEGATORS.isdisjoint(left):
        # "Not hired because he was late" may deny the hiring or the reason.
        return False
    return _phrases(left) == _phrases(right) or any(
        left[cut:] + left[:cut] == right and (left[cut] in _OPENERS or left[0] in _OPENERS)
        for cut in range(1, len(left))
    )


def _phrases(line: _Line) -> tuple[_Line, frozenset[_Line], int]:
    """Return what a line begins with, the phrases behind it, and a mark of their order.

    Phrases with openers of their own ("in Graz", "with two cats") may change places; of two with
    the same opener nobody knows what each belongs to, and the order counts.
    """
    cuts = [at for at, word in enumerate(line) if at and word in lexicon.PLACING | OF_TIME]
    parts = [line[start:end] for start, end in pairwise([0, *cuts, len(line)])]
    openers = [part[0] for part in parts[1:]]
    free = len(set(openers)) == len(openers)
    return parts[0], frozenset(parts[1:]), 0 if free else hash(line)


def _swapped_copula(left: Reading, right: Reading) -> bool:
    """Whether one says "A is B" and the other "B is A", of things that are one."""
    here, there = _sides(left), _sides(right)
    if here is None or there is None:
        return False
    return (
        any(map(_is_definite, here))
        and _one_thing(here[0], there[1])
        and _one_thing(here[1], there[0])
    )


@cached_per_text
def _sides(reading: Reading) -> tuple[Sequence[Token], Sequence[Token]] | None:
    """Return what stands before and behind the only "is", where both sides may be of one thing."""
    tokens = reading.tokens
    cuts = [at for at, token in enumerate(tokens) if token.lower in _COPULAS]
    if len(cuts) != 1 or not 0 < cuts[0] < len(tokens) - 1 or is_past_form(tokens[cuts[0] + 1]):
        return None
    sides = tokens[: cuts[0]], tokens[cuts[0] + 1 :]
    return sides if all(_is_definite(side) or _is_single(side) for side in sides) else None


def _one_thing(tokens: Sequence[Token], others: Sequence[Token]) -> bool:
    """Whether two phrases name one thing: "the pipeline's owner", "the owner of the pipeline"."""
    return _named(tokens) in _bare(others) or _named(others) in _bare(tokens)


def _named(tokens: Sequence[Token]) -> _Line:
    return tuple(
        stem(token.bare) for token in tokens if is_thing(token) or token.lower in ("of", "not")
    )


def _bare(tokens: Sequence[Token]) -> set[_Line]:
    forms = owner_forms(tokens, MOST_OWNERS)
    return {_named(form) for form in forms}


def _is_definite(tokens: Sequence[Token]) -> bool:
    return tokens[0].lower in _DEFINITE or any(token.possessive for token in tokens)


def _is_single(tokens: Sequence[Token]) -> bool:
    """Whether it names one thing: a name or a number, with nothing that asks for another word."""
    return all(token.capitalised or token.text[0].isdigit() for token in tokens)


def _swapped_halves(left: Reading, right: Reading) -> bool:
    """Whether two states stand side by side, and in the other the other way round.

    Not of what is to be done or was done, where the order may matter.
    """
    if left.normative or right.normative or any(map(is_past_form, (*left.tokens, *right.tokens))):
        return False
    return any(
        one[0] == other[1] and one[1] == other[0]
        for one in _halves(_line(left, left.tokens))
        for other in _halves(_line(right, right.tokens))
    )


def _halves(line: _Line) -> Iterator[tuple[_Line, _Line]]:
    cuts = [at for at, word in enumerate(line) if word in _LINKS]
    if len(cuts) == 1 and min(cuts[0], len(line) - cuts[0] - 1) > 1:
        yield line[: cuts[0]], line[cuts[0] + 1 :]


def _swapped_partners(left: Reading, right: Reading) -> bool:
    """Whether two are partners in what goes both ways: "is married to"."""
    persons = left.persons
    if len(persons) != 2 or persons != right.persons:
        return False
    mutual = _mutual()
    return (
        all(
            bool(set(one.stems) & mutual)
            and set(one.stems) <= mutual | {stem(name) for name in persons}
            for one in (left, right)
        )
        and left.stem_set == right.stem_set
    )


@cache
def _mutual() -> frozenset[str]:
    # Not before it is asked for: the first stem takes a dictionary, and a quiet night has none.
    return frozenset(map(stem, lexicon.MUTUAL))
