"""The units that a text names without a number: "given in milliseconds", "the timeout (ms)"."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from . import lexicon
from .tokens import Token, is_content, stem
from .units import DIMENSIONS, UNITS

_POINTING = lexicon.DETERMINERS | {"this", "that", "these", "those"}


def find_bare_units(
    text: str, tokens: Sequence[Token], taken: Collection[int], denied: Collection[str]
) -> frozenset[tuple[str, str]]:
    """Return each unit with what it measures, but for those that are denied.

    taken: the places in the text that values take up. "The minutes" of a meeting are no unit, nor
    is a "second" one; a "pound" measures money or weight.
    """
    return frozenset(
        (dimension, UNITS[spelled])
        for token, spelled in _named(text, tokens)
        if token.start not in taken and stem(token.bare) not in denied
        for dimension in DIMENSIONS[UNITS[spelled]]
    )


def _named(text: str, tokens: Sequence[Token]) -> Iterator[tuple[Token, str]]:
    """Yield each word that names a unit, with how that is spelled."""
    for at, token in enumerate(tokens):
        spelled = f"°{token.lower}" if text[: token.start].endswith("°") else token.lower
        if not UNITS.get(spelled):
            continue
        led = tokens[at - 1].lower if at else ""
        if spelled[0] == "°" or _is_plural(spelled):
            if led not in _POINTING:
                yield token, spelled
        elif _in_brackets(text, token) or (led == "in" != spelled and _ends_there(tokens[at:])):
            yield token, spelled


def _ends_there(tokens: Sequence[Token]) -> bool:
    """Whether no word goes on with the first one: "in ms", but not "in second gear"."""
    first, *rest = tokens[:2]
    return not any(is_content(one.bare) and one.start == first.end + 1 for one in rest)


def _is_plural(word: str) -> bool:
    ones = (word.removesuffix(ending) for ending in ("s", "es") if word.endswith(ending))
    return word == "feet" or any(UNITS.get(one) == UNITS[word] for one in ones)


def _in_brackets(text: str, token: Token) -> bool:
    return text[: token.start].endswith("(") and text[token.end :].startswith(")")
