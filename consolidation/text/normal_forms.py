"""The patterns that bring phrases of one meaning to one form, in the order in which they apply."""

from __future__ import annotations

import re
from collections.abc import Callable

from . import lexicon, spellings, units
from .case_folding import fold_case

# Not inside a path, a host or an identifier, where spelling is meaning.
BEFORE, AFTER = r"(?<![\w./@#:-])", r"(?![\w/@-]|\.\w)"
_MONTH = "|".join(month.capitalize() for month in lexicon.MONTHS)
_CALENDAR = {month[:3].capitalize(): month.capitalize() for month in lexicon.MONTHS}
_CALENDAR |= {"Sept": "September", "Mon": "Monday", "Tue": "Tuesday", "Tues": "Tuesday"}
_CALENDAR |= {"Wed": "Wednesday", "Thu": "Thursday", "Thur": "Thursday", "Thurs": "Thursday"}
_CALENDAR |= {"Fri": "Friday"}
del _CALENDAR["May"]  # stands for itself
_SHORT_DAYS = [one for one, whole in _CALENDAR.items() if whole.lower() in lexicon.WEEKDAYS]

_UNIT = "|".join(sorted((unit for unit in units.UNITS if unit.isalpha()), key=len, reverse=True))
# The hours of a clock, with minutes or without; a time that is no other number.
_CLOCK = r"\b(?:1[0-2]|[1-9])(?:[:.][0-5]\d)?"
_TIME = r"\b\d{1,2}(?::[0-5]\d(?: ?[ap]\.?m\b\.?)?| ?[ap]\.?m\b\.?)"
_MEASURED = {"length": "long", "width": "wide", "height": "high", "depth": "deep"}
_ONES = "|".join(word for word, number in lexicon.NUMBER_WORDS.items() if 0 < number <= 12)


def _hour(word: str) -> int:
    return lexicon.NUMBER_WORDS.get(fold_case(word)) or int(word)


def _minutes(found: re.Match[str]) -> str:
    """Return hours and minutes as minutes."""
    return f"{60 * int(found[1]) + int(found[2])} minutes"


def _day(found: re.Match[str]) -> str:
    word, month = (found[1], found[2]) if found[1] else (found[4], found[3])
    return f"{lexicon.ORDINALS.index(fold_case(word)) + 1} {month}"


def _ordinal(found: re.Match[str]) -> str:
    word = found.group()
    return word if " " in word else lexicon.ORDINALS[int(word[:-2]) - 1]


