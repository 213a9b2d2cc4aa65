"""What a run found and did, as one value, and what that amounts to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from slowwave.store.errors import StoreError
from slowwave.store.memories import Counts
from slowwave.store.records import LAYERS

from .proposals import Plan, Proposal, Result, Usage
from .purging import Purged

if TYPE_CHECKING:
    from .population import Population


@dataclass(frozen=True)
class Outcome:
    """What a run found, and what it did; in a dry run, what it would do."""

    plan: Plan
    results: tuple[Result, ...]
    before: Counts
    after: Counts
    usage: Usage
    # None where nothing was written: a dry run, or a night with nothing to do.
    run_id: str | None = None
    interrupted: bool = False
    # Why the file could not be written any more, after something was applied.
    broken_off: StoreError | None = None
    # Whether how it ended is in the file, too: another program may have held that.
    end_is_kept: bool = True
    purged: Purged = field(default_factory=Purged)
    # Where the backup lies that was made before the first change.
    backup: Path | None = None
    # Why what was found out is not kept for the next run, which finds it out again.
    not_kept: str | None = None

    @property
    def states(self) -> Counter[str]:
        """How many proposals are in which state."""
        return Counter(result.state for result in self.results)

    @property
    def changed(self) -> bool:
        """Whether a run wrote anything."""
        return self.run_id is not None or self.purged.run_id is not None


def verdict(outcome: Outcome) -> Literal["done", "partial", "failed", "interrupted"]:
    """Say in a word how a run ended.

    A rejected, failed or skipped proposal makes it partial, and failed if nothing was applied.
    What a writer declined, and what was stale, did not go wrong. A purge is partial at the worst:
    one that deleted nothing was an error.
    """
    if outcome.interrupted:
        return "interrupted"
    states = outcome.states
    wrong = states["rejected"] + states["failed"] + states["skipped"]
    if not wrong and outcome.purged.why:
        return "partial"
    if not wrong:
        return "done"
    done = states["applied"] or states["rejected"] or outcome.purged.ids
    broken = states["failed"] and not done
    return "failed" if broken else "partial"


def report_of(outcome: Outcome) -> dict[str, Any]:
    """Give the counts and the model's use, as they are kept with the run."""
    return {
        "before": asdict(outcome.before),
        "after": asdict(outcome.after),
        "states": dict(sorted(outcome.states.items())),
        "model": asdict(outcome.usage),
    }


def expected_counts(before: Counts, plan: Plan, populations: Sequence[Population]) -> Counts:
    """Give the counts that a plan leads to if all of it is applied."""
    by_tenant = {population.tenant: population for population in populations}
    layers = Counter(before.layers)
    left = 0
    for proposal in plan.proposals:
        population = by_tenant[proposal.tenant]
        leaving = _leaving(proposal)
        left += len(leaving)
        layers.subtract(population.memory(one).layer for one in leaving)
        if proposal.operation != "merge" and proposal.survivor is None:
            layers["core" if proposal.operation == "extract" else "stable"] += 1
        elif proposal.operation == "merge" and proposal.survivor is not None:
            stays = population.memory(proposal.survivor).layer
            settled = [population.memory(one).layer for one in leaving]
            layers[stays] -= 1
            layers[max([stays, *settled], key=LAYERS.index)] += 1
    counted: dict[str, int] = {layer: layers[layer] for layer in LAYERS}
    return Counts(sum(counted.values()), before.superseded + left, counted)


def _leaving(proposal: Proposal) -> tuple[str, ...]:
    """Give who leaves; of two that a model is to judge, one at the most."""
    undecided = proposal.operation == "merge" and proposal.survivor is None
    return proposal.leaving[:1] if undecided else proposal.leaving
