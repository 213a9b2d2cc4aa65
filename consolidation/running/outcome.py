"""The outcome of a night as one value, its verdict and its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from slowwave.consolidation.ageing.selection import LayerScores
from slowwave.consolidation.proposals import (
    AskedWindow,
    Conflict,
    Plan,
    Refusal,
    Result,
    State,
    Usage,
)
from slowwave.store.errors import SlowwaveError
from slowwave.store.file import open_reading
from slowwave.store.intake import Backlog
from slowwave.store.ledger import read_decisions
from slowwave.store.memories import Counts

from .phases import AgeingResult, PurgeResult
from .review_queue import EarlierProposals
from .run_in_file import Verdict, run_report

_NOT_DONE = ("failed", "skipped")


@dataclass(frozen=True)
class QueuedPartsResult:
    """How many conversation parts were queued for a model, and what became of them.

    Each tenant's parts are a run of their own, reported and undone like an ingest.
    """

    # The parts that are still queued.
    backlog: Backlog = field(default_factory=Backlog)
    # Whether a real run would read them; only in a dry run.
    would_be_read: bool = False
    runs: tuple[str, ...] = ()
    # Numbers of parts: read, and asked about without success.
    read: int = 0
    unread: int = 0
    # Whether a model failed to answer; otherwise a limit is the reason for all unread parts.
    has_failed: bool = False
    # The number of texts by state.
    states: dict[str, int] = field(default_factory=dict)
    # Why the first unread part was not read.
    why: str | None = None
    usage: Usage = field(default_factory=Usage)
    # Before the first run and after the last; None if nothing was read.
    counts: tuple[Counts, Counts] | None = None
    interrupted: bool = False
    # Why the file could no longer be written, after something was stored.
    broken_off: SlowwaveError | None = None

    @property
    def waiting(self) -> int:
        """The number of parts that are still queued."""
        return self.backlog.parts


@dataclass(frozen=True)
class Outcome:
    """What a run found and did; in a dry run, what it would do."""

    before: Counts
    after: Counts
    plan: Plan = field(default_factory=Plan)
    results: tuple[Result, ...] = ()
    usage: Usage = field(default_factory=Usage)
    # The windows shown to a model; in a dry run, those that would be.
    asked: tuple[AskedWindow, ...] = ()
    # None if nothing was written: a dry run, or nothing to do.
    run_id: str | None = None
    interrupted: bool = False
    # Why the file could no longer be written, after something was applied.
    broken_off: SlowwaveError | None = None
    # Why the ledger lacks the end: another program may have locked the file.
    why_unrecorded: str = ""
    purged: PurgeResult = field(default_factory=PurgeResult)
    # Proposals of earlier nights; a real run has withdrawn the outdated ones.
    earlier: EarlierProposals = field(default_factory=EarlierProposals)
    # `usage` includes what reading them took.
    queued_parts: QueuedPartsResult = field(default_factory=QueuedPartsResult)
    # None if the phase was not requested.
    expired: AgeingResult | None = None
    scores: tuple[LayerScores, ...] | None = None
    archived: AgeingResult | None = None
    # The backup made before the first change.
    backup: Path | None = None
    # The version of the schema that the run migrated; None if it was the current one.
    migrated_from: int | None = None
    # Why the findings were not saved; the next run computes them again.
    why_unsaved: str | None = None

    @property
    def states(self) -> Counter[str]:
        """The number of proposals by state."""
        return Counter(result.state for result in self.results)

    @cached_property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The conflicts that stay: no proposal joins both memories, and both are still active."""
        gone_ids = {memory.id for memory in self.archived.leaving} if self.archived else set()
        groups_of: dict[str | None, list[set[str | None]]] = {}
        for result in self.results:
            leaving, is_applied = result.proposal.leaving, result.state == "applied"
            # What another agent's file refused is withdrawn.
            gone_ids.update(leaving if is_applied else filter(None, [result.derived]))
            if is_applied or result.state == "planned":
                group = {*leaving, result.proposal.survivor}
                for memory_id in group:
                    groups_of.setdefault(memory_id, []).append(group)
        by_pair = {frozenset(conflict.sources): conflict for conflict in self.plan.conflicts}
        for conflict in (conflict for asked in self.asked for conflict in asked.conflicts):
            by_pair.setdefault(frozenset(conflict.sources), conflict)
        return tuple(
            conflict
            for conflict in by_pair.values()
            if gone_ids.isdisjoint(conflict.sources)
            and not any(map(set(conflict.sources).issubset, groups_of.get(conflict.sources[0], ())))
        )

    @property
    def apart(self) -> list[Refusal]:
        """The pairs of equal memories that stay separate, since no proposal supersedes either."""
        applied = (result for result in self.results if result.state in ("planned", "applied"))
        leaving_ids = {memory for result in applied for memory in result.proposal.leaving}
        return [pair for pair in self.plan.refused if leaving_ids.isdisjoint(pair.sources)]

    @property
    def last_run(self) -> str | None:
        """The id of the night's last run; None if it wrote nothing."""
        phases = (self.expired, self.archived)
        expired, archived = (None if phase is None else phase.run_id for phase in phases)
        runs = (expired, *self.queued_parts.runs, self.run_id, archived, self.purged.run_id)
        return next(filter(None, reversed(runs)), None)

    @property
    def aged(self) -> tuple[AgeingResult, ...]:
        """The results of the aging phases that ran."""
        return tuple(aged for aged in (self.expired, self.archived) if aged is not None)

    @property
    def report(self) -> dict[str, Any]:
        """The counts, the model's usage and what went wrong, as recorded with the run."""
        report = run_report(self.before, self.after, self.states.elements(), self.usage)
        return report | ({"why": self.why} if self.why else {})

    @property
    def why(self) -> str | None:
        """The first reason for what was not done; None if there is none.

        It quotes no memory, as the reason for a rejection may.
        """
        ended = [(asked.state, asked.why) for asked in self.asked]
        ended += [(result.state, result.why) for result in self.results]
        # What failed is the reason for what was skipped.
        reasons = [why for wanted in _NOT_DONE for state, why in ended if state == wanted]
        phases = (self.purged.why, *(aged.why for aged in self.aged))
        all_reasons = (*reasons, *phases, self.why_unrecorded)
        broken_off = None if self.broken_off is None else self.broken_off.message
        return next(filter(None, (broken_off, *all_reasons, self.queued_parts.why)), None)

    @property
    def has_work(self) -> bool:
        """Whether a dry run found anything to do."""
        leaving = self.purged.ids or any(aged.leaving for aged in self.aged)
        return not self.plan.is_empty or bool(leaving) or self.queued_parts.would_be_read

    @property
    def verdict(self) -> Verdict:
        """How the run ended.

        A failed or skipped proposal or conversation part makes it partial, or failed if nothing
        was applied. Declined and stale proposals, and a model's rejected drafts, are not failures.
        A purge and aging make it partial at worst: one that did nothing was an error.
        """
        if self.interrupted:
            return "interrupted"
        states = self.states + Counter(window.state for window in self.asked)
        parts = self.queued_parts
        has_failed = states["failed"] or parts.has_failed
        if has_failed or states["skipped"] or parts.unread or _count_suspect_rejections(self):
            is_useful = states["applied"] or states["rejected"] or self.purged.ids or parts.read
            is_useful = is_useful or bool(self.broken_off) or any(a.leaving for a in self.aged)
            return "failed" if has_failed and not is_useful else "partial"
        wrong = (self.broken_off, self.why_unrecorded, parts.broken_off, parts.states.get("raw"))
        whys = (self.purged.why, *(aged.why for aged in self.aged))
        return "partial" if any((*wrong, *whys)) else "done"


