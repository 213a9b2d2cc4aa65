"""Spellings and phrases of one meaning come out the same; what differs in meaning does not."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slowwave.consolidation.comparison.coverage import first_veto
from slowwave.consolidation.comparison.normal_form import normal_form
from slowwave.consolidation.snapshot.entities import names_in
from slowwave.consolidation.text.normal_forms import RULES
from slowwave.consolidation.text.normalise import normalise
from slowwave.consolidation.text.reading import read


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It won't start.", "It will not start."),
        ("The favourite colour is grey.", "The favorite color is gray."),
        ("The prod db is organised by year.", "The production database is organized by year."),
        ("PR reviews are on Thurs.", "Pull request reviews are on Thursday."),
        ("There isn't any lift.", "There is no lift."),
        ("Tea without milk.", "Tea with no milk."),
        ("Never call Ivo.", "Do not call Ivo."),
        ("Note that the lift is out.", "The lift is out."),
        ("For the record, the lift is out.", "In fact the lift is out."),
        ("It lasts 90 minutes.", "It lasts 1.5 hours."),
        ("It needs 1.5 GB.", "It needs 1500 MB."),
        ("It takes 2 h 10.", "It takes 130 minutes."),
        ("It takes 2:10 h.", "It takes 130 minutes."),
        ("Tyre set no. K-2217 is in use.", "Tyre set number K-2217 is in use."),
        ("Football is on Tue/Thu.", "Football is on Tuesday and Thursday."),
        ("The call is at six in the evening.", "The call is at 18:00."),
        ("It is due 2027-02.", "It is due February 2027."),
        ("It is on the 3rd floor.", "It is on the third floor."),
        ("The kids sleep.", "The children sleep."),
        ("It costs €95 per month.", "It costs 95 euros a month."),
        ("Interns must not approve it.", "Interns are not allowed to approve it."),
    ],
)
def test_two_spellings_of_one_meaning_have_one_form(one: str, other: str) -> None:
    assert normal_form(one) == normal_form(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It lasts 90 minutes.", "It lasts 90 seconds."),
        ("It needs 1.5 GB.", "It needs 1.5 GiB."),
        ("It may start.", "It may not start."),
        ("Edit config.py.", "Edit configuration.py."),
        ("Look into /prod/db.", "Look into /production/database."),
        ("It is on 3 March.", "It is on the third floor."),
        ("My foot hurts.", "My feet hurt."),
        ("It is fast.", "It is faster."),
        ("Deploy if !ready.", "Deploy if ready."),
        ("It is written in C.", "It is written in C++."),
        ("It may not include the fix.", "It must not include the fix."),
        ("Ask Max about it.", "Ask the maximum about it."),
        ("The visa ends on 31/12/25.", "The visa ends on 31/12/26."),
        ("It is at \u221218 °C.", "It is at 18 °C."),
    ],
)
def test_two_that_look_alike_and_mean_something_else_do(one: str, other: str) -> None:
    assert first_veto(one, other) is not None


@given(st.text(max_size=60))
def test_a_text_in_its_one_form_stays_as_it_is(text: str) -> None:
    once = normalise(text)
    assert normalise(normalise(once)) == normalise(once)


@pytest.mark.parametrize(("signs", "pattern"), [(signs, pattern) for signs, pattern, _ in RULES])
@settings(max_examples=5, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_nothing_that_is_spelled_otherwise_is_without_its_sign(
    signs: Iterable[str], pattern: re.Pattern[str], data: st.DataObject
) -> None:
    text = data.draw(st.from_regex(pattern))
    assert any(sign in text.casefold() for sign in signs)


def odd(text: str) -> str:
    """Write ^ as a dotless i, I as a dotted one, and ~ as a long s."""
    return text.translate(str.maketrans("^I~", "\u0131\u0130\u017f"))


@pytest.mark.parametrize(
    "text",
    [
        *("Toplant^ 5 MIN surer.", "THE JOB TAKES 5 MINUTES", "5 m^les", "5 KIB", "12 day~"),
        *("The ~econd of March is a holiday.", "FIRST OF MARCH, first of May", "5 \u212ab"),
        *("a ~econd-hand cello", "pull reque~ts", "e-ma^l, e-mail", "~^x and a half hours"),
        *("at half past ~^x", "In March the s^xth, the sixth of May."),
    ],
)
def test_letters_that_a_pattern_takes_for_others_end_no_reading(text: str) -> None:
    text = odd(text)
    assert first_veto(f"{text} Tea is at four.", text) is not None
    assert all(name in text for name in names_in(text))


def test_a_word_with_a_turkish_letter_is_the_unit_that_a_pattern_takes_it_for() -> None:
    assert [one.norm for one in read(odd("It takes 5 MIN.")).values] == ["300 s"]


@pytest.mark.parametrize("text", ["It takes 30 hour_.", "RETRY IN 30 MINUTE_"])
def test_an_odd_word_behind_a_number_is_no_half_of_anything(text: str) -> None:
    assert normalise(text) == text
