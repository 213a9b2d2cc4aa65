"""The values in a text: which spellings are equal, and which are not."""

from __future__ import annotations

import re
from datetime import date

import pytest
from counting import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slowwave.consolidation.facts import values
from slowwave.consolidation.facts.reading import Reading, read
from slowwave.consolidation.text.alternation import any_of

SPELLINGS = [
    ["five minutes", "5 minutes", "5min", "five min", "5-minute", "five-minute", "5 MINUTES"],
    ["twenty-one", "twenty one", "21"],
    ["three hundred", "300"],
    ["one hundred and five", "105"],
    ["two thousand five hundred", "2,500", "2500", "2.5k"],
    ["a dozen", "12", "twelve"],
    ["two dozen", "24"],
    ["5 million", "five million", "5,000,000"],
    ["one hour", "1 hour", "1h"],
    ["takes an hour", "takes one hour", "takes 1 h"],
    ["$5", "5 dollars", "5 USD", "USD 5", "five dollars", "$5.00"],
    ["$5k", "5,000 dollars", "$5 thousand"],
    ["€1,200.50", "1200.5 euros", "EUR 1200.50"],
    ["90%", "90 percent", "ninety percent", "90 per cent"],
    ["5 MB", "5MB", "5 megabytes"],
    ["5 GiB", "5 gibibytes"],
    ["twice a week", "two times a week", "2 times per week", "2x weekly"],
    ["5 MB/s", "5 MB per second"],
    ["3pm", "3 pm", "3 p.m.", "15:00", "3:00 PM", "3.00 pm", "15:00:00"],
    ["noon", "12:00", "12pm", "12 p.m."],
    ["midnight", "00:00", "12am", "0:00"],
    ["9am", "9:00", "09:00"],
    ["three o'clock", "3 o'clock", "3 o’clock"],
    ["3 March", "March 3", "March 3rd", "3rd March", "3rd of March", "Mar 3", "3 Mar."],
    ["3 March 2026", "March 3, 2026", "2026-03-03", "2026/03/03", "03/03/2026", "March 3rd, 2026"],
    ["25 December 2026", "25/12/2026", "12/25/2026"],
    ["March 2026", "March of 2026", "Mar 2026"],
    ["2026-03-03T15:00:00Z", "3 March 2026 at 3pm"],
    ["v1.2.3", "1.2.3", "V1.2.3"],
    ["v1.2", "1.2"],
    ["https://example.com/a/", "https://example.com/a", "HTTPS://Example.com/a"],
    ["Foo.Bar@x.io", "foo.bar@x.io"],
    ["/var/log/", "/var/log"],
    ["on Mondays", "on monday"],
]

DIFFERENT = [
    ("8080", "9090"),
    ("00417", "417"),
    ("3.10", "3.1"),
    ("-5 degrees", "5 degrees"),
    ("$5", "$5k"),
    ("$5", "$5 million"),
    ("$5", "€5"),
    ("5 MB", "5 GB"),
    ("5 MB", "5 MiB"),
    ("5 Mbps", "5 Gbps"),
    ("5 Mbps", "5 MBps"),
    ("5 MB", "5 gibibytes"),
    ("5 MB/s", "5 MB"),
    ("30 s", "30 ms"),
    ("five minutes", "five hours"),
    ("once a week", "once it is done"),
    ("twice a week", "twice a month"),
    ("5°C", "5°F"),
    ("3pm", "4pm"),
    ("3pm", "3am"),
    ("noon", "midnight"),
    ("15:30:00", "15:30:05"),
    ("3 March", "4 March"),
    ("3 March", "3 May"),
    ("3 March 2025", "3 March 2026"),
    ("March 2025", "March 2026"),
    ("2026-03-04", "2026-04-03"),
    ("v1.2.3", "v1.2.4"),
    ("v1.2.3", "v1.2.3-rc1"),
    ("v1.2", "v1.20"),
    ("10.0.0.1", "10.0.0.12"),
    ("10.0.0.1", "10.0.0.1:8080"),
    ("10.0.0.0/8", "10.0.0.0/16"),
    ("db1.internal", "db2.internal"),
    ("https://a.com/b", "https://b.com/a"),
    ("ann@x.io", "ben@x.io"),
    ("/etc/hosts", "/etc/host"),
    ("src/app.py", "src/app.ts"),
    ("C:\\Users\\ann", "C:\\Users\\ben"),
    ("max_retries", "min_retries"),
    ("maxRetries", "minRetries"),
    ("JIRA-123", "OPS-123"),
    ("JIRA-123", "JIRA-124"),
    ("#42", "#43"),
    ("--dry-run", "--force"),
    ("-v", "-q"),
    ("python3.11", "python3.12"),
    ("on Monday", "on Tuesday"),
]

