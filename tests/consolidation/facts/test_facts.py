"""What can be looked up in a text: values in any spelling, names, code and quotations."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from datetime import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import FIXTURES

from slowwave.consolidation.facts.lookup import (
    Fault,
    Hint,
    find_missing,
    find_unsupported,
    has_specifics,
)
from slowwave.store.records import UNDATED

SPELLINGS = [
    ("half past seven", "07:30", "7:30 am", "7:30", "19:30"),
    ("10,000,000", "10000000"),
    ("\u221265", "-65", "minus 65"),
    ("ninety", "90"),
    ("on Tuesdays", "every Tuesday"),
    ("on-call", "on call", "On-Call"),
    ("V3/V4", "V3 and V4"),
    ("5 GB", "5GB"),
    ("9 March 2026", "2026-03-09", "March 9, 2026", "09.03.2026", "9. M\u00e4rz 2026"),
    ("#77", "77"),
]


@dataclass(frozen=True)
class Note:
    """Evidence, observed on a Tuesday."""

    text: str
    id: str = "m1"
    observed_at: str = "2026-02-24T08:00:00+00:00"


def faults_of(text: str, *sources: str) -> list[tuple[str, str]]:
    return [(fault.words, fault.kind) for fault in find_unsupported(text, [*map(Note, sources)])]


def test_an_unsupported_value_is_a_fault_with_a_reason() -> None:
    (fault,) = find_unsupported("The service listens on 9090.", [Note("It listens on 8080.")])
    assert fault == Fault("9090", "number")
    assert fault.why == '"9090" (number) is in none of the cited memories'


def test_a_missing_value_of_a_source_is_a_hint() -> None:
    notes = [Note("Port 8080, limit 20 MB.", "m7")]
    assert find_missing("Port 8080.", notes) == [Hint("m7", "20", "number")]
    assert find_missing("Port 8080, at most 20 megabytes.", notes) == []


@pytest.mark.parametrize("spellings", SPELLINGS)
def test_all_spellings_of_a_value_support_each_other(spellings: tuple[str, ...]) -> None:
    for spelling in spellings:
        for written in spellings:
            assert faults_of(f"It is {spelling}.", f"Seen: {written}, by us.") == []


@pytest.mark.parametrize(
    ("text", "source", "kind"),
    [
        ("port 5433", "port 5432", "number"),
        ("room 3.10", "room 3.1", "number"),
        ("-60", "60", "number"),
        ("Lina (10) is allergic", "Lina (9) is allergic", "number"),
        ("on 3 November 1912", "on 3 November 1911", "number"),
        ("model_v0.6.2.json", "model_v0.6.1.json", "identifier"),
        ("on 2026-13-45", "on 2026-12-31", "number"),
        ("at 16:00", "at 4:30 pm", "number"),
        ("on 11 March", "on 10 March", "number"),
        ("on 11 March 2027", "on 11 March 2025", "number"),
        ("on Sunday", "on Friday", "name"),
        ("in May 2026, in June", "in May 2026", "name"),
        ("v2.4", "v2.3", "identifier"),
        ("worker-4", "worker-3", "identifier"),
        ("user_name", "user_id", "identifier"),
        ("at /etc/b.conf", "at /etc/a.conf", "path"),
        ("at https://a.test/d", "at https://a.test/c", "url"),
        ("run `make b`", "run `make a`", "code"),
        ('they wrote "never again"', 'they wrote "again"', "quotation"),
        ("ask Marta", "ask Hanne", "name"),
        ("its owner is Dagmar", "its owner is Dagny", "name"),
        ("use GraphQL for it", "use REST for it", "identifier"),
        ("服务器使用Redis缓存", "服务器使用缓存", "name"),
        ("Ann has 15 kids", "Ann has 3 kids, one in Bonn", "number"),
        ("on 7 May", "on 3 May", "number"),
        ("run `rm -rf /`", "run rm -rf /tmp", "code"),
        ("5. May is the day", "May is the month of the trip on 3 May", "number"),
        ("a\u200bb", "ab", "invisible"),
    ],
)
def test_a_different_value_or_name_is_a_fault(text: str, source: str, kind: str) -> None:
    assert [fault for _, fault in faults_of(text, source)] == [kind]


@given(st.integers(0, 999_999), st.integers(0, 999_999))
def test_a_number_is_a_fault_only_if_it_differs(stated: int, noted: int) -> None:
    assert bool(faults_of(f"We counted {stated} pieces.", f"{noted:,} pieces")) == (stated != noted)


@given(st.times())
def test_times_are_equal_in_12_and_24_hours(noted: time) -> None:
    clock = f"{noted:%H:%M}"
    half = f"{noted:%I:%M %p}"
    assert faults_of(f"at {clock}", f"at {half}") == faults_of(f"at {half}", f"at {clock}") == []
    later = f"{(noted.hour + 1) % 24:02d}:{noted.minute:02d}"
    assert faults_of(f"at {later}", f"at {clock}") == [(later, "number")]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("It failed on 24 February 2026.", "It failed."),
        ("It failed on Monday, 23 February.", "It failed yesterday."),
        ("Due on 29 January.", "Due on the 29th."),
        ("Back on 3 March.", "Back next Tuesday."),
        ("Back on 10 March.", "Back in two weeks."),
    ],
)
def test_relative_dates_are_resolved_by_the_day_of_the_source(text: str, source: str) -> None:
    assert faults_of(text, source) == []
    assert find_unsupported(text, [Note(source, observed_at=UNDATED)]) != []


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("Tuesday, 9 March, 2 h, 250 euros", "Dienstag, 9. März, zwei Stunden, 250 Euro"),
        ("Le 9 mars, 2 heures par jour.", "le 9 mars : deux heures par jour"),
        ("Das ist die Pumpe, die im Keller steht.", "Die Pumpe steht im Keller."),
        ("团队有12人。预算3万元", "预算3万元。团队有12人"),
        ("Ankara'dan", "Ankara"),
        ("服务器使用Redis缓存", "我们用Redis做缓存"),
        ("サーバーは Redis を使う", "Redisを使うサーバー"),
    ],
)
def test_another_language_is_not_a_fault(text: str, source: str) -> None:
    assert faults_of(text, source) == []


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("1. Pull first.\n2. Then push.", "Pull, then push."),
        ("Keller's figures", "figures of Keller"),
        ("the Databases", "a database"),
        ("a pull request (PR)", "a pull request"),
        ("the two agreed", "Ann and Bo agreed"),
        ("Don't push to main.", "Never push to main."),
        ("run make test", "run `make test`"),
        ('as Ann says: "no, never"', "Ann says no, never"),
        ("hold \u2764\ufe0f", "hold \u2764\ufe0f"),
    ],
)
def test_another_spelling_is_not_a_fault(text: str, source: str) -> None:
    assert faults_of(text, source) == []


@pytest.mark.parametrize(
    "part",
    ["7", "3 May ", "Ab1 ", "1/", "1-", "1,", "a_", "Ab", "«a", "\n", "9 to ", "1 h 2 ", "10^"],
)
def test_hostile_texts_are_checked_in_linear_time(part: str) -> None:
    # Takes minutes where a pattern tries each way through it.
    text = part * (8_000 // len(part))
    assert find_unsupported(text, [Note(text)]) == []


@pytest.mark.parametrize("observed_at", ["0001-01-01", "9999-12-31", "", "yesterday", UNDATED])
def test_a_source_with_any_date_supports_its_text(observed_at: str) -> None:
    note = Note("Back in two weeks, on 3 March.", observed_at=observed_at)
    assert find_unsupported("Back on 3 March.", [note]) == []


def test_a_text_is_only_contained_with_all_its_specifics() -> None:
    text = "Today Marta moved grafana-2 to 10.0.0.7 at 5 pm with Bo."
    assert has_specifics(text, "Bo and Marta moved grafana-2.")
    assert not has_specifics(text, "Bo and Marta moved grafana-3.")


@pytest.mark.parametrize("file", sorted(FIXTURES.rglob("*.*")), ids=lambda file: file.name)
def test_a_text_of_the_fixtures_supports_itself(file: Path) -> None:
    # One in ten: they are 100,000.
    for text in sorted(texts_of(file))[::10]:
        assert find_unsupported(text, [Note(text)]) == []


def texts_of(file: Path) -> set[str]:
    match file.suffix:
        case ".jsonl":
            return strings_of([json.loads(line) for line in file.read_text("utf-8").splitlines()])
        case ".json":
            return strings_of(json.loads(file.read_text("utf-8")))
        case ".toml":
            return strings_of(tomllib.loads(file.read_text("utf-8")))
    return set()


def strings_of(content: Any) -> set[str]:
    if isinstance(content, str):
        return {content} if " " in content and len(content) < 2_000 else set()
    parts = content.values() if isinstance(content, dict) else content
    return set().union(*map(strings_of, parts)) if isinstance(content, (dict, list)) else set()
