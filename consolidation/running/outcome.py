"""What a run found and did, as one value, and what that amounts to."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from slowwave.consolidation.proposals import AskedWindow, Conflict, Plan, Result, Usage
from slowwave.store.errors import StoreError
from slowwave.store.memories import Counts

from .purge import Purged
from .set_aside import SetAside


@dataclass(frozen=True)
class Outcome:
    """What a run found, and what it did; in a dry run, what it would do."""

    plan: Plan
    results: tuple[Result, ...]
    before: Counts
    after: Counts
    usage: Usage
    # What became of the questions to a model; in a dry run, what would be asked.
    asked: tuple[AskedWindow, ...] = ()
    # None where nothing was written: a dry run, or a night with nothing to do.
    run_id: str | None = None
    interrupted: bool = False
    # Why the file could not be written any more, after something was applied.
    broken_off: StoreError | None = None
    # Whether how it ended is in the file, too: another program may have held that.
    end_is_kept: bool = True
    purged: Purged = field(default_factory=Purged)
    # What waited for a person and cannot be applied any more; a real run has set it aside.
    set_aside: tuple[SetAside, ...] = ()
    # Where the backup lies that was made before the first change.
    backup: Path | None = None
    # Why what was found out is not kept for the next run, which finds it out again.
    not_kept: str | None = None

    @property
    def states(self) -> Counter[str]:
        """How many proposals are in which state."""
        return Counter(result.state for result in self.results)

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """What stands against each other, as rules or a model see it."""
        return (*self.plan.conflicts, *(one for asked in self.asked for one in asked.conflicts))

    @property
    def changed(self) -> bool:
        """Whether a run wrote anything."""
        return self.run_id is not None or self.purged.run_id is not None


def verdict(outcome: Outcome) -> Literal["done", "partial", "failed", "interrupted"]:
    """Return in a word how a run ended.

    A failed or skipped proposal makes it partial, and failed if nothing was applied. What a writer
    declined, what was stale, and a model's draft that did not pass the check did not go wrong. A
    purge is partial at the worst: one that deleted nothing was an error.
    """
    if outcome.interrupted:
        return "interrupted"
    states = outcome.states + Counter(one.state for one in outcome.asked)
    wrong = states["failed"] + states["skipped"] + _wrongly_rejected(outcome)
    if not wrong and outcome.purged.why:
        return "partial"
    if not wrong:
        return "done"
    done = states["applied"] or states["rejected"] or outcome.purged.ids
    broken = states["failed"] and not done
    return "failed" if broken else "partial"


def _wrongly_rejected(outcome: Outcome) -> int:
    """Count the rejected drafts that a person should look at.

    Those that the plan held already, and those of a model of which nothing was applied: one that
    now and then says too much is no failure of a night, one that does nothing else may be broken
    or attack.
    """
    rejected = [one.proposal for one in outcome.results if one.state == "rejected"]
    planned = sum(not one.by_model for one in rejected)
    of_use = any(one.proposal.by_model and one.state == "applied" for one in outcome.results)
    return planned if of_use else len(rejected)


def report_of(outcome: Outcome) -> dict[str, Any]:
    """Return the counts and the model's use, as they are kept with the run."""
    return {
        "before": asdict(outcome.before),
        "after": asdict(outcome.after),
        "states": dict(sorted(outcome.states.items())),
        "model": asdict(outcome.usage),
    }
