"""Survey a file: which tenants are idle, what the rest contain, and the plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from slowwave.consolidation.ageing.selection import LeavingMemory
from slowwave.consolidation.options import PlanOptions
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import Plan, Window
from slowwave.consolidation.runtime.interruption import Interruption, OutOfTime
from slowwave.consolidation.runtime.threads import run_in_thread, start_in_thread
from slowwave.consolidation.snapshot.cache import Cache
from slowwave.consolidation.snapshot.idle import Findings, IdleMarks
from slowwave.consolidation.snapshot.snapshot import Snapshot, compute_missing, read_snapshot
from slowwave.consolidation.vectors.matrix import Keep
from slowwave.store.errors import SlowwaveError
from slowwave.store.file import open_reading
from slowwave.store.purge import Purgeable, find_purgeable
from slowwave.store.records import timestamp

from .memory_limit import refuse_without_room
from .outcome import Outcome
from .run_in_file import NightInputs, Preflight, RunInFile

if TYPE_CHECKING:
    from slowwave.consolidation.snapshot.tenant_view import TenantView

# How often a long survey checks for an interruption.
_POLL_S = 0.05


@dataclass(frozen=True)
class Survey:
    """The contents of a file and the plan for it."""

    snapshot: Snapshot
    # The plan of all tenants.
    plan: Plan
    findings: Findings
    # What a purge would delete; None if none is requested.
    purgeable: Purgeable | None = None


def survey_file(
    night: NightInputs,
    keep: Keep | None = None,
    cache: Cache | None = None,
    leaving: Sequence[LeavingMemory] = (),
    answered: Sequence[Window] = (),
) -> Survey:
    """Read the file, compute what is missing, and plan.

    keep: saves computed vectors. cache: of an earlier survey of this run. leaving: memories that
    will have expired, in a dry run. answered: windows answered earlier in this run; a model is only
    asked about what lies across their cuts. Raises `StoreError` and `EmbedderError`.
    """
    options = night.options
    marks = idle_marks(night)
    idle = _find_idle(night, marks, leaving)
    if cache is None:
        refuse_without_room(night.path, options.tenants, idle, night.workers)
    snapshot = read_snapshot(
        night.path,
        options,
        model=night.embedder.name,
        model_key=night.writer.key,
        now=timestamp(night.now),
        progress=night.progress,
        idle=idle,
        cache=cache,
        leaving=frozenset(memory.id for memory in leaving),
    )
    planning = replace(options.of_plan(night.writer.key), answered=tuple(answered))
    compute_missing(snapshot, night.embedder, keep, night.progress, compares=options.consolidate)
    if not options.reconsider:
        planning = replace(
            planning,
            remembered=snapshot.remembered,
            pending=snapshot.pending,
            asked=snapshot.asked,
        )
    plans = _plan_tenants(snapshot.views, planning, night.progress) if options.consolidate else {}
    plan_of = idle | plans
    plan = _join_plans(plan_of[tenant] for tenant in snapshot.tenants if tenant in plan_of)
    findings = marks.collect_findings(snapshot, plans, whole=not options.tenants and not idle)
    purgeable = None
    if options.purge:
        with open_reading(night.path) as file:
            purgeable = find_purgeable(file, snapshot.tenants, night.now)
    return Survey(snapshot, plan, findings, purgeable)


def _join_plans(plans: Iterable[Plan]) -> Plan:
    """Join the plans of tenants."""
    joined = list(plans)
    return Plan(
        *(
            tuple(item for plan in joined for item in getattr(plan, part.name))
            for part in fields(Plan)
        )
    )


def idle_marks(night: NightInputs) -> IdleMarks:
    """Return the marks of tenants in which nothing is left to do."""
    options = night.options.of_plan(night.writer.key)
    return IdleMarks(night.path, night.embedder.name, options, timestamp(night.now))


def _find_idle(
    night: NightInputs, marks: IdleMarks, leaving: Sequence[LeavingMemory]
) -> dict[str, Plan]:
    """Return the plans of the idle tenants, which are not read again."""
    idle_plans, options = marks.look_up(night.options.tenants), night.options
    if not options.consolidate:
        return dict.fromkeys(idle_plans, Plan())
    if options.full or options.reconsider:
        return {}
    changing = {memory.memory.tenant for memory in leaving}
    return {tenant: plan for tenant, plan in idle_plans.items() if plan and tenant not in changing}


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


def save_findings(
    night: NightInputs, first: Findings, outcome: Outcome, run: RunInFile, preflight: Preflight
) -> Outcome:
    """Save the findings, and mark the tenants as idle in which nothing is left to do.

    first: the findings of the run's own survey. If they do not tell what is left after the run's
    changes, the file is surveyed again. This only saves time, and the run has ended:
    if the file cannot be written, the model cannot be loaded, or the user interrupts, it is left
    for the next run. The outcome says what went wrong.
    """
    if night.dry_run or not night.options.consolidate or outcome.interrupted or outcome.broken_off:
        return outcome
    interruption = night.interruption
    interruption.end()
    if not first.forests and not first.whole:
        return outcome  # all tenants are idle
    marks, cache = idle_marks(night), first.cache
    applied = {result.proposal.id for result in outcome.results if result.state == "applied"}
    is_known = len(first.rests) == len(first.forests) and all(
        remainder.applied.issubset(applied) for remainder in first.rests
    )
    try:
        with interruption.limited():
            preflight.refuse_damaged()
            marks.save(first)
            # Expiry and ingest come before the survey.
            retired = (outcome.purged.run_id, outcome.archived and outcome.archived.run_id)
            if not any(retired) and (is_known or outcome.run_id is None):
                marks.save_idle_marks(first, applied, run.changes)
                return outcome
        second_survey = start_in_thread(lambda: survey_file(night, cache=cache).findings)
        new_findings = _wait_for(second_survey, interruption)
        if new_findings is not None:
            with interruption.limited():
                marks.save(new_findings)
                marks.save_idle_marks(new_findings, (), {})
    except SlowwaveError as error:
        return replace(outcome, why_unsaved=error.message)
    except OutOfTime:
        pass
    return outcome


def _wait_for(survey: Future[Findings], interruption: Interruption) -> Findings | None:
    """Wait for the findings of a survey; None if interrupted."""
    while not interruption.requested:
        if wait([survey], _POLL_S).done:
            return survey.result()
    return None