KINDS = {
    "five": "number",
    "15:00": "time",
    "3 March": "date",
    "in March": "month",
    "on Friday": "weekday",
    "each month": "rate",
    "v1.2.3": "version",
    "10.0.0.1": "identifier",
    "db.internal:5432": "identifier",
    "https://example.com": "url",
    "ann@example.com": "identifier",
    "~/.ssh/config": "path",
    "./run.sh": "path",
    "README.md": "identifier",
    "config/flags/": "path",
    "a/b/c": "path",
    "snake_case": "identifier",
    "camelCase": "identifier",
    "PascalCase": "identifier",
    "MAX_SIZE": "identifier",
    "PROJ-7": "identifier",
    "--dry-run": "identifier",
    "-p": "identifier",
    "a1b2c3d": "identifier",
}

NO_VALUES = [
    "one of them",
    "once it is done",
    "and/or",
    "he/she",
    "don't",
    "the users' homes and the dog's bowl",
    "a well-known e-mail",
    "They may march.",
    "",
    "…",
]

# A part of a longer value is not a value in it, as "art" is not a word in "party".
PARTS = [
    ("1.2.3", "1.2.34"),
    ("1.2.3", "10.1.2.3"),
    ("10.0.0.1", "10.0.0.12"),
    ("example.com", "example.com.evil.org"),
    ("example.com", "not-example.com"),
    ("/etc", "/etc/hosts"),
    ("src/app.py", "src/app.pyc"),
    ("max_size", "max_size_kb"),
    ("#4", "#42"),
    ("`mode`", "modern"),
]

_ONES = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def spelled(number: int) -> str:
    """Return a number from 1 to 999,999 in English words."""
    if number >= 1_000:
        thousands, rest = divmod(number, 1_000)
        return f"{spelled(thousands)} thousand" + (f" {spelled(rest)}" if rest else "")
    if number >= 100:
        hundreds, rest = divmod(number, 100)
        return f"{_ONES[hundreds - 1]} hundred" + (f" and {spelled(rest)}" if rest else "")
    if number >= 20:
        tens, rest = divmod(number, 10)
        return _TENS[tens - 2] + (f"-{_ONES[rest - 1]}" if rest else "")
    return _ONES[number - 1]


def agree(first: str, second: str) -> bool:
    """Whether each of two texts has all values of the other."""
    return all(
        left.holds(value)
        for left, right in ((read(first), read(second)), (read(second), read(first)))
        for value in right.values
    )


@pytest.mark.parametrize("spellings", SPELLINGS, ids=lambda spellings: spellings[0])
def test_all_spellings_of_a_value_are_equal(spellings: list[str]) -> None:
    assert read(spellings[0]).values
    for second in spellings[1:]:
        assert agree(spellings[0], second), second


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_different_values_are_never_equal(first: str, second: str) -> None:
    assert not agree(first, second)


@pytest.mark.parametrize(("text", "kind"), KINDS.items())
def test_each_value_has_a_kind(text: str, kind: str) -> None:
    assert kind in {value.kind for value in read(text).values}


