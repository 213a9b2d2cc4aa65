"""What the pages in docs/ say by example is what the program does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from nights import fill, night, rows, told

from slowwave.consolidation.comparison import guards
from slowwave.consolidation.comparison.guards import certain_conflict, first_difference
from slowwave.consolidation.comparison.objections import Objection
from slowwave.consolidation.text.reading import read
from slowwave.consolidation.vectors.embedder import SentenceEmbedder

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


GUARDS = {guard.__name__.lstrip("_"): guard for guard in guards._GUARDS}


@pytest.mark.parametrize(("one", "other"), table("one"))
def test_the_rewordings_of_the_page_do_not_differ(one: str, other: str) -> None:
    assert first_difference(read(one), read(other)) is None


def test_the_page_has_one_example_of_each_guard() -> None:
    assert [row[0].strip("`") for row in table("guard")] == list(GUARDS)


@pytest.mark.parametrize("row", table("guard"), ids=lambda row: row[0])
def test_a_guard_says_of_its_example_what_the_page_says(row: list[str]) -> None:
    name, _, one, other, said, sure = row
    objections = list(GUARDS[name.strip("`")](read(one), read(other)))
    assert said in [f"{objection.guard}: {objection.why}" for objection in objections]
    found = next(one for one in objections if said == f"{one.guard}: {one.why}")
    assert sure == _sureness(found)
    if sure == "certain":
        assert certain_conflict(read(one), read(other)) is not None


def _sureness(objection: Objection) -> str:
    if not objection.conflict:
        return "addition"
    return "conflict" if objection.doubtful else "certain"


@pytest.mark.parametrize(("earlier", "later", "outcome"), table("earlier"))
def test_an_update_of_the_page_becomes_what_the_page_says(
    earlier: str, later: str, outcome: str, memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, told([earlier, later], "m"))
    applied = night(memory_file, embedder)
    active = [
        row["content"]
        for row in rows(memory_file, "SELECT content FROM memories WHERE status = 'active'")
    ]
    if outcome == "newer":
        assert [one.proposal.operation for one in applied.results] == ["update"]
        assert active == [f"[since 2026-02-02] {later} [2026-02-01 until 2026-02-02] {earlier}"]
    else:
        assert sorted(active) == sorted([earlier, later])


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
