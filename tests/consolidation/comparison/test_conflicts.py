"""Which memories are in conflict: the same except for a value or a denial."""

from __future__ import annotations

from pathlib import Path

import pytest
from counting import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from nights import NOW, daily, fill, night

from slowwave.consolidation.comparison.rivals import find_rivalry
from slowwave.consolidation.planning.conflicts import current_conflicts
from slowwave.consolidation.proposals import Conflict
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.file import open_reading
from slowwave.store.records import timestamp


def slot(first: str, second: str) -> str | None:
    """Return what two texts disagree about, in either order."""
    slots = {
        None if rivalry is None else rivalry.slot
        for rivalry in (
            find_rivalry(first, second),
            find_rivalry(second, first),
        )
    }
    assert len(slots) == 1
    return slots.pop()


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("Postgres listens on port 5432.", "Postgres listens on port 5433.", "value"),
        ("The weekly call is on Monday.", "The weekly call is on Friday.", "value"),
        ("We use Redis for queues.", "We do not use Redis for queues.", "denial"),
        ("Visitors may park here.", "Visitors may not park here.", "denial"),
        ("Lea is vegan.", "Lea is not vegan any more.", "denial"),
        # What both are about differs, or more than one value does.
        ("The upper gate closes at 18:00.", "The lower gate closes at 19:00.", None),
        ("Ana pays 40 euros on Monday.", "Ana pays 50 euros on Friday.", None),
        ("Ticket OPS-12 is open.", "Ticket OPS-13 is open.", None),
        ("Host web-1 has 16 GB.", "Host web-2 has 32 GB.", None),
        ("Node n1: 4 cores", "Node n2: 8 cores", None),
        ("Log /srv/a.log is kept 7 days.", "Log /srv/b.log is kept 14 days.", None),
        ("Host web-1 has 16 GB.", "Host Web-1 has 32 GB.", "value"),
        ("User prefers tea over coffee.", "User prefers coffee over tea.", None),
    ],
)
def test_texts_conflict_over_one_difference(first: str, second: str, expected: str | None) -> None:
    assert slot(first, second) == expected


def test_a_conflict_mentions_other_differences() -> None:
    first = "The wiki is backed up at 02:30 on helga."
    rivalries = [
        find_rivalry(first, f"The wiki is backed up at 04:00{rest}.") for rest in (" on helga", "")
    ]
    assert [rivalry and rivalry.why for rivalry in rivalries] == [
        "otherwise the same",
        "other words differ, too",
    ]


@settings(max_examples=examples(60), deadline=None)
@given(st.sampled_from(["port", "limit", "quota"]), st.integers(1, 9_999), st.integers(1, 9_999))
def test_only_different_numbers_conflict(thing: str, here: int, there: int) -> None:
    texts = [f"The {thing} of the billing service is {number}." for number in (here, there)]
    assert slot(*texts) == (None if here == there else "value")


def listed(path: Path) -> list[Conflict]:
    """Return the conflicts of a file."""
    with open_reading(path) as file:
        return current_conflicts(file, (), timestamp(NOW))


def test_conflicts_are_listed_by_length_and_date(memory_file: Path) -> None:
    long = "The quota of the shared drive of the whole department is {} GB."
    texts = [long.format(5), "The rent of the flat is 900 euros.", long.format(8),
             "The rent of the flat is 950 euros."]  # fmt: skip
    fill(memory_file, daily(texts, "m"))
    conflicts = listed(memory_file)
    assert [(conflict.sources, conflict.values) for conflict in conflicts] == [
        (("m-01", "m-03"), ("900", "950")),
        (("m-00", "m-02"), ("5", "8")),
    ]


def test_lines_of_a_log_do_not_conflict(memory_file: Path) -> None:
    fill(memory_file, [f"The request took {number} ms." for number in range(1, 80)])
    assert listed(memory_file) == []


def test_no_superseded_memory_is_in_conflict(memory_file: Path, embedder: SentenceEmbedder) -> None:
    rents = [f"The rent of the flat is {euros} euros." for euros in (900, 950, 950)]
    fill(memory_file, daily(rents, "m"))
    outcome = night(memory_file, embedder)
    assert [conflict.sources for conflict in outcome.plan.conflicts] == [("m-00", "m-02")]
    assert [conflict.sources for conflict in listed(memory_file)] == [("m-00", "m-02")]
