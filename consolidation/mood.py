"""Whether it is said as a fact, a plan, a wish or a question; of all or some; on a condition.

"The team migrated", "the team wants to migrate" and "did the team migrate?" share nearly every
word. So do "some customers", "most customers" and "the customers", or "passes" and "almost
passes". None of them may stand for another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .objections import Objection
from .reading import Reading
from .tokens import stem

# From this share of the fewer content words on, another mood makes another statement of the same.
# On the night fixture, of 96 facts 85 were brought together, as many as without moods; with 0.8
# and 0.75 it was 83 and 82.
SAME_MATTER = 0.85

# What a mood is called, and the words that put a sentence into it.
_MOODS = {
    name: re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for name, words in {
        "will": r"will|going to|shall|is to|are to|about to",
        "wants to": r"wants?|wanted|wish(?:es)?|hop(?:es?|ing) to|plans? to|planning|planned|"
        r"intends?|tr(?:y|ies|ied|ying) to|aims?|considers?|considering",
        "should": r"should|ought|must|ha(?:s|ve) to|need(?:s|ed)? to|supposed to",
        "can": r"can|could|able to",
        "may": r"may(?! \d)|might|perhaps|maybe|probably|possibly|likely|seems?|seemed|apparently|"
        r"reportedly|allegedly|thinks?|believes?|suspects?|guess(?:es)?|would",
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
    }.items()
}
_MOODS["?"] = re.compile(r"\?\s*$")
# "was signed": a passive and a perfect are no past tense of their own.
_AUXILIARY = r"(?:is|are|was|were|be|been|being|am|gets?|got|has|have|had|having|'s|'ve|'d)"
_PAST = re.compile(rf"(?<!\w)(?!{_AUXILIARY}\b)(\w+)\s+(?:\w+ly\s+)?(\w+ed)\b", re.IGNORECASE)


def mood(left: Reading, right: Reading) -> Iterator[Objection]:
    """One is a plan, a wish, a duty, a question, or true of another share or condition."""
    here, there = moods_of(left), moods_of(right)
    if left.normative and right.normative:
        # Two voices of a rule may say "must" and "never" of the same.
        here, there = here - {"should"}, there - {"should"}
    if here == there:
        return
    fewer = min(len(left.stem_set), len(right.stem_set))
    same = len(left.stem_set & right.stem_set) >= SAME_MATTER * fewer
    only_here, only_there = (", ".join(sorted(part)) for part in (here - there, there - here))
    yield Objection("mood", only_here, only_there, conflict=same)


def tense(left: Reading, right: Reading) -> Iterator[Objection]:
    """One says that it is so, the other that it was: "migrates" against "migrated"."""
    here, there = _past(left), _past(right)
    forms = {word for word in here ^ there if word in left.stem_set & right.stem_set}
    if forms:
        one, other = (", ".join(side.spelled(sorted(forms))) for side in (left, right))
        yield Objection("tense", one, other, conflict=False)


def moods_of(reading: Reading) -> frozenset[str]:
    """Give the moods that a text is in, by their names."""
    return frozenset(name for name, words in _MOODS.items() if words.search(reading.text))


def _past(reading: Reading) -> frozenset[str]:
    """Give the stems of the words in the past tense, as far as their ending shows it."""
    return frozenset(stem(word.lower()) for _, word in _PAST.findall(reading.text))
