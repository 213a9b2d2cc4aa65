"""Spellings and phrases of one meaning, brought to one form before a text is read.

"It won't start w/o the config" and "It will not start without the configuration" come out the
same. Only what means the same wherever it stands is here: what depends on the sentence is left
as it is, and to a model.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from . import lexicon

# Not inside a path, a host or an identifier, where spelling is meaning.
_BEFORE, _AFTER = r"(?<![\w./@#:-])", r"(?![\w/@-]|\.\w)"
_MONTH = "|".join(month.capitalize() for month in lexicon.MONTHS)
_CALENDAR = {month[:3].capitalize(): month.capitalize() for month in lexicon.MONTHS}
_CALENDAR |= {"Sept": "September", "Mon": "Monday", "Tue": "Tuesday", "Tues": "Tuesday"}
_CALENDAR |= {"Wed": "Wednesday", "Thu": "Thursday", "Thur": "Thursday", "Thurs": "Thursday"}
_CALENDAR |= {"Fri": "Friday"}
del _CALENDAR["May"]  # stands for itself

_ONES = "|".join(word for word, number in lexicon.NUMBER_WORDS.items() if 0 < number <= 12)


def _hour(word: str) -> int:
    return lexicon.NUMBER_WORDS.get(word.lower()) or int(word)


def _minutes(found: re.Match[str]) -> str:
    """Give hours and minutes as minutes."""
    return f"{60 * int(found[1]) + int(found[2])} minutes"


# Each pattern with what it becomes, one after the other.
_Form = str | Callable[[re.Match[str]], str]
_RULES: tuple[tuple[re.Pattern[str], _Form], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), form)
    for pattern, form in (
        ("’", "'"),
        # A minus as it is typeset; a dash in front of a number is one, too.
        ("\\u2212", "-"),
        (r"(?<![\w\s])\u2013(?=\d)|(?<=\s)\u2013(?=\d)", "-"),
        (rf"\b({'|'.join(lexicon.OUR)})our", r"\1or"),
        (rf"\b({'|'.join(lexicon.ISE)})is(?=e|ing|ation)", r"\1iz"),
        (r"\b(?:Doctor|Dr\.)(?= [A-Z])", "Dr"),
        # Contractions.
        (r"\bwon't\b", "will not"),
        (r"\bshan't\b", "shall not"),
        (r"\bcan't\b|\bcannot\b", "can not"),
        (r"(?<=\w)n't\b", " not"),
        (r"\b(\w+)'re\b", r"\1 are"),
        (r"\b(\w+)'ll\b", r"\1 will"),
        (r"\b(\w+)'ve\b", r"\1 have"),
        (r"\bI'm\b", "I am"),
        (r"\b(\w+)'s been\b", r"\1 has been"),
        (
            r"\b(it|that|there|here|what|who|where|how|when|why|he|she)'s\b",
            r"\1 is",
        ),
        (r"\b(\w+)'d rather\b", r"\1 would rather"),
        # What only announces a memory.
        (
            r"(?:^|(?<=[.!?:] ))(?:(?:for the record|just (?:to record it|so you know)|"
            r"(?:worth noting|note|keep in mind|it (?:was noted|turns out)|turns out|"
            r"I (?:learned|found out)|we (?:learned|found out)|"
            r"(?:the )?user (?:wants me to know|has told me|told me|let me know))(?: that)?|"
            r"according to the user|as (?:discussed|mentioned|noted)|heads[- ]up|"
            r"(?:as a )?reminder|important|info|fyi|til|update)(?:[:,]| -|(?<=that)) ?)+",
            "",
        ),
        (
            r"\b((?:the )?user) (?:said|says|mentioned|mentions|noted|notes|told me|explained|"
            r"confirmed|reported)(?: that)? (?:they|he|she) ",
            r"\1 ",
        ),
        (r"(?<=\w) at all(?=[.,;!?]|$)", ""),
        (r"(?:^|,? )(?:in fact|of course|as a matter of fact|needless to say)\b,?", ""),
        # Denials.
        (r"\bnot ever\b", "never"),
        (r"\b(?:do|does) not like\b", "dislikes"),
        (r"\b(does|do) not have (?:an?|any) ", r"\1 have no "),
        (r"\b(?:does|do) have no\b", "have no"),
        (r"\bno one\b|\bnot (?:anyone|anybody)\b", "nobody"),
        (r"\bwith no\b(?! (?:one|longer|more)\b)", "without"),
        (r"\b(is|are|was|were|has|have|had) not any\b", r"\1 no"),
        (r"\bdid not have any\b", "had no"),
        (r"\b(?:do|does) not have any\b", "have no"),
        (r"\b(?:is|are) not (?:allowed|permitted) to\b", "must not"),
        (r"\b(?:is|are) unable to\b|\b(?:is|are) not able to\b", "can not"),
        (r"\b(?:is|are) able to\b", "can"),
        (r"(?:^|(?<=[.!?:] ))(?:do (?:not|never)|you must (?:not|never)|never ever)\b", "Never"),
        (r"(?:^|(?<=[.!?:] ))avoid (?=\w+ing\b)", "Never "),
        # Duties.
        (r"\b(?:has|have|needs?) to\b|\b(?:is|are) required to\b", "must"),
        (r"\bin order to\b", "to"),
        # How much, how long, when.
        (r"\bper cent\b", "percent"),
        (r"\bhalf an? (hour|minute)\b", r"30 \1_"),
        (r"\b30 hour_", "30 minutes"),
        (r"\b30 minute_", "30 seconds"),
        (r"\bhalf a second\b", "500 ms"),
        (r"\bhalf a day\b", "12 hours"),
        (r"\bhalf a year\b", "6 months"),
        (r"\bhalf a dozen\b", "6"),
        (r"\bhalf a million\b", "500000"),
        (r"\b(?:half|1/2) of (?:all )?(?=the|our|my|all|its)", "50% of "),
        (r"\b(?:a|one) quarter of an hour\b", "15 minutes"),
        (r"\bthree[- ]quarters of an hour\b", "45 minutes"),
        (r"\ban? (hour|minute|second|day|week|month|year) and a half\b", r"1.5 \1s"),
        (rf"\b({_ONES}|\d+) and a half\b", r"\1.5"),
        (rf"\b({_ONES})\.5\b", lambda found: f"{lexicon.NUMBER_WORDS[found[1].lower()]}.5"),
        (r"\b(\d+) ?(?:h|hrs?|hours?),? ?(?:and )?(\d+) ?(?:m|min|mins|minutes?)\b", _minutes),
        (r"\b(\d)h(\d\d)\b", _minutes),
        (r"\ba fortnight\b", "2 weeks"),
        (rf"\bhalf past ({_ONES}|\d+)\b", lambda found: f"{_hour(found[1])}:30"),
        (rf"\b(?:a )?quarter past ({_ONES}|\d+)\b", lambda found: f"{_hour(found[1])}:15"),
        (rf"\b(?:a )?quarter to ({_ONES}|\d+)\b", lambda found: f"{_hour(found[1]) - 1}:45"),
        (r"\b(\d{2})\.(\d{2})\.(\d{4})\b", r"\3-\2-\1"),
        (r"\bdegrees celsius\b", "°C"),
        (r"\bdegrees fahrenheit\b", "°F"),
        (r"(?<=\d)M(?= [a-z]+s\b)", " million"),
        (r"\bversion (?=\d)", "v"),
        (r"\bport number (?=\d)", "port "),
        (r"\b([kMG])bit/s\b", r"\1bps"),
        (r"\b((?:[KMGT]i?|giga|mega|kilo|tera)(?:b|bytes?)) of\b", r"\1"),
        (
            r"(?<=\d)[-\u2013](?=\d+ ?(?:ms|s|min|h|seconds?|minutes?|hours?|days?|weeks?|%|€)\b)",
            " to ",
        ),
        # How often.
        (r"\beach (?!other\b|of\b)", "every "),
        (
            r"\bonce (?:an?|per|every) (?=(?:minute|hour|day|night|week|month|quarter|year)s?\b)",
            "every ",
        ),
        (r"\bevery 24 hours\b", "every day"),
        (r"\bon (mon|tues|wednes|thurs|fri|satur|sun)days\b", r"every \1day"),
        (r"\bone time\b(?! (?:code|password|token))", "once"),
        # About how much.
        (r"(?:\bapprox(?:\.|imately)?|\broughly|\bcirca|~)\s?(?=[\d€$£])", "about "),
        # With an article, little is something.
        (r"\ba (little|few|number)\b", r"some-\1"),
        # Decades are no seconds.
        (r"\b(the \d0)s\b", r"\1-ies"),
        (r"\bapprox(?:\.|imately\b)", "about"),
    )
)
# "The first of March" is a date, not an ordinal.
_DAY = re.compile(
    rf"\b(?:the )?({'|'.join(lexicon.ORDINALS)}) of ({_MONTH})\b|\b({_MONTH}) the "
    rf"({'|'.join(lexicon.ORDINALS)})\b",
    re.IGNORECASE,
)
# An ordinal by itself; with a month it is a date.
_ORDINAL = re.compile(
    rf"(?:\b(?:{_MONTH}) )?\b(?:[1-9]|10)(?:st|nd|rd|th)\b(?:(?: of)? (?:{_MONTH})\b)?",
    re.IGNORECASE,
)
_SPELLINGS = re.compile(
    rf"{_BEFORE}(?:{'|'.join(sorted(map(re.escape, lexicon.SPELLINGS), key=len, reverse=True))})"
    rf"{_AFTER}",
    re.IGNORECASE,
)
_SHORTENED = re.compile(
    # With the full stop of an abbreviation, but not the one that ends a sentence.
    rf"{_BEFORE}({'|'.join(_CALENDAR)})\b(?:\.(?=\s[a-z0-9])|(?=[\s,;:)]|$|\.$))"
)


@lru_cache(maxsize=65_536)
def normalised(text: str) -> str:
    """Give a text with its contractions, abbreviations and spellings brought to one form."""
    for pattern, form in _RULES:
        text = pattern.sub(form, text)
    text = _SHORTENED.sub(lambda found: _CALENDAR[found[1]], text)
    text = _DAY.sub(_day, text)
    text = _ORDINAL.sub(_ordinal, text)
    return _SPELLINGS.sub(_spelled, text)


def _spelled(found: re.Match[str]) -> str:
    word = found.group()
    if word[:1].isupper() and word.lower() in lexicon.ALSO_NAMES:
        return word
    # "40 db" is a noise.
    if word.lower() in ("db", "dbs") and found.string[: found.start()].rstrip()[-1:].isdigit():
        return word
    form = lexicon.SPELLINGS[word.lower()]
    return form[:1].upper() + form[1:] if word[:1].isupper() else form


def _day(found: re.Match[str]) -> str:
    word, month = (found[1], found[2]) if found[1] else (found[4], found[3])
    return f"{lexicon.ORDINALS.index(word.lower()) + 1} {month}"


def _ordinal(found: re.Match[str]) -> str:
    word = found.group()
    return word if " " in word else lexicon.ORDINALS[int(word[:-2]) - 1]
