"""The tables of what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.table import Table

from .measured import AFTER, BEFORE, STALE, Result

TUNED_ON = (
    "VECTOR_SHARE and WORDS_FOUND were chosen on all that is measured here by default: the halves "
    "of LoCoMo and LongMemEval that developers have, and the questions of the nights, which were "
    "written without a look at what is found. Only other files are a test of them (--locomo, "
    "--longmemeval). On which of the nights' texts rules of consolidation were tuned, "
    "benchmarks/quality says.",
    "The plain searches have nothing to tune: the fused ranks take the constant 60 of their "
    "authors.",
)
_TITLES = {
    "recall_at_5": "recall@5",
    "recall_at_10": "recall@10",
    "all_at_10": "all@10",
    "mrr": "MRR",
    "ndcg_at_10": "nDCG@10",
    "tokens_at_10": "tokens@10",
    "recall_in_500_tokens": "in 500",
    "recall_in_1000_tokens": "in 1,000",
    STALE: "stale@10",
}
EXPLAINED = (
    "before, after: the search of slowwave, before and after the night. By text: a derived memory "
    "counts as one of its sources if that one's facts stand in it (what `slowwave eval` counts); "
    "by known keys: if what must stand in any answer does; by lineage: always.",
    "in 500, in 1,000: recall within so many tokens of context. stale@10: the share of the "
    "questions about a changed value for which the old one is among 10, and nothing says that it "
    "is older than another, or contradicts it.",
    "hints: how often one of 10 hits is said to be older than another memory, by a decision, or to "
    "contradict it; wrong ones are those of two memories that are known not to give one thing two "
    "values.",
    "The plain searches and the differences from them are of the file before the night.",
)
_TOKENS = "tokens_at_10"
_NONE = "-"


def tables(results: Iterable[Result]) -> Iterator[Table]:
    """Yield two tables for each: all measures, and recall@10 by the types of questions."""
    for result in results:
        yield _measures(result)
        if len({question.type for question in result.questions}) > 1:
            yield _types(result)


def _measures(result: Result) -> Table:
    title = (
        f"{result.name}: {len(result.questions)} questions, {result.without_evidence} left out "
        f"({result.seconds:.0f} s); {result.silent:.0%} of unrelated questions get nothing"
    )
    table = Table("", "memories", *_TITLES.values(), title=title, caption=_caption(result))
    for way in result.ways:
        means = result.means(way)
        after = way.startswith(AFTER)
        size = result.memories_after if after else result.memories_before
        table.add_row(way, f"{size:,}", *(_value(name, means[name]) for name in _TITLES))
    for pair in result.pairs():
        table.add_section()
        gains = {name: result.difference(pair, name) for name in _TITLES}
        there = result.means(BEFORE)[STALE] is not None
        for title, end in ((pair, "mean"), ("  from", "low"), ("  to", "high")):
            cells = (
                _gain(name, getattr(gain, end)) if there or name != STALE else _NONE
                for name, gain in gains.items()
            )
            table.add_row(title, "", *cells)
    return table


def _caption(result: Result) -> str:
    """Return what is said of hits, and how much of the night is missing."""
    parts = [
        f"hints {way}: {len(hints)}, {sum(hint.is_decided for hint in hints)} by a decision, "
        f"{sum(hint.is_right is False for hint in hints)} wrong"
        for way, hints in result.hints.items()
    ]
    if result.unanswered:
        parts.append(f"{result.unanswered} windows of the night without an answer")
    return "; ".join(parts)


def _types(result: Result) -> Table:
    table = Table("", "questions", *result.ways, title=f"{result.name}: recall@10 by type")
    for kind, figures in result.by_type("recall_at_10").items():
        table.add_row(
            kind, f"{figures['questions']:.0f}", *(f"{figures[way]:.3f}" for way in result.ways)
        )
    return table


def _value(name: str, value: float | None) -> str:
    if value is None:
        return _NONE
    return f"{value:,.0f}" if name == _TOKENS else f"{value:.3f}"


def _gain(name: str, gain: float) -> str:
    return f"{gain:+.0f}" if name == _TOKENS else f"{gain:+.3f}"