def _count_suspect_rejections(outcome: Outcome) -> int:
    """Count the rejected drafts that a person should look at.

    These are the plan's own drafts, and a model's if nothing of it was applied: a model that is
    only ever rejected may be broken or hostile. What another agent's file refused was inserted.
    """
    rejected = [result for result in outcome.results if result.state == "rejected"]
    suspect = [result.proposal for result in rejected if result.derived is None]
    applied = (result.proposal for result in outcome.results if result.state == "applied")
    is_useful = any(proposal.by_model for proposal in applied)
    return sum(not proposal.by_model for proposal in suspect) if is_useful else len(suspect)


def without_withdrawn(outcome: Outcome, withdrawn: Mapping[str, str], path: Path) -> Outcome:
    """Mark proposals that could not be written to another agent's file, as the ledger does.

    withdrawn: the reason by proposal id. Raises `StoreError`.
    """
    if not withdrawn:
        return outcome
    with open_reading(path) as file:
        decisions = read_decisions(file, outcome.run_id or "")
    rejected = {decision.key for decision in decisions if decision.state == "rejected"}
    results, after = list(outcome.results), outcome.after
    for index, result in enumerate(results):
        if (why := withdrawn.get(result.proposal.id)) is not None:
            state: State = "rejected" if result.proposal.id in rejected else "stale"
            results[index] = replace(result, state=state, why=why)
            if result.counts is not None:
                after = after.changed_by(*reversed(result.counts))
    return replace(outcome, results=tuple(results), after=after)
