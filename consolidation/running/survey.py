"""Survey a file: which tenants are idle, what the others hold, and the plan."""

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
    """The contents of a file and the plan for it."""

    snapshot: Snapshot
    views: Sequence[TenantView]
    # Of all tenants.
    plan: Plan
    found: Findings
    # What a purge would delete; None if none is requested.
    purgeable: Purgeable | None = None


class Surveyor:
    """Surveys a file with the options of a night."""

    def __init__(self, night: NightInputs) -> None:
        """Take what the survey depends on."""
        self._night = night
        self._now = timestamp(night.now)

    @property
    def consolidates(self) -> bool:
        """Whether the night consolidates, besides the other phases."""
        return self._night.options.consolidate

    def idle_marks(self) -> IdleMarks:
        """Return the marks of tenants in which nothing is left to do."""
        return IdleMarks(self._night.path, self._night.embedder.name, self._chosen(), self._now)

    def survey(
        self,
        keeper: FindingsKeeper | None = None,
        cache: Cache | None = None,
        expiring: AgeingChoice | None = None,
        answered: tuple[Window, ...] = (),
    ) -> Survey:
        """Read the file, compute what is missing, and plan.

        keeper: saves what was computed. cache: of an earlier survey of this run. expiring: memories
        that will have expired, in a dry run. answered: windows answered earlier in this run.
        Raises `StoreError` and `EmbedderError`.
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
            frozenset(memory.id for memory in expiring.leaving) if expiring else frozenset(),
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
        plans = _plan_tenants(views, chosen, self._night.progress) if options.consolidate else {}
        plan_by_tenant = idle | plans
        plan = join_plans(
            plan_by_tenant[tenant] for tenant in snapshot.tenants if tenant in plan_by_tenant
        )
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
        """Return the plans of the idle tenants, which are not read again."""
        if not self._night.options.consolidate:
            return {tenant: join_plans(()) for tenant in known}
        if self._night.options.full or self._night.options.reconsider:
            return {}
        changing = {memory.memory.tenant for memory in expiring.leaving} if expiring else set()
        return {
            tenant: plan
            for tenant, plan in known.items()
            if plan is not None and tenant not in changing
        }

    def again(
        self, known: Cache, keeper: FindingsKeeper, answered: Sequence[Window]
    ) -> tuple[Plan, Sequence[TenantView]]:
        """Return the plan of a second survey, once a run has executed its first plan.

        known: the findings of the first survey. answered: the windows of the first plan; a model is
        only asked about what lies across their cuts.
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
    """Return a plan with the approved proposals only; None approves all."""
    if approved is None:
        return plan
    chosen = tuple(proposal for proposal in plan.proposals if proposal.id in approved)
    return replace(plan, proposals=chosen, windows=())


def _plan_tenants(
    views: Sequence[TenantView], options: PlanOptions, progress: Progress
) -> dict[str, Plan]:
    """Return the plan of each tenant that is not idle."""
    if not views:
        return {}  # without loading what reads texts
    from slowwave.consolidation.planning.plan import plan_tenant

    def plan() -> dict[str, Plan]:
        plans: dict[str, Plan] = {}
        for view in views:
            progress.stage("planning", len(plans), len(views))
            plans[view.tenant] = plan_tenant(view, options)
        progress.stage("planning", len(views), len(views))
        return plans

    return run_in_thread(plan)
