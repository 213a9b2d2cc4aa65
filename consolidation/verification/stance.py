"""How a draft says a thing: denied or not, as a fact or a guess, of all or some, by whose word.

A mark, as "not" or "perhaps", belongs to the things that stand near it. It must be told at the same
things, but in any of its forms: "not available" and "unavailable", "may" and "possibly".
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.anyof import any_of
from slowwave.consolidation.text.statements import Statement, is_known
from slowwave.consolidation.text.weights import Weights, likeness
from slowwave.consolidation.thresholds import AS_LIKE, MOST_VOICES, NEARLY_AS_LIKE

# How many words before and behind a mark the things stand that it belongs to.
_BEFORE, _BEHIND = 3, 5
# How near a mark stands to a thing that it belongs to, where it is in another clause.
_REACH = 3
# The same for a mood, and for a rule, which is one sentence.
_FAR = 8
# "No less than" denies nothing.
_COMPARED = r"(?! (?:less|more|fewer|later|earlier|sooner|longer) than\b)"
_DENIED = re.compile(
    rf"\b(?:not|no|never|none|nobody|(?<!for )nothing|nowhere|neither|nor|cannot|without)\b"
    rf"{_COMPARED}",
    re.IGNORECASE,
)
# What denies in other words; also "too short", for "not long enough".
_DENYING = re.compile(
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
_REFUSED = re.compile(
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
        for at in _marks(statement, _DENIED):
            keys = _belonging(statement, at)
            near = [_says_at(keys, one, _DENYING, reach=1) for one in cited]
            back = _points_back(statement, at) and any(_marks(one, _DENYING) for one in cited)
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
            and not _marks(statement, _DENYING)
            and all(_denies_one_of(one, statement.keys) for one in likest)
        ):
            yield f"says without the denial of its source: {statement.text}"


def _denies_one_of(statement: Statement, keys: frozenset[str]) -> bool:
    return any(_head(statement, at) & keys for at in _marks(statement, _DENIED))


def _denied_in_other_words(
    statement: Statement, keys: frozenset[str], cited: Sequence[Statement], weights: Weights
) -> bool:
    """Whether what is denied has no words of a source, and the likest statement denies."""
    if any(is_known(key, one.keys) for key in keys for one in cited):
        return False
    likest = counterparts(statement, cited, weights)
    return any(_marks(one, _DENYING) for one in likest) or any(
        _marks(one, _DENIED) for one in cited
    )


def denials_lost(
    sources: Iterable[Statement], draft: Sequence[Statement], weights: Weights
) -> Iterator[str]:
    """Find what sources deny and the draft says without the denial."""
    for source in sources:
        if _loses(source, draft, weights, _DENIED, _DENYING):
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
    marks = {"denial": (_DENIED, _DENYING), **MOODS}
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
    if len(_marks(rule, _DENIED)) % 2 == 0:
        return False
    draft = [counterparts(rule, statements, weights, 1.0) for statements in texts]
    odd = [any(_denies_oddly(one) for one in statements) for statements in draft]
    return sum(odd) < MOST_VOICES * len(odd)


def _denies_oddly(statement: Statement) -> bool:
    denied = len(_marks(statement, _DENIED))
    return denied % 2 == 1 or (not denied and bool(_marks(statement, _REFUSED)))


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
    reach: int = _REACH,
) -> bool:
    """Whether a mark of a source stands nowhere near the things it belongs to in the draft."""
    marks = _marks(source, said)
    likest = counterparts(source, draft, weights) if marks else []
    for at in marks:
        keys = _belonging(source, at)
        mentioning = _naming(draft, keys, most=said is _DENIED)
        head = _head(source, at)
        of_head = [one for one in draft if said is _DENIED and head & one.keys]
        if of_head:
            if any(_says_at(keys, one, _DENIED, reach) for one in mentioning):
                continue
            keys = head
            likest = mentioning = counterparts(source, of_head, weights, AS_LIKE)
        if any(_says_at(keys, one, otherwise, reach) is False for one in likest) and not any(
            _says_at(keys, one, otherwise, reach) for one in mentioning
        ):
            return True
    return False


def _head(statement: Statement, at: int) -> frozenset[str]:
    """Return the thing that a denial denies: the first behind it in its clause."""
    clause = statement.clause_at(at)
    behind = (
        key for key, place in statement.spots if place > at and statement.clause_at(place) == clause
    )
    return frozenset(islice(behind, 1))


def _naming(draft: Sequence[Statement], keys: frozenset[str], most: bool) -> list[Statement]:
    """Return the statements that name half of some things, or only those that name most of them."""
    named = [sum(is_known(key, one.context) for key in keys) for one in draft]
    least = max(MOST_VOICES * len(keys), max(named, default=0) if most else 0)
    return [one for count, one in zip(named, draft, strict=True) if count >= least]


@lru_cache(maxsize=16_384)
def _marks_in(text: str, pattern: re.Pattern[str]) -> tuple[int, ...]:
    statement = Statement(text)
    starts = [token.start for token in statement.reading.tokens]
    return tuple(
        bisect_left(starts, found.end()) - 1 for found in pattern.finditer(statement.reading.said)
    )


def _marks(statement: Statement, pattern: re.Pattern[str]) -> tuple[int, ...]:
    """Return the places among the words of a statement where a mark stands."""
    return _marks_in(statement.text, pattern)


def _belonging(statement: Statement, at: int) -> frozenset[str]:
    """Return the things that a mark belongs to: those near it in its clause, or behind it."""
    clause = statement.clause_at(at)
    near = [(key, place) for key, place in statement.spots if -_BEFORE <= place - at <= _BEHIND]
    within = [(key, place) for key, place in near if statement.clause_at(place) == clause]
    behind = [key for key, place in near if place > at]
    if any(place > at for _, place in within):
        return frozenset(key for key, _ in within)
    # "That Ann paused only | when the lag is low".
    return frozenset(behind) or frozenset(key for key, _ in near)


def _says_at(
    keys: frozenset[str], statement: Statement, pattern: re.Pattern[str], reach: int = _REACH
) -> bool | None:
    """Whether a mark stands near one of some things in a statement; None if it names none."""
    places = [place for key, place in statement.spots if is_known(key, keys)]
    if not places:
        return None
    return any(
        abs(mark - place) <= reach
        or statement.clause_at(mark) == statement.clause_at(place)
        or _points_back(statement, mark)
        for mark in _marks(statement, pattern)
        for place in places
    )


def _points_back(statement: Statement, mark: int) -> bool:
    """Whether a mark belongs to what was named before it: "without it", "Ann did not"."""
    clause = statement.clause_at(mark)
    places = [place for _, place in statement.spots if statement.clause_at(place) == clause]
    if statement.reading.tokens[mark].lower in lexicon.NEGATORS:
        return not any(place > mark for place in places)
    return not places
