"""How a draft says a thing: denied or not, as a fact or a guess, of all or some, by whose word.

A mark, as "not" or "perhaps", belongs to the things that stand near it. It must be told at the same
things, but in any of its forms: "not available" and "unavailable", "may" and "possibly".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from slowwave.consolidation.text.statements import Statement
from slowwave.consolidation.text.stem_matching import is_known
from slowwave.consolidation.text.weights import Weights, likeness
from slowwave.consolidation.thresholds import AS_LIKE, MOST_VOICES, NEARLY_AS_LIKE

from .marks import (
    DENIED,
    DENYING,
    MOODS,
    REACH,
    REFUSED,
    belonging,
    head_of,
    marks_of,
    points_back,
    says_at,
)

# The same for a mood, and for a rule, which is one sentence.
_FAR = 8

_ACCORDING = re.compile(r"\baccording to (?:the |Dr |Mrs? |Ms )?(\w+)", re.IGNORECASE)

_REPORTING = re.compile(
    r"\b(?:according|sa(?:y|ys|id|ying)|claim\w*|report\w*|t(?:ell|ells|old)|think\w*|thought|"
    r"mention\w*|words|view|opinion|believ\w*|state[sd]?|suspect\w*|f(?:i|ou)nd\w*|noted|"
    r"observ\w*|reckon\w*|argu\w*|maintain\w*|complain\w*|point\w*)\b",
    re.IGNORECASE,
)


def denied_otherwise(
    draft: Iterable[tuple[Statement, Sequence[Statement]]], weights: Weights
) -> Iterator[str]:
    """Find what a draft denies and the sources cited for it do not.

    draft: the statements of the draft, each with the statements that it may be made from.
    """
    for statement, cited in draft:
        for at in marks_of(statement, DENIED):
            keys = belonging(statement, at)
            near = [says_at(keys, one, DENYING, reach=1) for one in cited]
            back = points_back(statement, at) and any(marks_of(one, DENYING) for one in cited)
            if (
                not back
                and not any(near)
                and not _denied_in_other_words(statement, keys, cited, weights)
            ):
                word = statement.reading.tokens[at].text
                yield f"denies ({word}) what its source says: {statement.text}"
                break


def affirmed(
    draft: Iterable[tuple[Statement, Sequence[Statement]]], weights: Weights
) -> Iterator[str]:
    """Find what a draft says and each source cited for it denies, though it denies it elsewhere."""
    for statement, cited in draft:
        likest = counterparts(statement, cited, weights, AS_LIKE)
        if (
            likest
            and not marks_of(statement, DENYING)
            and all(_denies_one_of(one, statement.keys) for one in likest)
        ):
            yield f"says without the denial of its source: {statement.text}"


def _denies_one_of(statement: Statement, keys: frozenset[str]) -> bool:
    return any(head_of(statement, at) & keys for at in marks_of(statement, DENIED))


def _denied_in_other_words(
    statement: Statement, keys: frozenset[str], cited: Sequence[Statement], weights: Weights
) -> bool:
    """Whether what is denied has no words of a source, and the likest statement denies."""
    if any(is_known(key, one.keys) for key in keys for one in cited):
        return False
    likest = counterparts(statement, cited, weights)
    return any(marks_of(one, DENYING) for one in likest) or any(
        marks_of(one, DENIED) for one in cited
    )


def denials_lost(
    sources: Iterable[Statement], draft: Sequence[Statement], weights: Weights
) -> Iterator[str]:
    """Find what sources deny and the draft says without the denial."""
    for source in sources:
        if _loses(source, draft, weights, DENIED, DENYING):
            yield f"says without the denial of its source: {source.text}"


def moods_lost(
    sources: Iterable[Statement], draft: Sequence[Statement], weights: Weights
) -> Iterator[str]:
    """Find the moods of sources that the draft drops: a guess told as a fact."""
    for source in sources:
        for mood, (said, otherwise) in MOODS.items():
            if _loses(source, draft, weights, said, otherwise, _FAR):
                yield f"loses the '{mood}' of: {source.text}"


def lost_by_most(
    texts: Sequence[Sequence[Statement]], draft: Sequence[Statement], weights: Weights
) -> Iterator[str]:
    """Find the denials and moods that most sources of a rule have and the rule has not."""
    marks = {"denial": (DENIED, DENYING), **MOODS}
    for name, (said, otherwise) in marks.items():
        voices = [
            any(_loses(one, draft, weights, said, otherwise, _FAR) for one in statements)
            for statements in texts
        ]
        if sum(voices) >= MOST_VOICES * len(voices):
            yield f"loses the '{name}' of most sources"


def denies_unlike_most(
    rule: Statement, texts: Sequence[Sequence[Statement]], weights: Weights
) -> bool:
    """Whether a rule denies an odd number of times, and few of its sources do."""
    if len(marks_of(rule, DENIED)) % 2 == 0:
        return False
    draft = [counterparts(rule, statements, weights, 1.0) for statements in texts]
    odd = [any(_denies_oddly(one) for one in statements) for statements in draft]
    return sum(odd) < MOST_VOICES * len(odd)


def _denies_oddly(statement: Statement) -> bool:
    denied = len(marks_of(statement, DENIED))
    return denied % 2 == 1 or (not denied and bool(marks_of(statement, REFUSED)))


def on_whose_word(draft: Sequence[Statement], sources: Sequence[Statement]) -> Iterator[str]:
    """Find what one source has from someone and the draft tells without naming them."""
    for source in sources:
        for name in _ACCORDING.findall(source.text):
            if not any(
                name.lower() in one.reading.words
                and _REPORTING.search(one.text)
                and one.keys & source.keys
                for one in draft
            ):
                yield f"loses 'according to {name}' of: {source.text}"


def counterparts(
    statement: Statement,
    others: Iterable[Statement],
    weights: Weights,
    nearly: float = NEARLY_AS_LIKE,
) -> list[Statement]:
    """Return the statements that are most like a statement."""
    scored = [(likeness(statement.keys, one.context, weights), one) for one in others]
    best = max((score for score, _ in scored), default=0.0)
    return [one for score, one in scored if score and score >= nearly * best]


def _loses(
    source: Statement,
    draft: Sequence[Statement],
    weights: Weights,
    said: re.Pattern[str],
    otherwise: re.Pattern[str],
    reach: int = REACH,
) -> bool:
    """Whether a mark of a source stands nowhere near the things it belongs to in the draft."""
    marks = marks_of(source, said)
    likest = counterparts(source, draft, weights) if marks else []
    for at in marks:
        keys = belonging(source, at)
        mentioning = _naming(draft, keys, most=said is DENIED)
        head = head_of(source, at)
        of_head = [one for one in draft if said is DENIED and head & one.keys]
        if of_head:
            if any(says_at(keys, one, DENIED, reach) for one in mentioning):
                continue
            keys = head
            likest = mentioning = counterparts(source, of_head, weights, AS_LIKE)
        if any(says_at(keys, one, otherwise, reach) is False for one in likest) and not any(
            says_at(keys, one, otherwise, reach) for one in mentioning
        ):
            return True
    return False


def _naming(draft: Sequence[Statement], keys: frozenset[str], most: bool) -> list[Statement]:
    """Return the statements that name half of some things, or only those that name most of them."""
    named = [sum(is_known(key, one.context) for key in keys) for one in draft]
    least = max(MOST_VOICES * len(keys), max(named, default=0) if most else 0)
    return [one for count, one in zip(named, draft, strict=True) if count >= least]
