"""The tables of the results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.table import Table

from .measured import AFTER, BEFORE, STALE, Result

TUNED_ON = (
    "VECTOR_SHARE and WORDS_FOUND were chosen on the default data: the halves of LoCoMo and "
    "LongMemEval that developers have, and the questions of the nights, which were written without "
    "seeing what recall finds. "
    "docs/quality.md states which texts the thresholds of consolidation were chosen on.",
    "The baselines have nothing to tune: rank fusion uses the constant 60 of its authors.",
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
EXPLANATIONS = (
    "before, after: the search of slowwave, before and after the night. By text: a derived memory "
    "counts as one of its sources if it has the facts of that source (as in `slowwave eval`); by "
    "known keys: if it has the keys of the answer; by lineage: always.",
    "in 500, in 1,000: recall within that number of tokens. stale@10: the share of the questions "
    "about a changed value whose first 10 hits include the old value, without a hint that it is "
    "older than another memory or contradicts it.",
    "hints: how many of the first 10 hits are marked as older than another memory, by a decision, "
    "or as contradicting it; wrong ones are between two memories that are known not to give one "
    "subject two values.",
    "A night is deterministic, so one round is enough. Intervals are 95%, from a paired bootstrap "
    "over the questions.",
    "The baselines, and the differences from them, are measured before the night.",
)
_TOKENS = "tokens_at_10"
_NONE = "-"


def tables(results: Iterable[Result]) -> Iterator[Table]:
    """Yield two tables per result: all measures, and recall@10 by type of question."""
    for result in results:
        yield _measures(result)
        if len({question.type for question in result.questions}) > 1:
            yield _types(result)


def _measures(result: Result) -> Table:
    title = (
        f"{result.name}: {len(result.questions)} questions, {result.without_evidence} omitted "
        f"({result.seconds:.0f} s); {result.silent:.0%} of unrelated questions find nothing"
    )
    table = Table("", "memories", *_TITLES.values(), title=title, caption=_caption(result))
    for search in result.searches:
        means = result.means(search)
        is_after = search.startswith(AFTER)
        size = result.memories_after if is_after else result.memories_before
        table.add_row(search, f"{size:,}", *(_value(name, means[name]) for name in _TITLES))
    for pair in result.pairs():
        table.add_section()
        gains = {name: result.difference(pair, name) for name in _TITLES}
        has_stale = result.means(BEFORE)[STALE] is not None
        for title, end in ((pair, "mean"), ("  from", "low"), ("  to", "high")):
            cells = (
                _gain(name, getattr(gain, end)) if has_stale or name != STALE else _NONE
                for name, gain in gains.items()
            )
            table.add_row(title, "", *cells)
    return table


def _caption(result: Result) -> str:
    """Return the numbers of hints, and of windows without an answer."""
    parts = [
        f"hints {search}: {len(hints)}, {sum(hint.is_decided for hint in hints)} by a decision, "
        f"{sum(hint.is_right is False for hint in hints)} wrong"
        for search, hints in result.hints.items()
    ]
    if result.unanswered:
        parts.append(f"{result.unanswered} windows of the night without an answer")
    return "; ".join(parts)


def _types(result: Result) -> Table:
    table = Table("", "questions", *result.searches, title=f"{result.name}: recall@10 by type")
    for kind, figures in result.by_type("recall_at_10").items():
        table.add_row(
            kind,
            f"{figures['questions']:.0f}",
            *(f"{figures[search]:.3f}" for search in result.searches),
        )
    return table


def _value(name: str, value: float | None) -> str:
    if value is None:
        return _NONE
    return f"{value:,.0f}" if name == _TOKENS else f"{value:.3f}"


def _gain(name: str, gain: float) -> str:
    return f"{gain:+.0f}" if name == _TOKENS else f"{gain:+.3f}"
