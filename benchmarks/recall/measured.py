"""One night on memories that questions are asked of: what is found before, after, and plainly."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from benchmarks.quality.bench import Json
from benchmarks.quality.files import NOW, memory_file
from benchmarks.quality.known import holds
from benchmarks.quality.known_answers import Gold, are_two_values
from slowwave.consolidation.evaluation.measures import (
    LOOKED_AT,
    MANY,
    Difference,
    MeasuredHit,
    Measures,
    difference,
    mean,
    measure,
)
from slowwave.consolidation.evaluation.questions import RecallQuestion
from slowwave.consolidation.evaluation.trial import SearchResults, Trial, Trials, is_stale
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.recall.index import RecallIndex, read_recallable_of
from slowwave.consolidation.recall.search import Hit, SearchQuery, relevant, search
from slowwave.consolidation.thresholds import MIN_RELEVANCE
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import BuiltInWriter, Writer
from slowwave.store.records import timestamp

from .baselines import Plain
from .sets import UNRELATED, Asked

AFTER = "after"
# Before the night, but without what `min_relevance` omits.
RELEVANT = "before, min_relevance"
BEFORE, BY_TEXT, BY_LINEAGE = "before", f"{AFTER}, by text", f"{AFTER}, by lineage"
# Where it is known what a text must hold to say what each of its sources said.
BY_KEYS = f"{AFTER}, by known keys"
VECTORS, WORDS, RANKS = "vectors alone", "BM25 alone", "ranks fused"
# What is compared with what: a night with no night, and our search with plain ones, before it.
PAIRS = {
    "by text - before": (BY_TEXT, BEFORE),
    "by keys - before": (BY_KEYS, BEFORE),
    "min_relevance - before": (RELEVANT, BEFORE),
    "before - fused": (BEFORE, RANKS),
    "before - vectors": (BEFORE, VECTORS),
}
STALE = "stale_at_10"


@dataclass(frozen=True)
class Hint:
    """A hit among the first that is said to be older than another memory, or to contradict it."""

    question: str
    text: str
    later: str
    # Whether a run or a person decided that it is older.
    is_decided: bool
    # Whether they give one thing two values; None where that is not known.
    is_right: bool | None


@dataclass(frozen=True)
class Result:
    """What the questions found, each way: a `Measures` a question, in their order."""

    name: str
    # Without those that nothing in the file answers.
    questions: Sequence[RecallQuestion]
    without_evidence: int
    memories_before: int
    memories_after: int
    ways: Mapping[str, Sequence[Measures]]
    # Before and after the night.
    hints: Mapping[str, Sequence[Hint]]
    # The number of questions of the night that got no answer.
    unanswered: int
    seconds: float
    # The share of questions about the world that get nothing.
    silent: float

    def figures(self) -> Json:
        """Return all of it as JSON."""
        return {
            "questions": len(self.questions),
            "left out": self.without_evidence,
            "memories before": self.memories_before,
            "memories after": self.memories_after,
            **{way: self.means(way) for way in self.ways},
            **{
                pair: {name: vars(self.difference(pair, name)) for name in NAMES}
                for pair in self.pairs()
            },
            "recall_at_10 by type": self.by_type("recall_at_10"),
            "questions about an old value": len(self._about_old()),
            "stale after": [
                self.questions[at].id
                for at in self._about_old()
                if self.ways[BY_TEXT][at].stale_at_10
            ],
            "hints": {way: [vars(hint) for hint in hints] for way, hints in self.hints.items()},
            "windows without an answer": self.unanswered,
            "unrelated questions that get nothing": self.silent,
            "seconds": round(self.seconds, 1),
        }

    def means(self, way: str) -> dict[str, float | None]:
        """Return the mean of each measure; of stale ones over the questions with an old value."""
        whole = vars(mean(self.ways[way]))
        return whole | {STALE: self._stale(way)}

    def pairs(self) -> list[str]:
        """Return what can be compared here."""
        return [pair for pair, ways in PAIRS.items() if set(ways) <= self.ways.keys()]

    def difference(self, pair: str, name: str) -> Difference:
        """Return how much higher a measure is, one way than the other, of the same questions."""
        one, other = (self.ways[way] for way in PAIRS[pair])
        places = self._about_old() if name == STALE else range(len(self.questions))
        return difference(
            [getattr(other[at], name) for at in places], [getattr(one[at], name) for at in places]
        )

    def by_type(self, name: str) -> dict[str, dict[str, float]]:
        """Return the mean of a measure for each type of question, each way, and their number."""
        kinds = [question.type or "" for question in self.questions]
        return {
            kind: {"questions": count}
            | {
                way: sum(
                    getattr(measured, name)
                    for measured, asked in zip(self.ways[way], kinds, strict=True)
                    if asked == kind
                )
                / count
                for way in self.ways
            }
            for kind, count in sorted(Counter(kinds).items())
        }

    def _about_old(self) -> list[int]:
        return [at for at, item in enumerate(self.questions) if item.stale_ids]

    def _stale(self, way: str) -> float | None:
        places = self._about_old()
        if not places:
            return None
        return sum(self.ways[way][at].stale_at_10 for at in places) / len(places)


NAMES = tuple(field.name for field in fields(Measures))


def measured(asked: Asked, embedder: Embedder, writer: Writer | None = None) -> Result:
    """Run a night on a copy, as `slowwave eval` does, and the plain searches on the file before.

    writer: None for a night without a model.
    """
    began = time.monotonic()
    with memory_file(asked.lines) as path:
        trials = Trials(path, asked.questions, embedder, NOW, kept_hits=LOOKED_AT)
        trial = trials.night(CycleOptions(), writer or BuiltInWriter())
        index = RecallIndex(read_recallable_of(path, (), embedder.name), embedder)
        plain = Plain(index)
        searches = {
            VECTORS: plain.by_vectors,
            WORDS: plain.by_words,
            RANKS: plain.by_ranks,
        }
        return Result(
            asked.name,
            trials.questions,
            trials.without_evidence,
            trials.before.memories,
            trial.after.memories,
            {
                BEFORE: trials.before.by_text,
                RELEVANT: _relevant(trials),
                BY_TEXT: trial.after.by_text,
                **_by_keys(asked, trials, trial),
                BY_LINEAGE: trial.after.by_lineage,
                **{
                    way: plain.measured(trials.questions, search)
                    for way, search in searches.items()
                },
            },
            {
                BEFORE: list(_hints(asked.gold, trials.questions, trials.before)),
                AFTER: list(_hints(asked.gold, trials.questions, trial.after)),
            },
            sum(window.state != "applied" for window in trial.outcome.asked),
            time.monotonic() - began,
            _silent(index),
        )


def together(name: str, results: Sequence[Result]) -> Result:
    """Put the questions of several files into one result: each was asked of its own file.

    results: all measured in the same ways, at least one.
    """
    return Result(
        name,
        [question for result in results for question in result.questions],
        sum(result.without_evidence for result in results),
        sum(result.memories_before for result in results),
        sum(result.memories_after for result in results),
        {way: [each for result in results for each in result.ways[way]] for way in results[0].ways},
        {
            way: [hint for result in results for hint in result.hints[way]]
            for way in results[0].hints
        },
        sum(result.unanswered for result in results),
        sum(result.seconds for result in results),
        sum(result.silent for result in results) / len(results),
    )


def _hints(
    gold: Gold | None, questions: Sequence[RecallQuestion], found: SearchResults
) -> Iterator[Hint]:
    """Yield what is said of the first hits of each question."""
    sources = {hit.memory.id: hit.sources for hits in found.hits for hit in hits}
    for question, hits in zip(questions, found.hits, strict=True):
        for hit in hits[:MANY]:
            if hit.rival is not None:
                older = (hit.memory.id, *hit.sources)
                later = (hit.rival.id, *sources.get(hit.rival.id, ()))
                is_right = None if gold is None else are_two_values(gold, older, later)
                decided = hit.later is not None
                yield Hint(question.id, hit.memory.content, hit.rival.content, decided, is_right)


def _relevant(trials: Trials) -> list[Measures]:
    """Measure what is found before the night and is relevant enough."""
    return [
        measure(
            [
                MeasuredHit(
                    hit.memory.content,
                    frozenset({hit.memory.id} & set(question.evidence_ids)),
                    is_stale(hit, question),
                )
                for hit in relevant(hits, MIN_RELEVANCE)
            ],
            set(question.evidence_ids),
        )
        for question, hits in zip(trials.questions, trials.before.hits, strict=True)
    ]


def _silent(index: RecallIndex) -> float:
    asked = UNRELATED.read_text("utf-8").splitlines()
    found = [search(index, SearchQuery(question), timestamp(NOW)) for question in asked]
    return sum(not hits for hits in found) / len(asked)


def _by_keys(asked: Asked, trials: Trials, trial: Trial) -> dict[str, list[Measures]]:
    """Measure the night by what must stand in a text, where that is known of every question.

    A derived memory holds what its source said if it has the keys of what is asked for.
    """
    if not asked.keys:
        return {}
    return {
        BY_KEYS: [
            measure(
                [_answer(hit, question, asked.keys[question.id]) for hit in hits],
                set(question.evidence_ids),
            )
            for question, hits in zip(trials.questions, trial.after.hits, strict=True)
        ]
    }


def _answer(hit: Hit, question: RecallQuestion, keys: Sequence[str]) -> MeasuredHit:
    own = {hit.memory.id}
    told = own | set(hit.sources) if holds(hit.memory.content, keys) else own
    return MeasuredHit(
        hit.memory.content,
        frozenset(told & set(question.evidence_ids)),
        is_stale(hit, question),
    )
