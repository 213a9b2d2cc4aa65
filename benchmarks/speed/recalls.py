"""How long a recall takes, beyond the embedding of the question, beside a plain matrix product.

    python -m benchmarks.speed.recalls [--memories 100000] [--rounds 3] [--json]

A file of memories that data.py makes is written and opened, and 50 questions of fixtures/recall are
asked of it, each in turn by the search and by the bare product of all vectors with its own.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.quality.bench import ROOT, Json
from fixtures.night import FLAVOURS
from slowwave.consolidation.recall.index import RecallIndex, read_recallable_of
from slowwave.consolidation.recall.search import SearchQuery, search, words_of
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.memory_filter import Filter
from slowwave.store.records import timestamp

from .base import BUILD
from .processes import slowwave, step
from .report import DATA
from .steps import NOW

ASKED = 50
# What a search of 100,000 memories may take, in milliseconds beyond the embedding.
BAR = 100.0
_TOP = 10
_SEARCH, _PRODUCT, _WORDS = "search", "bare product", "BM25 alone"
# Other wishes, which cost more.
_WISHES: Mapping[str, SearchQuery] = {
    "search of one tenant": SearchQuery("", filter=Filter(tenants=("default",))),
    "search, as of a day": SearchQuery("", as_of="2026-02-15T00:00:00+00:00"),
    "search, recent first": SearchQuery("", recency=0.01),
    "search, diverse": SearchQuery("", diverse=True),
    "search, 50 hits": SearchQuery("", limit=50),
}

# Takes the place of a question among those asked.
_Way = Callable[[int], object]


class Known:
    """An embedder that knows the questions already: what is timed is everything else."""

    def __init__(self, name: str, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Take texts and their vectors, shape (len(texts), d)."""
        self.name = name
        self._rows = dict(zip(texts, vectors, strict=True))

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the known vectors, shape (len(texts), d)."""
        return np.stack([self._rows[text] for text in texts])


@dataclass(frozen=True)
class Bed:
    """A file that is open for questions."""

    index: RecallIndex
    questions: Sequence[str]
    # float32, shape (len(questions), d), unit length.
    vectors: NDArray[np.float32]
    now: str


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the file, measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.recalls", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--memories", type=int, default=100_000, help="how many the file holds")
    parser.add_argument("--rounds", type=int, default=3, help="how often each question is asked")
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    chosen = parser.parse_args(arguments)
    results: Json = {"environment": step("about", Path()), "rounds": chosen.rounds}
    folder = BUILD / f"recalls-{chosen.memories}"
    try:
        file = _made(folder, chosen.memories)
        results |= measure(file, chosen.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if chosen.json:
        sys.stdout.write(json.dumps(results, indent=1) + "\n")
        return
    console = Console(width=110)
    console.print(*introduction(results), sep="\n", highlight=False, soft_wrap=True)
    console.print(table_of(results))


def questions() -> list[str]:
    """Return 50 questions of fixtures/recall, of all nights alike."""
    paths = (ROOT / "fixtures" / "recall" / f"questions-{item}.jsonl" for item in FLAVOURS)
    lines = [line for path in paths for line in path.read_text("utf-8").splitlines()]
    chosen = np.linspace(0, len(lines) - 1, ASKED).astype(int)
    return [json.loads(lines[at])["question"] for at in chosen]


def measure(file: Path, rounds: int) -> Json:
    """Open a file and ask all questions, warm; milliseconds a question."""
    embedder = SentenceEmbedder()
    asked = questions()
    vectors = embedder.encode(asked)
    opening, index = _opened(file, Known(embedder.name, asked, vectors))
    bed = Bed(index, asked, vectors, timestamp(NOW))
    times = _timed(_ways(bed) | {"embedding": lambda at: embedder.encode([asked[at]])}, rounds)
    found = [len(index.words.scores(words_of(request))[0]) for request in asked]
    return {
        "memories": len(index.memories),
        "questions": len(asked),
        "texts with a word of the question": median(found),
        "opening": opening,
        "milliseconds": {name: _spread(item) for name, item in times.items()},
    }


def introduction(results: Json) -> Iterator[str]:
    """Say what it ran on, which data, and how often."""
    for name, value in results["environment"].items():
        yield f"{name}: {value}"
    yield f"data: {DATA}"
    yield (
        f"{results['memories']:,} memories; a question shares a word with "
        f"{results['texts with a word of the question']:,.0f} of them, in the median"
    )
    yield (
        f"questions: {results['questions']} of fixtures/recall, each {results['rounds']} times, "
        "warm, all ways by turns; of a question's times the median counts"
    )
    opening = ", ".join(f"{name} {item:.2f} s" for name, item in results["opening"].items())
    yield f"opening the file: {opening}"


def table_of(results: Json) -> Table:
    """Return what a question takes each way."""
    times = results["milliseconds"]
    product = times[_PRODUCT]["median"]
    table = Table("", "median ms", "9 of 10 within", "slowest", "times the bare product")
    for name, item in times.items():
        ratio = f"{item['median'] / product:.1f}"
        table.add_row(name, *(f"{item[key]:.1f}" for key in ("median", "ninth", "most")), ratio)
    kept = "kept" if times[_SEARCH]["median"] < BAR else "missed"
    table.caption = f"the bar for {_SEARCH}, beyond the embedding: {BAR:.0f} ms; {kept}"
    return table


def _made(folder: Path, count: int) -> Path:
    """Write a file of memories with their vectors."""
    folder.mkdir(parents=True, exist_ok=True)
    step("make", folder, count)
    file = folder / "memory.db"
    file.unlink(missing_ok=True)
    slowwave("import", file, folder / "memories.jsonl")
    step("vectors", file, "memories")
    return file


def _opened(file: Path, embedder: Known) -> tuple[dict[str, float], RecallIndex]:
    marks = [time.perf_counter()]
    read = read_recallable_of(file, (), embedder.name)
    marks.append(time.perf_counter())
    index = RecallIndex(read, embedder)
    marks.append(time.perf_counter())
    index.current(timestamp(NOW))
    marks.append(time.perf_counter())
    names = ("reading", "indexing", "what leads where")
    return dict(zip(names, np.diff(marks).tolist(), strict=True)), index


def _ways(bed: Bed) -> dict[str, _Way]:
    """Return the ways to ask: by the search, the bare product and the words, and other wishes."""

    def searching(wish: SearchQuery) -> _Way:
        wishes = [replace(wish, text=question) for question in bed.questions]
        return lambda at: search(bed.index, wishes[at], bed.now)

    def product(at: int) -> object:
        return np.argpartition(-(bed.index.vectors @ bed.vectors[at]), _TOP)[:_TOP]

    words = [words_of(question) for question in bed.questions]
    return {
        _SEARCH: searching(SearchQuery("")),
        _PRODUCT: product,
        _WORDS: lambda at: bed.index.words.scores(words[at]),
        **{name: searching(wish) for name, wish in _WISHES.items()},
    }


def _timed(ways: Mapping[str, _Way], rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds of each question each way, the median of all rounds."""
    for way in ways.values():
        way(0)  # what is only computed once is there
    times = {name: np.zeros((rounds, ASKED)) for name in ways}
    for number in range(rounds):
        for at in range(ASKED):
            for name, way in ways.items():
                began = time.perf_counter()
                way(at)
                times[name][number, at] = 1_000 * (time.perf_counter() - began)
    return {name: np.median(item, axis=0).tolist() for name, item in times.items()}


def _spread(times: Sequence[float]) -> Json:
    return {
        "median": median(times),
        "ninth": float(np.percentile(times, 90)),
        "most": max(times),
    }


if __name__ == "__main__":
    main()
