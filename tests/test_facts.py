"""What can be looked up in a text: values in any spelling, names, code and quotations."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from slowwave.consolidation.facts.lookup import Fault, Hint, find_missing, find_unsupported


@dataclass(frozen=True)
class Note:
    text: str
    id: str = "m1"
    observed_at: str = "2026-02-24T08:00:00+00:00"


def faults_of(text: str, *sources: str) -> list[tuple[str, str]]:
    return [(one.words, one.kind) for one in find_unsupported(text, [*map(Note, sources)])]


def test_a_value_that_no_source_has_is_a_fault_with_a_sentence_about_it() -> None:
    (fault,) = find_unsupported("The service listens on 9090.", [Note("It listens on 8080.")])
    assert fault == Fault("9090", "number")
    assert fault.why == '"9090" (number) is in none of the cited memories'


def test_a_value_of_a_source_that_the_text_lacks_is_a_hint() -> None:
    notes = [Note("Port 8080, limit 20 MB.", "m7")]
    assert find_missing("Port 8080.", notes) == [Hint("m7", "20 MB", "number")]
    assert find_missing("Port 8080, at most 20 megabytes.", notes) == []


@pytest.mark.parametrize(
    "spellings",
    [
        ("1e7", "10^7", "10,000,000", "10 million", "ten million", "10⁷"),
        ("half past seven", "07:30", "7:30 am", "7:30"),
        ("two hours", "2 h", "120 min", "2 hrs"),
        ("an hour and a half", "90 minutes", "1.5 h", "1 h 30 min"),
        ("\u221265", "-65", "minus 65"),
        ("ninety", "90"),
        ("2x/day", "twice a day", "2 times per day", "two times daily"),
        ("$5k", "5000 USD", "5,000 dollars"),
        ("v2.3", "2.3"),
        ("on Tuesdays", "every Tuesday", "Tue"),
        ("9 March 2026", "2026-03-09", "March 9, 2026", "09.03.2026"),
    ],
)
def test_each_spelling_of_a_value_supports_each_other(spellings: tuple[str, ...]) -> None:
    for one in spellings:
        for other in spellings:
            assert faults_of(f"It is {one}.", f"Seen: {other}, by us.") == []