@pytest.mark.parametrize("text", NO_VALUES)
def test_plain_words_are_not_values(text: str) -> None:
    assert read(text).values == ()


@pytest.mark.parametrize(("part", "longer"), PARTS)
def test_a_longer_value_does_not_contain_a_shorter_one(part: str, longer: str) -> None:
    text = read(f"See {longer} for more.")
    assert [value for value in read(part).values if text.holds(value)] == []


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("`yarn install`", "Run yarn install first."),
        ("on Friday", "Fridays are quiet."),
        ("in March", "It was 3 March."),
    ],
)
def test_marks_and_plurals_do_not_hide_a_value(words: str, text: str) -> None:
    assert all(read(text).holds(value) for value in read(words).values)


def test_values_inside_quotes_are_found() -> None:
    assert agree("The port is `8080`.", "8080")
    assert agree('Set "port 9090" there.', "9090")


def test_a_value_knows_its_place_in_the_text() -> None:
    text = "Up to five minutes, until 3pm on 3 March."
    places = {value.kind: text[value.start : value.end] for value in read(text).values}
    assert places == {"number": "five minutes", "time": "3pm", "date": "3 March."}


@given(st.integers(min_value=2, max_value=999_999))
def test_numbers_in_words_equal_numbers_in_digits(number: int) -> None:
    assert agree(spelled(number), str(number))
    assert agree(str(number), f"{number:,}")


DAYS = st.dates(date(1990, 1, 1), date(2040, 12, 31))


@given(DAYS, DAYS)
def test_only_equal_dates_are_equal_in_every_format(day: date, second: date) -> None:
    forms = (f"{day:%B} {day.day}, {day.year}", f"{day.day} {day:%b} {day.year}", f"{day:%Y/%m/%d}")
    assert all(agree(form, f"{day}") for form in forms)
    assert all(agree(form, f"{second}") == (day == second) for form in forms)


@given(st.text(st.sampled_from("aA1é.,:;-_/\\'\"`“” $€%@#()\n"), max_size=60) | st.text())
def test_values_lie_within_the_text(text: str) -> None:
    for value in Reading(text).values:
        assert 0 <= value.start < value.end <= len(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", ["a.", "Aa", "“a", "'a ", "1 May ", "v1.", "C:\\", "five-", "a/", "1,", "a@", "_"]
)
def test_long_hostile_texts_can_be_read(part: str) -> None:
    # Were a pattern to try every way of cutting this up, this would not come back.
    text = part * 20_000 + "é"
    assert all(value.end <= len(text) for value in Reading(text).values)


@pytest.mark.parametrize("kind", values._KINDS)
@settings(max_examples=5, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_no_value_begins_inside_a_word(kind: str, data: st.DataObject) -> None:
    every = re.compile(values._KINDS[kind], re.IGNORECASE)
    text = data.draw(st.from_regex(every))
    for found in every.finditer(text):
        before = text[: found.start()][-1:]
        assert not (before.isalpha() and found.group()[0].isalpha())


@pytest.mark.parametrize("kind", values._KINDS)
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_the_look_ahead_hides_no_value(kind: str, data: st.DataObject) -> None:
    pattern = re.compile(rf"(?!\B[^\W\d])(?:{values._KINDS[kind]})", re.IGNORECASE)
    place = re.compile(values._PLACE, re.IGNORECASE)
    text = data.draw(st.from_regex(pattern))
    assert all(place.match(text, value.start()) for value in pattern.finditer(text))


def test_the_look_ahead_hides_no_odd_url() -> None:
    assert [value.kind for value in values.find_values("A.://0")] == ["url"]


@given(st.lists(st.text(alphabet="ab.", min_size=1), min_size=1), st.text(alphabet="ab."))
def test_any_of_matches_the_longest_word(words: list[str], text: str) -> None:
    found = re.match(any_of(words), text)
    begun = [word for word in words if text.startswith(word)]
    assert (found and found.group()) == max(begun, key=len, default=None)
