"""Marks of denial and of mood in a statement, and the things that each belongs to."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from itertools import islice

from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.anyof import any_of
from slowwave.consolidation.text.statements import Statement
from slowwave.consolidation.text.stem_matching import is_known

# How many words before and behind a mark the things stand that it belongs to.
_BEFORE, _BEHIND = 3, 5

# How near a mark stands to a thing that it belongs to, where it is in another clause.
REACH = 3
# "No less than" denies nothing.
_COMPARED = r"(?! (?:less|more|fewer|later|earlier|sooner|longer) than\b)"
DENIED = re.compile(
    rf"\b(?:not|no|never|none|nobody|(?<!for )nothing|nowhere|neither|nor|cannot|without)\b"
    rf"{_COMPARED}",
    re.IGNORECASE,
)
# What denies in other words; also "too short", for "not long enough".
DENYING = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|nowhere|neither|nor|cannot|without|lack\w*|forb[ia]d\w*|"
    r"prohibit\w*|bann?(?:s|ed)?|refus\w*|exclu\w*|except|unless|barring|instead|rather than|"
    r"(?:leav\w+|left|kept|keep\w*) (?:\w+ )?out|free|\w+-free|out of|unable|un[a-z]{5,}|"
    r"in[a-z]{2,}able|fails?|failing|avoid\w*|apart from|other than|missing|impossible|declin\w*|"
    r"reject\w*|stop\w*|too|only|hardly|barely|rarely|seldom|absent|absence|abstain\w*|omit\w*|"
    r"skip\w*|prevent\w*|den(?:y|ie[sd])|dislik\w*|zero|disallow\w*|exempt\w*|off-limits|waiv\w*|"
    r"holds? off|held off|clos(?:e|es|ed)|shut|for nothing|left as|excepted|exception)\b",
    re.IGNORECASE,
)
# What forbids by its meaning.
REFUSED = re.compile(
    r"\b(?:forb[ia]d\w*|prohibit\w*|bann?(?:s|ed)?|refus\w*|avoid\w*|reject\w*|declin\w*|lack\w*|"
    r"exclu\w*|fails?|stop\w*|disallow\w*|skip\w*|until|instead|only)\b",
    re.IGNORECASE,
)
_GUESS = (
    r"might|perhaps|maybe|probabl\w+|possib\w+|likely|likelihood|presum\w+|suppos\w+|suspect\w*|"
    r"suspicion|think\w*|thought|believ\w*|belief|seem\w*|appear(?:s|ed)? to|apparent\w*|opinion|"
    r"view|guess\w*|assum\w+|reckon\w*|expect\w*|reportedly|allegedly|unsure|uncertain|unclear|"
    r"chances?|feels?|felt|feeling|impression|conceivabl\w+|potential\w*|tentativ\w+|consider\w*|"
    r"doubt\w*|rumou?r\w*|ponder\w*|hunch|estimat\w+|would|not (?:yet )?(?:certain|sure|known)|"
    r"in (?:\w+ )?eyes|for \w+ part|according to|hints?|points? to|sounds? like"
)
_ALLOWED = (
    r"may(?! \d)|can|could|allow\w*|permit\w*|permission|free to|able|possible|option\w*|fine|okay"
)
# A mood by its name: how it is said in what must not be lost, and how in any other words.
MOODS = {
    "may": (
        re.compile(
            rf"\b(?:{any_of(lexicon.HEDGES)}|might|seems?|seemed|suspects?|suspected|thinks?|"
            r"believes?|assumes?|guess\w*|reckons?)\b",
            re.IGNORECASE,
        ),
        re.compile(rf"\b(?:{_GUESS}|may(?! \d)|could)\b", re.IGNORECASE),
    ),
    "can": (
        re.compile(r"\bmay\b|^May\b"),
        re.compile(rf"\b(?:{_GUESS}|{_ALLOWED}|only)\b", re.IGNORECASE),
    ),
    "only": (
        re.compile(r"\b(?:only|solely|exclusively)\b", re.IGNORECASE),
        re.compile(
            r"\b(?:only|solely|exclusive\w*|just|alone|else|except|unless|nothing|nobody|nowhere|"
            r"no one|restrict\w*|limit\w*|confin\w*|apart from|other than|until|not|no|never|"
            r"reserv\w*|merely|purely|without|single|sole|strictly|as soon as|once|before|must|"
            r"provided|if|far|no more|condition\w*|requires?)\b",
            re.IGNORECASE,
        ),
    ),
    "wants to": (
        re.compile(
            r"\b(?:wants?|wanted|wish(?:es)?|hop(?:es?|ing)|plan(?:s|ned)? to|intends?|aims? to|"
            r"tr(?:y|ies|ying) to|consider(?:s|ing)|would like)\b",
            re.IGNORECASE,
        ),
        re.compile(
            rf"\b(?:want\w*|wish\w*|hop(?:e|es|ing|ed)|plan\w*|inten\w+|aim\w*|tr(?:y|ies|ying)|"
            r"goals?|targets?|desire\w*|keen|eager|due|scheduled|mean(?:s|t)?|looking|request\w*|"
            r"ask\w*|demand\w*|prefer\w*|insist\w*|need\w*|must|should|will|is to|are to|to be|"
            rf"going to|set to|like[sd]?|ambition|envisag\w+|propos\w+|design\w*|{_GUESS})\b",
            re.IGNORECASE,
        ),
    ),
    "usually": (
        re.compile(
            r"\b(?:usually|mostly|often|generally|normally|typically|as a rule|sometimes|"
            r"occasionally|rarely|seldom|almost|nearly|barely|partly)\b",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(?:usual\w*|most(?:ly)?|often|general\w*|normal\w*|typical\w*|rule|sometimes|"
            r"occasional\w*|rarely|seldom|tend\w*|default|habit\w*|custom\w*|part(?:ly|ially)?|"
            r"almost|nearly|barely|hardly|close to|just (?:under|over|short)|not quite|largely|"
            r"frequently|many|at times|now and then|common\w*|regular\w*|majority|"
            r"virtually|practically|about|around|roughly)\b",
            re.IGNORECASE,
        ),
    ),
}


def head_of(statement: Statement, at: int) -> frozenset[str]:
    """Return the thing that a denial denies: the first behind it in its clause."""
    clause = statement.clause_at(at)
    behind = (
        key for key, place in statement.spots if place > at and statement.clause_at(place) == clause
    )
    return frozenset(islice(behind, 1))


@lru_cache(maxsize=16_384)
def _marks_in(text: str, pattern: re.Pattern[str]) -> tuple[int, ...]:
    statement = Statement(text)
    starts = [token.start for token in statement.reading.tokens]
    return tuple(
        bisect_left(starts, found.end()) - 1 for found in pattern.finditer(statement.reading.said)
    )


def marks_of(statement: Statement, pattern: re.Pattern[str]) -> tuple[int, ...]:
    """Return the places among the words of a statement where a mark stands."""
    return _marks_in(statement.text, pattern)


def belonging(statement: Statement, at: int) -> frozenset[str]:
    """Return the things that a mark belongs to: those near it in its clause, or behind it."""
    clause = statement.clause_at(at)
    near = [(key, place) for key, place in statement.spots if -_BEFORE <= place - at <= _BEHIND]
    within = [(key, place) for key, place in near if statement.clause_at(place) == clause]
    behind = [key for key, place in near if place > at]
    if any(place > at for _, place in within):
        return frozenset(key for key, _ in within)
    # "That Ann paused only | when the lag is low".
    return frozenset(behind) or frozenset(key for key, _ in near)


def says_at(
    keys: frozenset[str], statement: Statement, pattern: re.Pattern[str], reach: int = REACH
) -> bool | None:
    """Whether a mark stands near one of some things in a statement; None if it names none."""
    places = [place for key, place in statement.spots if is_known(key, keys)]
    if not places:
        return None
    return any(
        abs(mark - place) <= reach
        or statement.clause_at(mark) == statement.clause_at(place)
        or points_back(statement, mark)
        for mark in marks_of(statement, pattern)
        for place in places
    )


def points_back(statement: Statement, mark: int) -> bool:
    """Whether a mark belongs to what was named before it: "without it", "Ann did not"."""
    clause = statement.clause_at(mark)
    places = [place for _, place in statement.spots if statement.clause_at(place) == clause]
    if statement.reading.tokens[mark].lower in lexicon.NEGATORS:
        return not any(place > mark for place in places)
    return not places
