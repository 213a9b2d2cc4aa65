"""How the work grows, counted in calls: times vary on a busy machine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from counting import calls, work_of
from nights import fill, night
from texts import sources

from fixtures.night import lines, load
from slowwave.consolidation.clustering.neighbours import similar_pairs
from slowwave.consolidation.comparison.rivals import find_rivalry
from slowwave.consolidation.snapshot.features import _features
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.consolidation.writing.draft_check import find_text_faults

LONG = {
    "numbers": lambda count: " ".join(f"{number * 7} s" for number in range(count)),
    "quotes": lambda count: " ".join(f'"q{number} z"' for number in range(count)),
    "one sentence": lambda count: " and ".join(
        f"job {number} of Ann is on db-{number}" for number in range(count)
    ),
}


def compared(text: str) -> None:
    find_rivalry(text, f"{text} too")


def checked(text: str) -> None:
    both = sources(text, f"{text} too")
    find_text_faults(f"{both[0].text} {both[1].text}", both)


@pytest.mark.slow
@pytest.mark.parametrize("shape", LONG)
@pytest.mark.parametrize("work", [compared, checked])
def test_comparison_and_checks_take_linear_work(work: Callable[[str], None], shape: str) -> None:
    # Fill the caches first.
    work(f"The pump is old. {LONG[shape](161)}")
    few = calls(lambda: work(LONG[shape](40)))
    # Square time would be sixteen times as much.
    assert calls(lambda: work(LONG[shape](160))) < 8 * few


# The work of nights on 1,000 memories: it may only fall.
FIRST = {"texts": 995, "searches": 1, "statements": 264}
SMALL = {"texts": 5, "searches": 1, "statements": 198}
IDLE = {"statements": 72}


def work_of_a_night(path: Path, embedder: SentenceEmbedder, full: bool = False) -> Counter[str]:
    """Count the texts that a night reads, and its SQL statements."""
    return work_of(
        lambda: night(path, embedder, full=full),
        texts=_features,
        searches=similar_pairs,
    )


@pytest.mark.slow
def test_no_night_does_more_work_than_before(memory_file: Path, embedder: SentenceEmbedder) -> None:
    memories = [json.loads(line) for line in lines(load("assistant"))]
    fill(memory_file, memories[5:])
    night(memory_file, embedder, consolidate=False)
    assert work_of_a_night(memory_file, embedder, full=True) <= Counter(FIRST)
    assert work_of_a_night(memory_file, embedder) <= Counter(IDLE)
    fill(memory_file, memories[:5])
    assert work_of_a_night(memory_file, embedder) <= Counter(SMALL)
