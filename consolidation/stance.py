"""How a draft says a thing: denied or not, as a fact or a guess, of all or some, by whose word.

Looked at clause by clause: each clause of a draft beside the clauses of its sources that name the
same things, and each clause of a source beside those of the draft.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .company import Weights, likeness, share_told
from .mood import moods_of
from .reading import read
from .statements import Clause, Statement, word_set
from .tokens import is_past_form

# Of the clauses that name the same things, those count that are nearly as like as the likest.
_NEARLY = 0.8
# The least share of a clause's things that its counterpart must name, one way or the other.
_SAME_THINGS = 0.5

# What may be put otherwise: "will not be moved" where another says "is not moved"; "no rebuilds in
# working hours" for "rebuilds must not run".
_TENSES = frozenset({"will", "should"})
_GUESSES = re.compile(
    r"\b(?:possible|possibility|chance|unsure|uncertain|presumably|supposedly|suspicion|rumou?red)\b",
    re.IGNORECASE,
)
_ROUGHLY = re.compile(r"\babout [\d€$£]", re.IGNORECASE)
_NOUNS_TOO = word_set("plan plans hope hopes wish wishes aim aims try tries need needs")
_RANGING = re.compile(r"\bfrom\b.*\bto\b", re.IGNORECASE)
_BIDDEN = re.compile(r"\b(?:(?:is|are) (?:not )?to|needs?|requires?|required|due)\b", re.IGNORECASE)
_ACCORDING = re.compile(r"\baccording to (?:the |Dr |Mrs? |Ms )?(\w+)", re.IGNORECASE)
_REPORTING = re.compile(
    r"\b(?:according|sa(?:y|ys|id)|claim\w*|report\w*|t(?:ell|ells|old)|think\w*|thought|"
    r"mention\w*|word|words|view|opinion|believ\w*|state[sd]?|suspect\w*|find\w*|found)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Line:
    """A clause and the statement that it is part of."""

    clause: Clause
    statement: Statement

    @property
    def moods(self) -> frozenset[str]:
        """Give its moods."""
        return _moods_in(self.clause, self.statement.text)


@lru_cache(maxsize=16_384)
def _moods_in(clause: Clause, text: str) -> frozenset[str]:
    """Give the moods of a clause; "May" the month is none, nor is "the plan"."""
    measures = read(text).measures
    verbs = {thing.token.start for thing in Statement(text).things if thing.is_verb}
    words = " ".join(
        token.text
        for token in clause.tokens
        if not any(value.covers(token.start) for value in measures)
        and not (token.lower in _NOUNS_TOO and token.start not in verbs)
    )
    found = set(moods_of(read(words)))
    if _GUESSES.search(words):
        found.add("may")
    if _ROUGHLY.search(clause.text):
        found.add("about")
    return frozenset(found)


def lines_of(statements: Iterable[Statement]) -> list[Line]:
    """Give all clauses that name something."""
    return [
        Line(clause, statement)
        for statement in statements
        for clause in statement.clauses
        if clause.keys
    ]


# A clause of a draft, with the clauses of the sources that it cites.
Cited = tuple[Line, Sequence[Line]]


def denied_otherwise(draft: Iterable[Cited], weights: Weights) -> Iterator[str]:
    """Find clauses of a draft that deny what their source says, or say what it denies."""
    for line, cited in draft:
        others = counterparts(line, cited, weights)
        if others and not any(_deny_alike(line, other) for other in others):
            if line.clause.denied:
                yield f"denies what its source says: {line.clause.text}"
            elif len(line.clause.keys) > 1:
                yield f"says without the denial of its source: {line.clause.text}"


def denials_lost(sources: Iterable[Line], told: Sequence[Line], weights: Weights) -> Iterator[str]:
    """Find what sources deny and the draft does not."""
    for source in sources:
        if source.clause.denied:
            others = counterparts(source, told, weights)
            if len(source.clause.keys) == 1:
                # "Not with her".
                others += [
                    one
                    for one in told
                    if one.statement.points_back
                    and not source.clause.keys & one.clause.keys
                    and source.statement.keys & one.statement.keys - source.clause.keys
                ]
            if others and not any(_deny_alike(source, other) for other in others):
                yield f"loses the denial of: {source.clause.text}"


def _deny_alike(one: Line, other: Line) -> bool:
    """Whether both deny or neither; "avoid yarn" denies as "do not use yarn" does."""
    by_meaning = one.clause.denials ^ other.clause.denials
    return one.clause.denied == other.clause.denied or bool(by_meaning)


def said_otherwise(draft: Iterable[Cited], weights: Weights) -> Iterator[str]:
    """Find clauses of a draft in a mood that no source has: a fact told as a guess."""
    for line, cited in draft:
        others = counterparts(line, cited, weights)
        parts = [one for one in cited if _is_part(one, line, weights)]
        for mood in sorted(line.moods - _moods_of([*others, *parts]) - _bidden(others)):
            if others:
                yield f"says it as '{mood}', which no source does: {line.clause.text}"


def moods_lost(
    sources: Sequence[Line],
    told: Sequence[Line],
    weights: Weights,
    among: Sequence[Line],
) -> Iterator[str]:
    """Find the moods of sources that the draft drops: a guess told as a fact.

    among: the clauses of all sources, which may say it otherwise.
    """
    for source in sources:
        others = counterparts(source, told, weights)
        for mood in sorted(source.moods - _moods_of(others) if others else ()):
            if not _may_lose(mood, source, others, among, weights):
                yield f"loses the '{mood}' of: {source.clause.text}"


def on_whose_word(draft: Sequence[Statement], sources: Sequence[Statement]) -> Iterator[str]:
    """Find what one source has from someone and the draft tells as a fact."""
    for source in sources:
        for name in _ACCORDING.findall(source.text):
            telling = [one for one in draft if name.lower() in one.reading.words]
            if not any(_REPORTING.search(one.text) and one.keys & source.keys for one in telling):
                yield f"loses 'according to {name}' of: {source.text}"


def counterparts(line: Line, others: Sequence[Line], weights: Weights) -> list[Line]:
    """Give the clauses that are most like a clause."""
    keys = line.clause.keys
    scored = [
        (likeness(keys, other.clause.keys, weights), other)
        for other in others
        if max(
            share_told(keys, other.clause.keys, weights),
            share_told(other.clause.keys, keys, weights),
        )
        >= _SAME_THINGS
    ]
    best = max((score for score, _ in scored), default=0.0)
    return [other for score, other in scored if score and score >= _NEARLY * best]


def _moods_of(lines: Sequence[Line]) -> frozenset[str]:
    return frozenset().union(*(line.moods for line in lines))


def _is_part(part: Line, whole: Line, weights: Weights) -> bool:
    """Whether a clause is told in another, as "but only at night" may be."""
    return share_told(part.clause.keys, whole.clause.keys, weights) >= _SAME_THINGS


def _bidden(others: Sequence[Line]) -> frozenset[str]:
    """Give the moods that say no more than an instruction, or "is to"."""
    bidden = any(
        other.statement.reading.normative
        or _BIDDEN.search(other.clause.text)
        or other.clause.denied
        for other in others
    )
    wanted = "wants to" in _moods_of(others)
    # "From May to June" is until June.
    ranging = any(_RANGING.search(other.clause.text) for other in others)
    return frozenset({"should"} if bidden or wanted else ()) | frozenset(
        {"until"} if ranging else ()
    )


def _may_lose(
    mood: str, source: Line, told: Sequence[Line], sources: Sequence[Line], weights: Weights
) -> bool:
    """Whether a mood may go: another source has none, or what is left is no whole sentence."""
    if mood not in _TENSES:
        return False
    twins = [
        other
        for other in counterparts(source, sources, weights)
        if other.statement is not source.statement
    ]
    if any(mood not in other.moods for other in twins):
        return True
    verbs = {thing.key for thing in source.statement.things if thing.is_verb}
    return not any(
        thing.is_verb
        and thing.key in verbs
        and (thing.token.lower.endswith("s") or is_past_form(thing.token))
        for other in told
        for thing in other.statement.things
        if thing.key in other.clause.keys
    )