# Each pattern with what it becomes, one after the other; before it what it looks for, in small
# letters: none of its matches is without one of these. Few texts have any, and to look for them
# all at once takes a small part of the time that a pattern takes.
Form = str | Callable[[re.Match[str]], str]
RULES: tuple[tuple[tuple[str, ...], re.Pattern[str], Form], ...] = tuple(
    (signs, re.compile(pattern, re.IGNORECASE), form)
    for signs, pattern, form in (
        (("’",), "’", "'"),
        # A minus as it is typeset; a dash in front of a number is one, too.
        (("\u2212",), "\u2212", "-"),
        (("\u2013",), r"(?<![\w\s])\u2013(?=\d)|(?<=\s)\u2013(?=\d)", "-"),
        (("our",), rf"\b({'|'.join(sorted(spellings.OUR))})our", r"\1or"),
        (
            ("ise", "ising", "isation"),
            rf"\b({'|'.join(sorted(spellings.ISE))})is(?=e|ing|ation)",
            r"\1iz",
        ),
        (("doctor", "dr."), r"\b(?:Doctor|Dr\.)(?= [A-Z])", "Dr"),
        # Contractions.
        (("won't",), r"\bwon't\b", "will not"),
        (("shan't",), r"\bshan't\b", "shall not"),
        (("can't", "cannot"), r"\bcan't\b|\bcannot\b", "can not"),
        (("n't",), r"(?<=\w)n't\b", " not"),
        (("'re",), r"\b(\w+)'re\b", r"\1 are"),
        (("'ll",), r"\b(\w+)'ll\b", r"\1 will"),
        (("'ve",), r"\b(\w+)'ve\b", r"\1 have"),
        (("i'm",), r"\bI'm\b", "I am"),
        (("'s been",), r"\b(\w+)'s been\b", r"\1 has been"),
        (
            ("'s",),
            r"\b(it|that|there|here|what|who|where|how|when|why|he|she)'s\b",
            r"\1 is",
        ),
        (("'d rather",), r"\b(\w+)'d rather\b", r"\1 would rather"),
        ((" at all",), r"(?<=\w) at all(?=[.,;!?]|$)", ""),
        (
            ("in fact", "of course", "matter of fact", "needless"),
            r"(?:^|,? )(?:in fact|of course|as a matter of fact|needless to say)\b,?",
            "",
        ),
        # Denials.
        (("not ever",), r"\bnot ever\b", "never"),
        (("not like",), r"\b(?:do|does) not like\b", "dislikes"),
        (("not have a",), r"\b(does|do) not have (?:an?|any) ", r"\1 have no "),
        (("have no",), r"\b(?:does|do) have no\b", "have no"),
        (("no one", "not any"), r"\bno one\b|\bnot (?:anyone|anybody)\b", "nobody"),
        (("with no",), r"\bwith no\b(?! (?:one|longer|more)\b)", "without"),
        (("not any",), r"\b(is|are|was|were|has|have|had) not any\b", r"\1 no"),
        (("not have any",), r"\bdid not have any\b", "had no"),
        (("not have any",), r"\b(?:do|does) not have any\b", "have no"),
        (
            ("allowed to", "permitted to"),
            r"\b(?:is|are) not (?:allowed|permitted) to\b",
            "must not",
        ),
        (("able to",), r"\b(?:is|are) unable to\b|\b(?:is|are) not able to\b", "can not"),
        (("able to",), r"\b(?:is|are) able to\b", "can"),
        (
            ("do not", "do never", "must not", "must never", "never ever"),
            r"(?:^|(?<=[.!?:] ))(?:do (?:not|never)|you must (?:not|never)|never ever)\b",
            "Never",
        ),
        (("avoid ",), r"(?:^|(?<=[.!?:] ))avoid (?=\w+ing\b)", "Never "),
        # Duties.
        (
            ("has to", "have to", "need to", "needs to", "required to"),
            r"\b(?:has|have|needs?) to\b|\b(?:is|are) required to\b",
            "must",
        ),
        (("in order to",), r"\bin order to\b", "to"),
        (
            ("without asking", "without checking", "without confirming"),
            r"(?:^|(?<=[.!?:] ))Never (\w+) ([^.;:!?]+) without (asking|checking|confirming)\b"
            r"(?=[.;!]|$)",
            r"\3 before \1ing \2",
        ),
        (("by any",), r"\bnot\b([^.;:,]*) by any(?:one|body)\b", r"\1 by nobody"),
        # What a thing is called, measures, and where a life began.
        (
            ("called ", "named "),
            r"\b(\w+) (?:is|are) (?:called|named) (?=(?-i:[A-Z]))",
            r"\1's name is ",
        ),
        (
            tuple(f"{measure} of" for measure in _MEASURED),
            rf"\bhas an? ({'|'.join(_MEASURED)}) of ((?:about )?\S+(?:\s(?:{_UNIT})\b)?)",
            lambda found: f"is {found[2]} {_MEASURED[fold_case(found[1])]}",
        ),
        (
            ("date of birth", "birthday"),
            r"'s (?:date of birth|birthday) is (?=[\w\d])",
            " was born on ",
        ),
        (("or else",), r"\bor else\b", "otherwise"),
        # How much, how long, when.
        (("d",), r"(?-i:(?<![\w.-])(\d+(?:\.\d+)?) ?d(?![\w-]))", r"\1 days"),
        (("i",), r"(?-i:(?<=\d)( ?[KMGT]i)\b)", r"\1B"),
        # Not "one in the morning, one in the evening": what there is two of has no "at" before it.
        (
            ("in the morning", "in the afternoon", "in the evening"),
            rf"\b(at|by|until|till|from|before|after|around) ({_ONES})(?: o'clock)? "
            r"in the (morning|afternoon|evening)\b",
            lambda found: f"{found[1]} {_hour(found[2])} {'a' if found[3] == 'morning' else 'p'}m",
        ),
        (
            ("in the morning",),
            rf"({_CLOCK})(?: ?[ap]\.?m\.?| o'clock)? in the morning\b",
            r"\1 am",
        ),
        (
            ("in the afternoon", "in the evening"),
            rf"({_CLOCK})(?: ?[ap]\.?m\.?| o'clock)? in the (?:afternoon|evening)\b",
            r"\1 pm",
        ),
        (
            ("from ",),
            rf"\bfrom ({_TIME}) ?(?:to|until|till|[-\u2013]) ?({_TIME})",
            r"\1 to \2",
        ),
        (
            ("-", "\u2013", "until ", "till "),
            rf"({_TIME}) ?(?:until|till|[-\u2013]) ?({_TIME})",
            r"\1 to \2",
        ),
        (("per cent",), r"\bper cent\b", "percent"),
        (("half a",), r"\bhalf an? hour\b", "30 minutes"),
        (("half a",), r"\bhalf an? minute\b", "30 seconds"),
        (("half a",), r"\bhalf a second\b", "500 ms"),
        (("half a",), r"\bhalf a day\b", "12 hours"),
        (("half a",), r"\bhalf a year\b", "6 months"),
        (("half a",), r"\bhalf a dozen\b", "6"),
        (("half a",), r"\bhalf a million\b", "500000"),
        (
            ("half of", "1/2 of"),
            r"\b(?:half|1/2) of (?:all )?(?=the|our|my|all|its)",
            "50% of ",
        ),
        (("quarter of",), r"\b(?:a|one) quarter of an hour\b", "15 minutes"),
        (("quarters of",), r"\bthree[- ]quarters of an hour\b", "45 minutes"),
        (
            ("and a half",),
            r"\ban? (hour|minute|second|day|week|month|year) and a half\b",
            r"1.5 \1s",
        ),
        (("and a half",), rf"\b({_ONES}|\d+) and a half\b", r"\1.5"),
        (
            (".5",),
            rf"\b({_ONES})\.5\b",
            lambda found: f"{lexicon.NUMBER_WORDS[fold_case(found[1])]}.5",
        ),
        (
            ("h",),
            r"\b(\d+) ?(?:h|hrs?|hours?),? ?(?:and )?(\d+) ?(?:m|min|mins|minutes?)\b",
            _minutes,
        ),
        (("h",), r"\b(\d) ?h ?(\d\d)\b(?! ?[\w%€])", _minutes),
        (("h", "hours"), r"\b(\d{1,2}):([0-5]\d) ?(?:h|hrs?|hours)\b", _minutes),
        (("fortnight",), r"\ba fortnight\b", "2 weeks"),
        (
            ("half past",),
            rf"\bhalf past ({_ONES}|\d+)\b",
            lambda found: f"{_hour(found[1])}:30",
        ),
        (
            ("quarter past",),
            rf"\b(?:a )?quarter past ({_ONES}|\d+)\b",
            lambda found: f"{_hour(found[1])}:15",
        ),
        (
            ("quarter to",),
            rf"\b(?:a )?quarter to ({_ONES}|\d+)\b",
            lambda found: f"{_hour(found[1]) - 1}:45",
        ),
        ((".",), r"\b(\d{2})\.(\d{2})\.(\d{4})\b", r"\3-\2-\1"),
        # A month, where no day follows.
        (
            ("-0", "-1"),
            r"(?<![\d-])((?:19|20)\d\d)-(0[1-9]|1[0-2])(?![\d-])",
            lambda found: f"{lexicon.MONTHS[int(found[2]) - 1].capitalize()} {found[1]}",
        ),
        (("degrees celsius",), r"\bdegrees celsius\b", "°C"),
        (("degrees fahrenheit",), r"\bdegrees fahrenheit\b", "°F"),
        (("m ",), r"(?<=\d)M(?= [a-z]+s\b)", " million"),
        (("version ",), r"\bversion (?=\d)", "v"),
        (("port number",), r"\bport number (?=\d)", "port "),
        (("bit/s",), r"\b([kMG])bit/s\b", r"\1bps"),
        (
            ("b of", "byte of", "bytes of"),
            r"\b((?:[KMGT]i?|giga|mega|kilo|tera)(?:b|bytes?)) of\b",
            r"\1",
        ),
        (
            ("-", "\u2013"),
            r"(?<=\d)[-\u2013](?=\d+ ?(?:ms|s|min|h|seconds?|minutes?|hours?|days?|weeks?|%|€)\b)",
            " to ",
        ),
        # A number, and no denial.
        (("no.",), r"\b(?-i:[Nn]o)\. ?(?=[A-Z]{0,4}-?\d)", "number "),
        (
            ("/",),
            rf"(?-i:\b({'|'.join(_SHORT_DAYS)})/({'|'.join(_SHORT_DAYS)})\b)",
            lambda found: f"{_CALENDAR[found[1]]} and {_CALENDAR[found[2]]}",
        ),
        # How often.
        (("each ",), r"\beach (?!other\b|of\b)", "every "),
        (
            ("once a", "once per", "once every"),
            r"\bonce (?:an?|per|every) (?=(?:minute|hour|day|night|week|month|quarter|year)s?\b)",
            "every ",
        ),
        (("every 24 hours",), r"\bevery 24 hours\b", "every day"),
        (("days",), r"\bon (mon|tues|wednes|thurs|fri|satur|sun)days\b", r"every \1day"),
        (("one time",), r"\bone time\b(?! (?:code|password|token))", "once"),
        # About how much.
        (
            ("approx", "roughly", "circa", "~"),
            r"(?:\bapprox(?:\.|imately)?|\broughly|\bcirca|~)\s?(?=[\d€$£])",
            "about ",
        ),
        # With an article, little is something.
        (("a little", "a few", "a number"), r"\ba (little|few|number)\b", r"some-\1"),
        # Decades are no seconds.
        (("0s",), r"\b(the \d0)s\b", r"\1-ies"),
        (("approx",), r"\bapprox(?:\.|imately\b)", "about"),
        (
            tuple({short[:3].casefold() for short in _CALENDAR}),
            # With the full stop of an abbreviation, but not the one that ends a sentence.
            rf"(?-i:{BEFORE}({'|'.join(_CALENDAR)})\b(?:\.(?=\s[a-z0-9])|(?=[\s,;:)]|$|\.$)))",
            lambda found: _CALENDAR[found[1]],
        ),
        # "The first of March" is a date, not an ordinal.
        (
            lexicon.ORDINALS,
            rf"\b(?:the )?({'|'.join(lexicon.ORDINALS)}) of ({_MONTH})\b|\b({_MONTH}) the "
            rf"({'|'.join(lexicon.ORDINALS)})\b",
            _day,
        ),
        # An ordinal by itself; with a month it is a date.
        (
            tuple("123456789"),
            rf"(?:\b(?:{_MONTH}) )?\b(?:[1-9]|10)(?:st|nd|rd|th)\b(?:(?: of)? (?:{_MONTH})\b)?",
            _ordinal,
        ),
    )
)
