"""What a run found and did, as one value, and what that amounts to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from slowwave.consolidation.ageing.decay import LayerScores
from slowwave.consolidation.errors import ConsolidationError
from slowwave.consolidation.proposals import AskedWindow, Conflict, Plan, Result, Usage
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.store.errors import StoreError
from slowwave.store.file import open_reading
from slowwave.store.memories import Counts, count_memories, select_consolidated_tenants

from .age import Aged
from .purge import Purged
from .run_record import Verdict, run_report
from .set_aside import EarlierProposals
from .taken_up import TakenUp


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
    broken_off: StoreError | ConsolidationError | None = None
    # Whether how it ended is in the file, too: another program may have held that.
    end_is_kept: bool = True
    purged: Purged = field(default_factory=Purged)
    # What waited for a person before; a real run has set aside what cannot be applied any more.
    earlier: EarlierProposals = field(default_factory=EarlierProposals)
    # What waited for a model; what reading it took is part of `usage`.
    taken_up: TakenUp = field(default_factory=TakenUp)
    # None where the phase was not wanted.
    expired: Aged | None = None
    scores: tuple[LayerScores, ...] | None = None
    archived: Aged | None = None
    # Where the backup is that was made before the first change.
    backup: Path | None = None
    # Why what was found out is not kept for the next run, which finds it out again.
    not_kept: str | None = None

    @property
    def states(self) -> Counter[str]:
        """How many proposals are in which state."""
        return Counter(result.state for result in self.results)

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """What stands against each other, as rules or a model see it, and stays active."""
        found = (*self.plan.conflicts, *(one for asked in self.asked for one in asked.conflicts))
        archived = self.archived.leaving if self.archived is not None else ()
        gone = {one.id for one in archived}
        return tuple(one for one in found if gone.isdisjoint(one.sources))

    @property
    def changed(self) -> bool:
        """Whether a run wrote anything since it looked at the file.

        That is after what had expired, and after conversations that waited.
        """
        archived = None if self.archived is None else self.archived.run_id
        return any(one is not None for one in (self.run_id, self.purged.run_id, archived))

    @property
    def last_run(self) -> str | None:
        """The last of the runs that the night was; None where it wrote nothing."""
        runs = [self.purged.run_id]
        runs += [one.run_id for one in (self.archived,) if one is not None]
        runs += [self.run_id, *reversed(self.taken_up.runs)]
        runs += [one.run_id for one in (self.expired,) if one is not None]
        return next((one for one in runs if one is not None), None)

    @property
    def aged(self) -> tuple[Aged, ...]:
        """What the phases did that were wanted and take memories out of the active ones."""
        return tuple(one for one in (self.expired, self.archived) if one is not None)

    @property
    def report(self) -> dict[str, Any]:
        """The counts and the model's use, as they are kept with the run."""
        return run_report(self.before, self.after, self.states.elements(), self.usage)

    @property
    def is_work(self) -> bool:
        """Whether a dry run found anything to do."""
        some = self.purged.ids or any(one.leaving for one in self.aged)
        return not self.plan.is_empty or bool(some) or self.taken_up.is_due

    @property
    def verdict(self) -> Verdict:
        """In a word, how the run ended.

        A failed or skipped proposal makes it partial, and failed if nothing was applied. What a
        writer declined, what was stale, and a model's draft that did not pass the check did not go
        wrong. A purge, like the phases of ageing and conversations taken up, is partial at the
        worst: one that did nothing was an error, and a conversation that nobody could read waits
        on.
        """
        if self.interrupted:
            return "interrupted"
        states = self.states + Counter(one.state for one in self.asked)
        wrong = states["failed"] + states["skipped"] + _wrongly_rejected(self)
        beside = self.purged.why or self.taken_up.went_wrong or any(a.why for a in self.aged)
        if not wrong and (beside or self.broken_off):
            return "partial"
        if not wrong:
            return "done"
        left = any(one.leaving for one in self.aged)
        done = states["applied"] or states["rejected"] or self.purged.ids or left
        done = done or self.taken_up.read
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


def without_stale(
    outcome: Outcome, stale: Mapping[str, str], path: Path, tenants: Sequence[str]
) -> Outcome:
    """Return an outcome without what was taken back when another agent's file was written.

    stale: why, by the keys of the proposals. Raises `StoreError`.
    """
    if not stale:
        return outcome
    results = [
        replace(one, state="stale", why=stale[one.proposal.id]) if one.proposal.id in stale else one
        for one in outcome.results
    ]
    with open_reading(path) as file:
        after = count_memories(file, select_consolidated_tenants(file, tenants), count_tokens)
    return replace(outcome, results=tuple(results), after=after)
