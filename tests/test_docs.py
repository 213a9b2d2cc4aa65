"""What the pages in docs/ say by example is what the program does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slowwave.consolidation.comparison.coverage import first_veto
from slowwave.consolidation.comparison.normal_form import normal_form
from slowwave.consolidation.comparison.rivals import find_rivalry
from slowwave.consolidation.text.reading import read

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "how-slowwave-decides.md"
RELIABILITY = ROOT / "docs" / "reliability.md"


def table(first: str) -> list[list[str]]:
    """Return the rows of the table whose first column has this title."""
    lines = PAGE.read_text("utf-8").splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"| {first} |"))
    end = next(at for at in range(start, len(lines)) if not lines[at].startswith("|"))
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines[start + 2 : end]
    ]


@pytest.mark.parametrize(("one", "other"), table("one"))
def test_the_rewordings_of_the_page_have_one_form(one: str, other: str) -> None:
    assert normal_form(one) == normal_form(other)


@pytest.mark.parametrize("row", table("veto"), ids=lambda row: row[0])
def test_a_veto_says_of_its_example_what_the_page_says(row: list[str]) -> None:
    kind, _, said, premise, why = row
    veto = first_veto(said, premise)
    assert veto is not None
    assert (veto.kind, veto.why) == (kind.strip("`"), why)


@pytest.mark.parametrize(("earlier", "later", "slot"), table("earlier"))
def test_two_values_of_the_page_are_the_conflict_that_the_page_says(
    earlier: str, later: str, slot: str
) -> None:
    rivalry = find_rivalry(read(earlier), read(later))
    assert (rivalry.slot if rivalry is not None else "none") == slot


def test_every_test_that_the_page_on_reliability_names_is_there_and_is_run_for_long() -> None:
    named = set(re.findall(r"`(tests/[a-z_/]+\.py)`", RELIABILITY.read_text("utf-8")))
    assert {one for one in named if not (ROOT / one).is_file()} == set()
    often = re.search(r"^OFTEN := (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert often is not None
    for one in named:
        alone = one.removeprefix("tests/test_")
        assert one.startswith("tests/reliability/") or alone in re.split(r"[ ,)]", often[1])


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(PAGE.parent.glob("*.md"))])
def test_every_file_of_the_project_that_a_page_names_is_there(page: Path) -> None:
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.[a-z]+)`", page.read_text("utf-8")))
    made = {one for one in named if one.startswith("build/")}
    assert [one for one in sorted(named - made) if not (ROOT / one).is_file()] == []
