"""Compare recall before and after a night, with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from slowwave.consolidation.running.outcome import Outcome

from .measures import Measures, mean
from .trial import Trial, Trials

# Bootstrap resamples: enough for two decimals.
_RESAMPLES = 2_000


@dataclass(frozen=True)
class Difference:
    """The mean increase of a measure after the night, and its 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Evaluation:
    """A file measured before and after a night."""

    questions: int
    # Questions without evidence in the file, or of other tenants.
    without_evidence: int
    # Evidence ids that are not in the file.
    unknown: int
    memories_before: int
    memories_after: int
    before: Measures
    before_by_lineage: Measures
    # By the texts of hits, and by lineage: a derived memory counts as all of its sources.
    after: Measures
    by_lineage: Measures
    # By the name of the measure.
    differences: dict[str, Difference]
    outcome: Outcome


def evaluate(trials: Trials, trial: Trial) -> Evaluation:
    """Compare a trial night with the original file."""
    before, after = trials.before, trial.after
    return Evaluation(
        len(trials.questions),
        trials.without_evidence,
        trials.unknown,
        before.memories,
        after.memories,
        mean(before.by_text),
        mean(before.by_lineage),
        mean(after.by_text),
        mean(after.by_lineage),
        {
            field.name: difference(
                [getattr(measures, field.name) for measures in before.by_text],
                [getattr(measures, field.name) for measures in after.by_text],
            )
            for field in fields(Measures)
        },
        trial.outcome,
    )


def difference(before: Sequence[float], after: Sequence[float]) -> Difference:
    """Return the mean difference of pairs with its bootstrap percentile interval (Efron 1979)."""
    import numpy as np
    from scipy.stats import bootstrap

    gains = np.subtract(after, before)
    if not len(gains):
        return Difference(0.0, 0.0, 0.0)
    mean_gain = float(gains.mean())
    if len(gains) < 2 or not gains.any():
        return Difference(mean_gain, mean_gain, mean_gain)
    found = bootstrap(
        (gains,), np.mean, n_resamples=_RESAMPLES, method="percentile", rng=np.random.default_rng(0)
    )
    interval = found.confidence_interval
    return Difference(mean_gain, float(interval.low), float(interval.high))
