"""The pages in docs/ name numbers, files and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from places import ROOT

from slowwave.consolidation.facts.languages import in_digits
from slowwave.consolidation.thresholds import (
    NARROW_EPS,
    NEAREST_FOR_A_MODEL,
    WIDE_SIMILARITY,
    WINDOW_TOKENS,
)
from slowwave.store.records import MAX_CHARACTERS

PAGE = ROOT / "docs" / "how-slowwave-decides.md"
PAGES = [ROOT / "README.md", *sorted(PAGE.parent.glob("*.md"))]
RELIABILITY = ROOT / "docs" / "reliability.md"


@pytest.mark.parametrize(
    ("promise", "number"),
    [
        (r"loose threshold \(cosine ([\d.]+)\)", WIDE_SIMILARITY),
        (r"across the cut \(cosine\s+([\d.]+) or more\)", 1.0 - NARROW_EPS),
        (r"packed to ([\d,]+) tokens", WINDOW_TOKENS),
        (r"what is new, its (\w+) nearest memories", NEAREST_FOR_A_MODEL),
        (r"of more than ([\d,]+) characters", MAX_CHARACTERS),
    ],
)
def test_numbers_on_the_page_of_decisions_are_thresholds(promise: str, number: float) -> None:
    match = re.search(promise, " ".join(PAGE.read_text("utf-8").split()))
    assert match is not None
    named = match[1].replace(",", "")
    assert float(next(in_digits(named), named)) == pytest.approx(number)


def test_each_promise_of_reliability_md_names_a_long_test() -> None:
    rows = [line for line in RELIABILITY.read_text("utf-8").splitlines() if "`tests/" in line]
    assert rows
    for row in rows:
        named = [ROOT / each for each in re.findall(r"`(tests/[a-z_/]+\.py)`", row)]
        assert all(each.is_file() for each in named), row
        # As the Makefile finds them.
        long = re.compile("/reliability/|rounds|long_only")
        assert any(long.search(f"{each} {each.read_text('utf-8')}") for each in named), row


def headings(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_page_and_a_heading(page: Path) -> None:
    text = page.read_text("utf-8")
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text):
        linked = page.parent / target if target else page
        assert linked.exists(), target
        assert not anchor or anchor in headings(linked), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.[a-z]+)`", page.read_text("utf-8")))
    built = {each for each in named if each.startswith("build/")}
    assert [each for each in sorted(named - built) if not (ROOT / each).is_file()] == []
