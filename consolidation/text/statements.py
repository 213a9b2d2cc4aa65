"""What a text states, a statement at a time: the things it names, in order, and its clauses.

A statement is a sentence, or what stands between two semicolons. It is taken as the things that it
names: the stems of its content words, and its values. Which of its words are verbs is told by
where they stand and how they end; open classes of words are never listed.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

from . import lexicon, units
from .lexicon import word_set
from .reading import Reading, read
from .tokens import Token, is_content, stem, stems_of
from .values import Value
from .verbs import AUXILIARIES, CLAUSE_WORDS, HAVING_OR_GETTING, SUBJECTS, verbs_of

# A statement of fewer things goes on with the one before it.
_NEAR = 3


_PRONOUNS = word_set(
    "he she it they him her them his hers its their theirs this that these those one ones there "
    "then both such who which whose whom"
)
# Words that join or place, and modal verbs: no things of their own.
_NO_THINGS = (
    lexicon.SUBORDINATORS
    | lexicon.PLACING
    | lexicon.OPENING
    | lexicon.NEGATORS
    | lexicon.HEDGES
    | AUXILIARIES
    | word_set(
        "along prior per together upon towards via except till past though also "
        "therefore thus however moreover despite furthermore instead "
        "otherwise besides"
    )
)
# What begins a phrase. Not "of", which holds one together, nor "to", which stands before verbs.
_PREPOSITIONS = (lexicon.PLACING | lexicon.OPENING) - {"per", "of"}
_CONJUNCTIONS = word_set(
    "because if when whenever while whereas unless where until since as after before unlike"
)
_UNITS = frozenset(units.UNITS.values()) | frozenset(units.RATES.values()) | {"night"}
# Not inside of quotation marks.
_SEGMENT_END = re.compile(r';\s+(?=(?:[^"]*"[^"]*")*[^"]*$)')
# What parts a statement into clauses, between words or as a word.
_CLAUSE_MARK = re.compile(r"[,:()\u2013\u2014]|\s-\s")


@dataclass(frozen=True, slots=True)
class Thing:
    """A content word or a value of a statement."""

    # A stem; or the family and norm of a value.
    key: str
    token: Token
    # Whether it is a number with its unit, a date, a time.
    is_value: bool
    is_verb: bool


@dataclass(frozen=True, slots=True)
class Phrase:
    """The things that stand together behind a preposition, or at the head of a clause."""

    things: tuple[Thing, ...]
    # Whether a preposition opens it; that, a mark or "and", and no conjunction.
    placing: bool
    joined: bool
    # Whether "and" or "or" opens it.
    added: bool


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a statement that says one thing."""

    tokens: tuple[Token, ...]
    keys: frozenset[str]
    text: str


