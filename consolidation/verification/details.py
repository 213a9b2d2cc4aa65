"""Values and names of a text that are missing from some other texts.

In this spelling or another; a name is no word that only opens a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.lexicon import word_set
from slowwave.consolidation.text.reading import Reading, read
from slowwave.consolidation.text.tokens import Token, is_past_form
from slowwave.consolidation.text.values import Value

from .parties import titled

# How a name is told that is missing.
NAME = "the name "
# Behind these "the two" acts, and is no number of anything.
_ACTING = re.compile(r" (?:are|were|have|had|will|would|can|could|may|might|must|should|do|did)\b")
# The words that say by what something is counted, by the norm of the unit.
_COUNTED_BY = {
    "h": word_set("hour hours hourly"),
    "d": word_set("day days daily"),
    "night": word_set("night nights nightly"),
    "wk": word_set("week weeks weekly"),
    "mo": word_set("month months monthly"),
    "yr": word_set("year years yearly annual annually"),
    "min": word_set("minute minutes"),
    "s": word_set("second seconds"),
}
# Nouns that open a sentence as often as a name does.
_COMMON_OPENERS = word_set("work target start goal match training shirts price cost plan")
_RATE = re.compile(
    r"\b(?:an?|per) (second|minute|hour|day|night|week|month|year)\b"
    r"(?! (?:ago|earlier|later|before))",
    re.IGNORECASE,
)
# Behind a number, the end of a range that has the unit; and "the 429s".
_RANGE = re.compile(r" ?(?:to|and|or|-|\u2013) ?[\d.,]+ ?([%\w/]+)")
# Behind a number of which nothing else is said.
_ENDING = re.compile(r"\s*(?:[.,;:)!?]|$|(?:and|or|for|in|at|on|to|from|is|are|as|by)\b)")
# Between the letters and the number of one name: "B 62".
_GAP = re.compile(r"(?<=\b[A-Z])[ -](?=\d)")
# A time of the clock, as it is read: 4:30.
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)")
_PLURAL = re.compile(r"\d{3,}s")
# Who told the user something that is so: "Marta reminded me that the port is closed".
_TELLER = re.compile(
    r"^([A-Z][\w-]+) (?:reminded|told|informed|mentioned to|explained to) (?:me|us)\b(?! to\b)"
)


def lost_details(reading: Reading, others: Sequence[Reading]) -> Iterator[str]:
    """Return the values and names of a text that others are to tell and do not.

    Those may be spelled so that they leave less open.
    """
    return missing_details(reading, others, _spells_more_closely)


def missing_details(
    reading: Reading,
    others: Sequence[Reading],
    also: Callable[[Reading, Value, Reading], bool] = lambda other, value, reading: False,
) -> Iterator[str]:
    """Yield the values and names of a text that stand in none of the others.

    also: says whether another text has a value in a way that counts, too.
    """
    for value in reading.values:
        if not _is_pronoun(value, reading) and not any(
            _has_value(other, one) or _glues(one.text, reading, other) or also(other, one, reading)
            for other in others
            for one in _forms(value, reading)
        ):
            yield f"the {value.kind} {value.text}"
    for name in _names(reading):
        if not any(other.mentions(name) or _glues(name, reading, other) for other in others):
            yield f"{NAME}{name}"
    for unit in _rates(reading):
        if all(_COUNTED_BY[unit].isdisjoint(other.words) for other in others):
            yield f"the rate by {unit}"


def _spells_more_closely(other: Reading, value: Value, reading: Reading) -> bool:
    """Whether another text leaves less open: "300 s" for "300", "16:30" for "half past four"."""
    if value.kind == "number" and value.text.isdigit() and _is_bare(value, reading):
        return any(one.text.split()[:1] == [value.text] for one in other.values)
    clock = _CLOCK.fullmatch(value.text) if value.kind == "time" else None
    if clock and value.text not in reading.text:
        afternoon = f"{int(clock[1]) + 12}:{clock[2]}"
        return any(one.text == afternoon for one in other.values)
    return False


def _is_bare(value: Value, reading: Reading) -> bool:
    """Whether nothing behind a number says what it counts."""
    return _ENDING.match(reading.said[value.end :]) is not None


def _glues(part: str, reading: Reading, other: Reading) -> bool:
    """Whether letters and a number that two texts share are one word in one of them."""
    shared = _glued(reading.said) & _glued(other.said)
    return any(word.startswith(part.lower()) or word.endswith(part.lower()) for word in shared)


def _glued(said: str) -> frozenset[str]:
    """Return the words of letters and digits, those with a gap between the two as well."""
    whole = _GAP.sub("", said).lower()
    return frozenset(re.findall(r"\b[a-z]+\d+\b", whole))


def _is_pronoun(value: Value, reading: Reading) -> bool:
    """Whether a number stands for those spoken of: "the two might rent a car"."""
    before, after = reading.said[: value.start], reading.said[value.end :]
    if not before.lower().endswith("the "):
        return False
    return value.text.lower() == "two" or bool(_ACTING.match(after))


def _names(reading: Reading) -> Iterator[str]:
    """Yield the names in a text, without the words that only open a sentence."""
    with_title = titled(reading)
    teller = _TELLER.match(reading.text)
    opening = [one.bare for one in reading.tokens if one.starts_sentence and _is_proper(one)]
    for name in dict.fromkeys((*reading.names, *with_title, *opening)):
        tokens = [one for one in reading.tokens if one.bare == name and one.capitalised]
        if teller is not None and name == teller[1].lower() and len(tokens) == 1:
            continue
        if name in with_title or not all(map(_only_opens, tokens)):
            yield name


def _is_proper(token: Token) -> bool:
    """Whether a word is known to be a name only."""
    import simplemma

    dated = token.bare.removesuffix("s") in lexicon.WEEKDAYS.union(lexicon.MONTHS)
    return token.capitalised and not dated and simplemma.lemmatize(token.bare, "en")[0].isupper()


def _only_opens(token: Token) -> bool:
    """Whether a word may have its capital from its place alone: an English word, not a name."""
    import simplemma

    if not token.starts_sentence:
        return False
    word = token.bare
    formed = is_past_form(token) or word.endswith(("ly", "er", "ing"))
    common = word in _COMMON_OPENERS
    return (formed or common) and simplemma.lemmatize(word, "en").islower()


def may_be_no_name(name: str, reading: Reading) -> bool:
    """Whether what looks like a name is a word of English where a sentence begins."""
    import simplemma

    tokens = [one for one in reading.tokens if one.bare == name and one.capitalised]
    return (
        bool(tokens)
        and all(one.starts_sentence for one in tokens)
        and simplemma.is_known(name, "en")
        and simplemma.lemmatize(name, "en").islower()
    )


def _rates(reading: Reading) -> set[str]:
    """Return the units by which something is counted: "2 litres of syrup a week"."""
    found = {word.lower() for word in _RATE.findall(reading.said)}
    return {unit for unit, words in _COUNTED_BY.items() if not words.isdisjoint(found)}


def _forms(value: Value, reading: Reading) -> Iterator[Value]:
    """Yield a value as it may stand elsewhere: "from 11 to 2 minutes" has 11 minutes."""
    yield value
    if value.kind == "number" and (ranging := _RANGE.match(reading.said[value.end :])):
        yield from read(f"{value.text} {ranging[1]}").values
    if _PLURAL.fullmatch(value.text):
        yield from read(value.text[:-1]).values


def _has_value(reading: Reading, value: Value) -> bool:
    """Whether a text has a value, in this form or another."""
    plural = f"{value.text}s"
    if reading.holds(value) or (
        # A pattern is dear to make, and of few values a text has the plural.
        plural in reading.said and re.search(rf"\b{re.escape(plural)}\b", reading.said)
    ):
        return True
    if value.kind == "rate":
        # "Three runs a week", "weekly runs", "each week".
        counted = _COUNTED_BY.get(value.norm)
        return counted is not None and not counted.isdisjoint(reading.words)
    # "Each a week" and "a week": a length of time by itself, and how often by its place.
    if value.kind != "number" or not value.text[0].isalpha():
        return False
    spelled = rf"\b{re.escape(value.text)}(?!\w)"
    return re.search(spelled, reading.said, re.IGNORECASE) is not None
