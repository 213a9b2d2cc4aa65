"""Whether it is said as a fact, a plan, a wish or a question; of all or some; on a condition.

"The team migrated", "the team wants to migrate" and "did the team migrate?" share nearly every
word. So do "some customers", "most customers" and "the customers", or "passes" and "almost
passes". None of them may stand for another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from slowwave.consolidation import thresholds
from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.anyof import any_of
from slowwave.consolidation.text.reading import Reading, cached_per_text
from slowwave.consolidation.text.tokens import Token, is_content, is_past_form, is_verb, stem

from .objections import Objection

# What a mood is called, and the words that put a sentence into it.
_MOODS = {
    "will": r"will|going to|shall|about to|(?:is|are) to(?= \w)",
    "wants to": r"wants?|wanted|wish(?:es)?|hop(?:es?|ing) to|plans? to|planning|planned|"
    r"intends?|tr(?:y|ies|ied|ying) to|aims?|considers?|considering",
    "should": r"should|ought|must|ha(?:s|ve) to|need(?:s|ed)? to|supposed to",
    "can": r"can|could|able to",
    "may": rf"{any_of(lexicon.HEDGES | lexicon.OPINING)}|may(?! \d)|might|seemed|would",
    "used to": r"used to|formerly|previously|no longer|not any ?more",
    "almost": r"almost|nearly|barely|hardly|partly|partially",
    "unless": r"unless|except|apart from",
    "if": r"if|provided|in case",
    "only": r"only|solely|exclusively",
    "until": r"until|till",
    "some": r"some|several|a few",
    "most": r"(?<!at )most|mostly|usually|often",
    "sometimes": r"sometimes|occasionally|rarely|seldom",
    "half": r"half|halved|halves",
    "third": r"a third|two thirds",
    "quarter": r"a quarter|three quarters",
    "double": r"doubled?|doubles",
    "triple": r"tripled?|triples",
    "or": r"or",
}
# All of them at once: no words of one stand within the words of another.
_ANY_MOOD = re.compile(
    rf"\b(?:{'|'.join(f'({words})' for words in _MOODS.values())})\b",
    re.IGNORECASE,
)
_NAMED = (*_MOODS,)
_BEHIND = re.compile(r" ([a-z]+)")
_ASKS = re.compile(r"\?(?=[\s\"')]|$)")
# What no other words may stand for: "can" and "if" are put in other ways, "wants to" is not.
_CERTAIN = frozenset(
    {"will", "wants to", "used to", "almost", "unless", "only", "until", "some", "most"}
    | {"sometimes", "half", "third", "quarter", "double", "triple", "or", "?"}
)
_FORBIDS = re.compile(
    r"\b(?:(?:must|may|can|could|should) (?:not|never)|"
    r"(?:not|never) (?:be )?(?:allowed|permitted|welcome)|forbid(?:s|den)?|"
    r"prohibit(?:s|ed)?|ban(?:s|ned)?|barred|off[- ]limits|breach(?:es)?|"
    r"violat(?:es?|ed|ion)|no access)\b",
    re.IGNORECASE,
)
_ALLOWS = re.compile(
    r"\b(?:allow(?:s|ed)?|permit(?:s|ted)?|welcome|free to|may(?! \d)|can|no obstacle)\b",
    re.IGNORECASE,
)
_LEANING = lexicon.PASSIVE_AUXILIARIES | lexicon.HAVING
# What may stand between an auxiliary and its participle.
_BETWEEN = frozenset({"not", "never", "just", "already", "also", "still", "been", "being", "only"})
# Verbs that are no content words: they count although they are never among the stems.
_COPULAS = frozenset({"be", "do"})
# How many words behind "was" or "did" its verb may stand: "was the small castle ever sold".
_REACH = 6


def mood(left: Reading, right: Reading) -> Iterator[Objection]:
    """One is a plan, a wish, a duty, a question, or true of another share or condition."""
    here, there = moods_of(left), moods_of(right)
    if left.normative and right.normative:
        # Two voices of a rule may say "must" and "never" of the same.
        here, there = here - {"should"}, there - {"should"}
    if here == there:
        return
    fewer = min(len(left.stem_set), len(right.stem_set))
    # What is wished for in one and a duty in the other is not the same even in other words.
    rivals = here and there and not here & there
    share = thresholds.RIVAL_MOOD_MATTER if rivals else thresholds.MOOD_MATTER
    same = len(left.stem_set & right.stem_set) >= share * fewer
    only_here, only_there = (", ".join(sorted(part)) for part in (here - there, there - here))
    certain = here ^ there <= _CERTAIN
    yield Objection("mood", only_here, only_there, conflict=same, doubtful=not certain)


def permission(left: Reading, right: Reading) -> Iterator[Objection]:
    """One allows what the other forbids: "guests are welcome" against "guests aren't allowed"."""
    here, there = _permits(left), _permits(right)
    if here is None or there is None or here == there:
        return
    if len(left.stem_set & right.stem_set) >= thresholds.PERMITTED_MATTER:
        words = {True: "allowed", False: "not allowed"}
        yield Objection("negation", words[here], words[there], doubtful=True)


@cached_per_text
def _permits(reading: Reading) -> bool | None:
    """Whether a text allows (True) or forbids (False) something; None if neither, or both."""
    forbids = _FORBIDS.search(reading.said) is not None
    rest = _FORBIDS.sub(" ", reading.said) if forbids else reading.said
    allows = _ALLOWS.search(rest) is not None
    return allows if allows != forbids else None


def tense(left: Reading, right: Reading) -> Iterator[Objection]:
    """One says that it is so, the other that it was: "migrates" against "migrated"."""
    here, there = pasts_of(left), pasts_of(right)
    if here == there:
        return
    known = (left.stem_set & right.stem_set) | _COPULAS
    forms = {word for word in here ^ there if word in known}
    if forms:
        one = _in_their_tense(left, forms, here)
        other = _in_their_tense(right, forms, there)
        yield Objection("tense", one, other, conflict=False)


@cached_per_text
def moods_of(reading: Reading) -> frozenset[str]:
    """Return the moods that a text is in, by their names."""
    found = {
        _NAMED[(match.lastindex or 1) - 1]
        for match in _ANY_MOOD.finditer(reading.said)
        if not match.group().lower().endswith(("s to", "e to")) or _before_verb(match)
    }
    return frozenset(found | {"?"} if _ASKS.search(reading.said) else found)


def _before_verb(found: re.Match[str]) -> bool:
    """Whether a verb stands behind "is to": "is to wait", not "the allergy is to celery"."""
    words = _BEHIND.match(found.string, found.end())
    return words is not None and (words[1] in ("be", "not") or is_verb(words[1]))


def _in_their_tense(reading: Reading, verbs: Iterable[str], past: frozenset[str]) -> str:
    """Return verbs as they stand in a text, for people to read."""
    copulas = {"be": ("is", "was"), "do": ("does", "did")}
    words = [
        copulas[verb][verb in past] if verb in copulas else reading.spelled([verb])[0]
        for verb in sorted(verbs)
    ]
    return ", ".join(words)


@cached_per_text
def pasts_of(reading: Reading) -> frozenset[str]:
    """Return the stems of the verbs that stand in the past tense, as far as words show it.

    Of "did Ann sell it", "Ann sold it" and "it was sold by Ann" the same: "sell". Not of "it is
    sold" nor of "it has been sold". A "was" without a participle stands for itself.
    """
    tokens = reading.tokens
    found = set()
    for at, token in enumerate(tokens):
        if token.lower in ("was", "were"):
            found.add(_participle_behind(tokens, at) or "be")
        elif token.lower == "did":
            found.add(_verb_behind(tokens, at))
        elif is_past_form(token) and not _leans_on_auxiliary(tokens, at):
            found.add(stem(token.bare))
    return frozenset(found)


def _participle_behind(tokens: Sequence[Token], at: int) -> str | None:
    for later in tokens[at + 1 : at + 1 + _REACH]:
        if later.starts_sentence or later.lower in lexicon.SUBORDINATORS:
            return None
        if is_past_form(later):
            return stem(later.bare)
    return None


def _verb_behind(tokens: Sequence[Token], at: int) -> str:
    """Return the verb of a "did": the first word that says something and is no one's name."""
    for before, later in pairwise(tokens[at : at + 1 + _REACH]):
        named = later.capitalised or before.lower in lexicon.DETERMINERS
        if is_content(later.bare) and not named:
            return stem(later.bare)
    return "do"


def _leans_on_auxiliary(tokens: Sequence[Token], at: int) -> bool:
    """Whether a form belongs to a passive or a perfect, whose tense the auxiliary gives."""
    if at + 1 < len(tokens) and tokens[at + 1].lower == "by":
        return any(one.lower in _LEANING for one in tokens[max(0, at - _REACH) : at])
    for before in reversed(tokens[max(0, at - 3) : at]):
        if before.lower in _LEANING:
            return True
        if not (before.lower.endswith("ly") or before.lower in _BETWEEN):
            return False
    return False
