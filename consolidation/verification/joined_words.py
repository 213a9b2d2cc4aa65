"""Whether what a claim joins is joined in a source too.

All words of a blend stand in the sources: "it takes 50 minutes" of one thing, said of another. What
gives it away is that two words side by side in the claim stand together in no statement of a
source, and not in two that say the same thing either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from slowwave.consolidation.text.lexicon import word_set
from slowwave.consolidation.text.reading import Reading
from slowwave.consolidation.text.statements import Statement, Thing, statements_of
from slowwave.consolidation.text.stem_matching import is_known
from slowwave.consolidation.text.tokens import is_past_form
from slowwave.consolidation.thresholds import ONE_MATTER

from .alignment import ClaimStatement, carrying

# Between two words that are two things said one after the other: not joined.
_APART = re.compile(r"[,;:()]|\band\b|\bor\b|\bbut\b")
_RELATIVE = re.compile(r", (?:which|who|as|because|since) ")
# Between a thing and its name, or its owner: "the flag new_pricing", "Technicians of Pallas Print".
_NAMING = re.compile(r"(?:['’]s)?[ \"'`“]*(?:of (?:the )?)?(?:Dr|Mr|Mrs|Ms)?\.? ?[\"'`“]?")
_ADDRESSING = word_set("to from by with for at")


def find_blended(stated: ClaimStatement) -> Iterator[tuple[str, str]]:
    """Yield the pairs of words that a statement joins and no source cited for it does."""
    said = stated.statement.reading.said
    things = stated.statement.things
    for at, (one, other) in enumerate(pairwise(things)):
        between = said[one.token.end : other.token.start]
        if one.token.start == other.token.start or {one.key, other.key} & carrying():
            continue
        if _APART.search(between) and not _RELATIVE.search(between):
            continue
        named = _is_name(one, other, stated.statement.reading) and _NAMING.fullmatch(between)
        if named or not (between.strip() or _does(one) or _does(other)):
            continue
        listed = [one.key, *_listed_with(things, at, said)]
        if not any(_is_joined(key, other.key, stated) for key in listed):
            yield one.token.text, other.token.text


def _listed_with(things: Sequence[Thing], at: int, said: str) -> list[str]:
    """Return the thing before one if "and" or "or" joins them: "builds and pipelines failed"."""
    before, one = things[max(0, at - 1)], things[at]
    between = said[before.token.end : one.token.start]
    return [before.key] if between.strip() in ("and", "or") else []


def _does(thing: Thing) -> bool:
    return thing.is_verb or is_past_form(thing.token) or thing.token.lower.endswith("ing")


def _is_name(one: Thing, other: Thing, reading: Reading) -> bool:
    named = one.token.capitalised or one.token.possessive or one.token.bare in reading.names
    return named or other.token.capitalised or not other.token.text.isalpha()


def _is_joined(one: str, other: str, stated: ClaimStatement) -> bool:
    """Whether a source has both words, two statements on one matter have them, or one has none."""
    if any(is_known(one, keys) and is_known(other, keys) for keys in map(_keys, stated.texts)):
        return True
    having = [here for here in stated.cited if is_known(one, here.context)]
    others = [there for there in stated.cited if is_known(other, there.context)]
    if not having or not others:
        return True
    return any(_matter(here, there) >= ONE_MATTER for here in having for there in others)


def _keys(text: str) -> frozenset[str]:
    return frozenset().union(*(one.keys for one in statements_of(text)))


def _matter(here: Statement, there: Statement) -> float:
    one, other = here.context - carrying(), there.context - carrying()
    shorter = min(len(one), len(other))
    return len(one & other) / shorter if shorter else 0.0


def find_other_addressees(stated: ClaimStatement) -> Iterator[tuple[str, str]]:
    """Yield whom a statement does something to, for or with, and whom its sources name there."""
    theirs: dict[tuple[str, str], list[str]] = {}
    for one in stated.cited:
        for way, behind in _addresses(one):
            theirs.setdefault(way, []).extend(behind)
    known = frozenset().union(*(one.keys for one in stated.cited))
    for way, behind in _addresses(stated.statement):
        if behind[0] in known and way in theirs and behind[0] not in theirs[way]:
            yield behind[0], theirs[way][0]


def _addresses(statement: Statement) -> Iterator[tuple[tuple[str, str], list[str]]]:
    """Yield each word before a preposition with it, and the things behind it."""
    said = statement.reading.said
    for token in statement.reading.tokens:
        before = [one for one in statement.things if one.token.start < token.start]
        behind = [one for one in statement.things if one.token.start > token.start]
        if token.lower not in _ADDRESSING or not before or not behind:
            continue
        first = behind[0]
        apart = _APART.search(said[token.end : first.token.start])
        if not (apart or first.is_value or _is_infinitive(first)):
            yield (before[-1].key, token.lower), [one.key for one in behind]


def _is_infinitive(thing: Thing) -> bool:
    return thing.is_verb and not thing.token.lower.endswith("s")
