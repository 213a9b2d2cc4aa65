"""How well hits answer a question: the field's measures, each for one question."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from math import log2

from slowwave.consolidation.text.token_count import count_tokens

# So many hits are looked at, and what fits into so many tokens of context, of this many hits.
FEW, MANY = 5, 10
BUDGETS = (500, 1_000)
# Of short memories so many are needed to fill the larger budget.
LOOKED_AT = 200


@dataclass(frozen=True)
class MeasuredHit:
    """One hit, as measures see it."""

    text: str
    # Which of the question's evidence it holds.
    holds: frozenset[str]
    # Whether it hands over an old value as what is so.
    is_stale: bool = False


@dataclass(frozen=True)
class Measures:
    """Of one question; the mean of many has the same form. All but tokens are shares."""

    recall_at_5: float
    recall_at_10: float
    all_at_10: float
    mrr: float
    ndcg_at_10: float
    tokens_at_10: float
    recall_in_500_tokens: float
    recall_in_1000_tokens: float
    stale_at_10: float


def measure(hits: Sequence[MeasuredHit], evidence: Collection[str]) -> Measures:
    """Measure one question. evidence: the ids that answer it, at least one."""
    return Measures(
        recall_at_5=_found(hits[:FEW], evidence),
        recall_at_10=_found(hits[:MANY], evidence),
        all_at_10=float(_found(hits[:MANY], evidence) == 1.0),
        mrr=next((1.0 / rank for rank, one in enumerate(hits, 1) if one.holds), 0.0),
        ndcg_at_10=_ndcg(hits[:MANY], evidence),
        tokens_at_10=float(sum(count_tokens(one.text) for one in hits[:MANY])),
        recall_in_500_tokens=_found(_fitting(hits, BUDGETS[0]), evidence),
        recall_in_1000_tokens=_found(_fitting(hits, BUDGETS[1]), evidence),
        stale_at_10=float(any(one.is_stale for one in hits[:MANY])),
    )


def mean(measured: Sequence[Measures]) -> Measures:
    """Return the mean of each measure; of no question at all 0."""
    count = max(len(measured), 1)
    return Measures(
        **{
            field.name: sum(getattr(one, field.name) for one in measured) / count
            for field in fields(Measures)
        }
    )


def _found(hits: Sequence[MeasuredHit], evidence: Collection[str]) -> float:
    return len({one for answer in hits for one in answer.holds}) / len(evidence)


def _ndcg(hits: Sequence[MeasuredHit], evidence: Collection[str]) -> float:
    """Return the discounted gain (Järvelin and Kekäläinen 2002) as a share of the best possible.

    A hit gains what it holds of the evidence that no hit before it held.
    """
    met: set[str] = set()
    gain = 0.0
    for rank, answer in enumerate(hits, 1):
        gain += len(answer.holds - met) / log2(rank + 1)
        met |= answer.holds
    # One after the other, each by itself; what one memory holds of several counts as much as that.
    best = sum(1.0 / log2(rank + 1) for rank in range(1, min(len(evidence), MANY) + 1))
    return min(gain / best, 1.0)


def _fitting(hits: Sequence[MeasuredHit], budget: int) -> list[MeasuredHit]:
    """Return what fits into so many tokens, best first; what is too long makes room for less."""
    fitting, left = [], budget
    for answer in hits:
        tokens = count_tokens(answer.text)
        if tokens <= left:
            fitting.append(answer)
            left -= tokens
    return fitting
