"""Which orders of the same parts say the same, and which do not."""

from __future__ import annotations

import pytest

from slowwave.consolidation.comparison.guards import first_conflict, first_difference
from slowwave.consolidation.comparison.reordering import rearranged
from slowwave.consolidation.text.reading import read

SAME = [
    ("Backups go to the vault every night at two.", "Every night at two backups go to the vault."),
    ("If the build breaks, Mara gets a call.", "Mara gets a call if the build breaks."),
    ("Run the linter before pushing to main.", "Before pushing to main, run the linter."),
    ("The owner of the pipeline is Mara.", "Mara is the owner of the pipeline."),
    ("The old router's admin page is slow.", "The admin page of the old router is slow."),
    ("Mara's boat leaks.", "The boat of Mara leaks."),
    ("Mara sold the boat to Ivo.", "The boat was sold to Ivo by Mara."),
    ("The gate is opened by Ivo on Mondays.", "Ivo opens the gate on Mondays."),
    ("Did Mara sell the boat?", "Was the boat sold by Mara?"),
    ("Mara is married to Ivo.", "Ivo is married to Mara."),
    ("Ivo is a nurse and a pilot.", "Ivo is a pilot and a nurse."),
    (
        "The api listens on 80 and the worker listens on 81.",
        "The worker listens on 81 and the api listens on 80.",
    ),
    ("Lunch is at noon. The bus leaves at two.", "The bus leaves at two. Lunch is at noon."),
]
OTHER = [
    ("Mara sold Ivo the boat.", "Ivo sold Mara the boat."),
    ("Mara is the manager of Ivo.", "Ivo is the manager of Mara."),
    ("The boss of Mara met the aunt of Ivo.", "The boss of Ivo met the aunt of Mara."),
    ("Users are admins.", "Admins are users."),
    ("Before merging run the tests.", "Before running the tests merge."),
    ("If the build breaks, the alert fires.", "If the alert fires, the build breaks."),
    ("Copy from the api to the worker.", "Copy from the worker to the api."),
    (
        "The talk on Friday is about the trip on Monday.",
        "The talk on Monday is about the trip on Friday.",
    ),
    ("The api listens on 80 and the worker on 81.", "The api listens on 81 and the worker on 80."),
    ("Stop the server and delete the disk.", "Delete the disk and stop the server."),
    ("Mara waited. Then she called Ivo.", "Then she called Ivo. Mara waited."),
    ("Mara trusts Ivo.", "Ivo trusts Mara."),
    (
        "The German subsidiary of the French firm closes.",
        "The French subsidiary of the German firm closes.",
    ),
    ("The parent of the node is null.", "The node of the parent is null."),
    ("Use yarn instead of npm.", "Use npm instead of yarn."),
    ("Only Ana can approve refunds.", "Ana can only approve refunds."),
    (
        "The middleware runs auth, logging and cors in this order.",
        "The middleware runs cors, logging and auth in this order.",
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_parts_in_another_order_are_the_same(one: str, other: str) -> None:
    assert first_difference(read(one), read(other)) is None
    assert first_difference(read(other), read(one)) is None


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_parts_that_change_places_make_another_statement(one: str, other: str) -> None:
    assert not rearranged(read(one), read(other))
    assert first_difference(read(one), read(other)) is not None
    assert first_conflict(read(one), read(other)) is not None
