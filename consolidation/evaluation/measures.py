"""Measures of how well hits answer a question, and how they differ before and after a night."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from math import log2

from slowwave.consolidation.text.tokens import count_tokens

# Numbers of hits, and token budgets of a context, that are measured.
FEW, MANY = 5, 10
BUDGETS = (500, 1_000)
# The number of short memories that fill the larger budget.
LOOKED_AT = 200
# Bootstrap resamples: enough for two decimals.
_RESAMPLES = 2_000


@dataclass(frozen=True)
class MeasuredHit:
    """A hit, as measures see it."""

    text: str
    # The ids of the question's evidence that it contains.
    holds: frozenset[str]
    # Whether it presents an outdated value as current.
    is_stale: bool = False


@dataclass(frozen=True)
class Measures:
    """The measures of a question, or their means. All but tokens are shares."""

    recall_at_5: float
    recall_at_10: float
    all_at_10: float
    mrr: float
    ndcg_at_10: float
    tokens_at_10: float
    recall_in_500_tokens: float
    recall_in_1000_tokens: float
    stale_at_10: float


@dataclass(frozen=True)
class Difference:
    """The mean increase of a measure after a night, and its 95% interval."""

    mean: float
    low: float
    high: float


def measure(hits: Sequence[MeasuredHit], evidence: Collection[str]) -> Measures:
    """Measure a question. evidence: the ids that answer it, at least one."""
    return Measures(
        recall_at_5=_recall(hits[:FEW], evidence),
        recall_at_10=_recall(hits[:MANY], evidence),
        all_at_10=float(_recall(hits[:MANY], evidence) == 1.0),
        mrr=next((1.0 / rank for rank, hit in enumerate(hits, 1) if hit.holds), 0.0),
        ndcg_at_10=_ndcg(hits[:MANY], evidence),
        tokens_at_10=float(sum(count_tokens(hit.text) for hit in hits[:MANY])),
        recall_in_500_tokens=_recall(_select_fitting(hits, BUDGETS[0]), evidence),
        recall_in_1000_tokens=_recall(_select_fitting(hits, BUDGETS[1]), evidence),
        stale_at_10=float(any(hit.is_stale for hit in hits[:MANY])),
    )


def mean(measured: Sequence[Measures]) -> Measures:
    """Return the mean of each measure; 0 without questions."""
    count = max(len(measured), 1)
    return Measures(
        **{
            field.name: sum(getattr(measures, field.name) for measures in measured) / count
            for field in fields(Measures)
        }
    )


def differences(before: Sequence[Measures], after: Sequence[Measures]) -> dict[str, Difference]:
    """Return how much each measure of the same questions rose, by its name."""
    return {
        field.name: difference(
            [getattr(measures, field.name) for measures in before],
            [getattr(measures, field.name) for measures in after],
        )
        for field in fields(Measures)
    }


def difference(before: Sequence[float], after: Sequence[float]) -> Difference:
    """Return the mean difference of pairs with its bootstrap percentile interval (Efron 1979)."""
    import numpy as np
    from scipy.stats import bootstrap

    gains = np.subtract(after, before)
    mean_gain = float(gains.mean()) if len(gains) else 0.0
    if len(gains) < 2 or not gains.any():
        return Difference(mean_gain, mean_gain, mean_gain)
    result = bootstrap(
        (gains,), np.mean, n_resamples=_RESAMPLES, method="percentile", rng=np.random.default_rng(0)
    )
    interval = result.confidence_interval
    return Difference(mean_gain, float(interval.low), float(interval.high))


def _recall(hits: Sequence[MeasuredHit], evidence: Collection[str]) -> float:
    return len({memory_id for answer in hits for memory_id in answer.holds}) / len(evidence)


def _ndcg(hits: Sequence[MeasuredHit], evidence: Collection[str]) -> float:
    """Return the discounted gain (Järvelin and Kekäläinen 2002) as a share of the best possible.

    A hit gains the evidence that no earlier hit contains.
    """
    covered: set[str] = set()
    gain = 0.0
    for rank, answer in enumerate(hits, 1):
        gain += len(answer.holds - covered) / log2(rank + 1)
        covered |= answer.holds
    # The best possible: one piece of evidence per hit. A memory with more counts as much.
    best = sum(1.0 / log2(rank + 1) for rank in range(1, min(len(evidence), MANY) + 1))
    return min(gain / best, 1.0)


def _select_fitting(hits: Sequence[MeasuredHit], budget: int) -> list[MeasuredHit]:
    """Return the hits that fit into a token budget, best first; long ones are skipped."""
    fitting, remaining_tokens = [], budget
    for answer in hits:
        tokens = count_tokens(answer.text)
        if tokens <= remaining_tokens:
            fitting.append(answer)
            remaining_tokens -= tokens
    return fitting
