"""One look at a file: what is at rest, what else there is, and what is to be done about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slowwave.consolidation.ageing.choosing import AgeingChoice
from slowwave.consolidation.options import PlanOptions
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import Plan, Window, join_plans
from slowwave.consolidation.runtime.threads import run_in_thread
from slowwave.consolidation.snapshot.cache import Cache
from slowwave.consolidation.snapshot.idle import Findings, IdleMarks
from slowwave.consolidation.snapshot.snapshot import (
    FindingsKeeper,
    Snapshot,
    compute_missing,
    read_snapshot,
)
from slowwave.store.purge import Purgeable
from slowwave.store.records import timestamp

from .night_inputs import NightInputs
from .purge import plan_purge

if TYPE_CHECKING:
    from slowwave.consolidation.snapshot.tenant_view import TenantView


@dataclass(frozen=True)
class Survey:
    """What was seen of a file."""

    snapshot: Snapshot
    views: Sequence[TenantView]
    # Of all tenants.
    plan: Plan
    found: Findings
    # What a purge would delete; None if none is wanted.
    purgeable: Purgeable | None = None


class Surveyor:
    """Looks at a file as the user's options say."""

    def __init__(self, night: NightInputs) -> None:
        """Take what the survey depends on."""
        self._night = night
        self._now = timestamp(night.now)

    @property
    def consolidates(self) -> bool:
        """Whether more than the other phases is wanted."""
        return self._night.options.consolidate

    def idle_marks(self) -> IdleMarks:
        """Return what knows whether anything is left to do in the file."""
        return IdleMarks(self._night.path, self._night.embedder.name, self._chosen(), self._now)

    def survey(
        self,
        keeper: FindingsKeeper | None = None,
        cache: Cache | None = None,
        expiring: AgeingChoice | None = None,
        answered: tuple[Window, ...] = (),
    ) -> Survey:
        """Read, compute what is missing, and plan.

        keeper: takes what was computed; cache: of an earlier survey of this run; expiring: what
        will be gone by then, in a dry run; answered: what a model was asked earlier in this run.
        Raises `StoreError`, and `EmbedderError`.
        """
        options = self._night.options
        idle_marks = self.idle_marks()
        idle = self._idle(idle_marks.look_up(options.tenants), expiring)
        snapshot = read_snapshot(
            self._night.path,
            options.tenants,
            self._night.embedder.name,
            self._now,
            idle,
            cache,
            options.full and cache is None,
            self._night.writer.key,
            frozenset(one.id for one in expiring.leaving) if expiring else frozenset(),
        )
        views = compute_missing(snapshot, self._night.embedder, keeper, self._night.progress)
        chosen = self._chosen()
        if not options.reconsider:
            chosen = replace(
                chosen,
                remembered=snapshot.remembered,
                waiting=snapshot.waiting,
                asked=snapshot.asked,
            )
        chosen = replace(chosen, answered=answered)
        plans = _planned(views, chosen, self._night.progress) if options.consolidate else {}
        plan_of = idle | plans
        plan = join_plans(plan_of[one] for one in snapshot.tenants if one in plan_of)
        plan = _approved(plan, options.approved)
        whole = not options.tenants and not idle
        found = idle_marks.found(snapshot, views, plans, whole)
        purgeable = (
            plan_purge(self._night.path, snapshot.tenants, self._night.now)
            if options.purge
            else None
        )
        return Survey(snapshot, views, plan, found, purgeable)

    def _idle(
        self, known: Mapping[str, Plan | None], expiring: AgeingChoice | None
    ) -> dict[str, Plan]:
        """Return the tenants of which nothing is to be read, with what stands of them."""
        if not self._night.options.consolidate:
            return {tenant: join_plans(()) for tenant in known}
        if self._night.options.full or self._night.options.reconsider:
            return {}
        changing = {one.memory.tenant for one in expiring.leaving} if expiring else set()
        return {
            one: plan for one, plan in known.items() if plan is not None and one not in changing
        }

    def again(
        self, known: Cache, keeper: FindingsKeeper, answered: Sequence[Window]
    ) -> tuple[Plan, Sequence[TenantView]]:
        """Return the plan of what is there once a run did what it had planned.

        known: what the first survey found out; answered: the windows of the first plan. A model is
        asked only about what lies across their cuts.
        """
        survey = self.survey(keeper, known, answered=tuple(answered))
        return survey.plan, survey.views

    def _chosen(self) -> PlanOptions:
        return PlanOptions(
            model_key=self._night.writer.key,
            only=self._night.options.only,
            include_protected=self._night.options.include_protected,
            excluded=self._night.options.excluded,
        )


def _approved(plan: Plan, approved: frozenset[str] | None) -> Plan:
    """Return what somebody approved of a plan; what is not in it any more is left out."""
    if approved is None:
        return plan
    chosen = tuple(one for one in plan.proposals if one.id in approved)
    return replace(plan, proposals=chosen, windows=())


def _planned(
    views: Sequence[TenantView], options: PlanOptions, progress: Progress
) -> dict[str, Plan]:
    """Return the plan of each tenant that is not at rest."""
    if not views:
        return {}  # and nothing is loaded that reads texts
    from slowwave.consolidation.planning.plan import plan_tenant

    def plan() -> dict[str, Plan]:
        plans: dict[str, Plan] = {}
        for one in views:
            progress.stage("planning", len(plans), len(views))
            plans[one.tenant] = plan_tenant(one, options)
        progress.stage("planning", len(views), len(views))
        return plans

    return run_in_thread(plan)