@dataclass(frozen=True)
class Statement:
    """A sentence, or a part of it between semicolons."""

    text: str
    # What stands right before it in the same text, and whether in the same sentence.
    before: str = ""
    goes_on: bool = False

    @cached_property
    def reading(self) -> Reading:
        """Return it read."""
        return read(self.text)

    @property
    def things(self) -> tuple[Thing, ...]:
        """Return its things in order."""
        return _things_of(self.text)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Return the same as what they are compared by."""
        return tuple(thing.key for thing in self.things)

    @cached_property
    def keys(self) -> frozenset[str]:
        """Return the same without their order."""
        return frozenset(self.order)

    @cached_property
    def points_back(self) -> bool:
        """Whether a word in it stands for something said before."""
        return not self.reading.words.isdisjoint(_PRONOUNS)

    @cached_property
    def context(self) -> frozenset[str]:
        """Return its things, and those of the statement before if it goes on with them."""
        if self.before and (self.goes_on or self.points_back or len(self.keys) < _NEAR):
            return self.keys | Statement(self.before).keys
        return self.keys

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """Return its parts that say one thing each."""
        return _clauses_of(self.text)

    @property
    def spots(self) -> tuple[tuple[str, int], ...]:
        """Return its things, each with its place among the words."""
        return _spots_of(self.text)

    @property
    def verbs(self) -> frozenset[int]:
        """Return where its verbs begin in the text."""
        return _verbs_in(self.text)

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        """Return its things by the phrases that they stand in: "on Monday", "with the lid"."""
        return _phrases_of(self.text)

    def clause_at(self, place: int) -> int:
        """Return the number of the clause in which a word stands."""
        ends = accumulate(len(clause.tokens) for clause in self.clauses)
        return sum(place >= end for end in ends)


@lru_cache(maxsize=2_048)
def statements_of(text: str) -> tuple[Statement, ...]:
    """Return the statements of a text in order."""
    found: list[Statement] = []
    for sentence in read(text).sentences:
        for number, part in enumerate(_SEGMENT_END.split(sentence)):
            found.append(Statement(part, found[-1].text if found else "", number > 0))
    return tuple(found)


@lru_cache(maxsize=2_048)
def _things_of(text: str) -> tuple[Thing, ...]:
    reading = read(text)
    verbs = {token.start for part in _parts(reading) for token in verbs_of(part)}
    return tuple(_things(reading, verbs))


def _things(reading: Reading, verbs: Container[int]) -> Iterator[Thing]:
    values_at: dict[int, list[Value]] = {}
    for value in reading.measures:
        for at in range(value.start, value.end):
            values_at.setdefault(at, []).append(value)
    counted: set[int] = set()
    for token in reading.tokens:
        values = values_at.get(token.start, [])
        for value in values:
            if value.start not in counted:
                counted.add(value.start)
                yield from (_as_thing(one, token) for one in values if one.start == value.start)
        if not values and token.lower not in _NO_THINGS:
            for part in stems_of(token.bare):
                yield Thing(part, token, False, token.start in verbs)


@lru_cache(maxsize=2_048)
def _verbs_in(text: str) -> frozenset[int]:
    return frozenset(thing.token.start for thing in _things_of(text) if thing.is_verb)


@lru_cache(maxsize=2_048)
def _spots_of(text: str) -> tuple[tuple[str, int], ...]:
    places = {token.start: at for at, token in enumerate(read(text).tokens)}
    return tuple((thing.key, places[thing.token.start]) for thing in _things_of(text))


@lru_cache(maxsize=2_048)
def _phrases_of(text: str) -> tuple[Phrase, ...]:
    reading = read(text)
    starts = {part[0].start for part in _parts(reading)}
    by_start: dict[int, list[Thing]] = {}
    for thing in _things_of(text):
        by_start.setdefault(thing.token.start, []).append(thing)
    phrases: list[tuple[list[Thing], Token | None]] = [([], None)]
    for token in reading.tokens:
        if token.start in starts or token.lower in _PREPOSITIONS:
            phrases.append(([], token))
        phrases[-1][0].extend(by_start.get(token.start, []))
    return tuple(_phrase(things, opener) for things, opener in phrases if things)


def _phrase(things: Sequence[Thing], opener: Token | None) -> Phrase:
    word = opener.lower if opener else ""
    placing = word in _PREPOSITIONS - _CONJUNCTIONS
    return Phrase(
        tuple(things), placing, bool(word) and word not in _CONJUNCTIONS, word in ("and", "or")
    )


@lru_cache(maxsize=2_048)
def _clauses_of(text: str) -> tuple[Clause, ...]:
    reading = read(text)
    return tuple(_clause(reading, part) for part in _parts(reading))


def _clause(reading: Reading, tokens: tuple[Token, ...]) -> Clause:
    first, last = tokens[0].start, tokens[-1].start + len(tokens[-1].text)
    inside = (thing for thing in _things_of(reading.text) if first <= thing.token.start < last)
    return Clause(tokens, frozenset(thing.key for thing in inside), reading.said[first:last])


def _parts(reading: Reading) -> list[tuple[Token, ...]]:
    """Cut a statement where a clause begins."""
    tokens = reading.tokens
    starts = [0]
    for at in range(1, len(tokens)):
        # What names nothing is no clause: "perhaps, because of rain".
        named = any(_names(token) for token in tokens[starts[-1] : at])
        if named and (_begins_clause(reading, at) or _ends_denial(tokens, starts[-1], at)):
            starts.append(at)
    ends = [*starts[1:], len(tokens)]
    return [tokens[a:b] for a, b in zip(starts, ends, strict=True) if b > a]


def _as_thing(value: Value, token: Token) -> Thing:
    # "7 euros a jar" and "7 euros per jar".
    if value.kind == "rate" and token.bare not in units.UNITS and value.norm not in _UNITS:
        return Thing(stem(value.norm), token, False, False)
    return Thing(f"{value.family} {value.norm}", token, True, False)


def _ends_denial(tokens: Sequence[Token], start: int, at: int) -> bool:
    """Whether what is denied ends before a word: "those that have no key | are rejected"."""
    had = start and tokens[start].lower == "no" and tokens[start - 1].lower in HAVING_OR_GETTING
    return bool(had) and tokens[at].lower in lexicon.BEING


def _names(token: Token) -> bool:
    return token.text[0].isdigit() or (is_content(token.bare) and token.lower not in _NO_THINGS)


def _begins_clause(reading: Reading, at: int) -> bool:
    before, token = reading.tokens[at - 1], reading.tokens[at]
    between = reading.said[before.start + len(before.text) : token.start]
    if _CLAUSE_MARK.search(between) or token.lower in CLAUSE_WORDS:
        return True
    if token.lower in ("no", "without"):
        return True
    # "With Ann, not with Ben". But: "does not take", "and not".
    return token.lower == "not" and before.lower not in AUXILIARIES | CLAUSE_WORDS | SUBJECTS
