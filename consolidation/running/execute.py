"""Execute a plan: write, verify and apply its proposals, and record each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slowwave.consolidation.proposals import (
    AskedWindow,
    Conflict,
    Plan,
    Proposal,
    Result,
    State,
    Usage,
    Window,
)
from slowwave.consolidation.running.savings import counts_after, savings_of_result
from slowwave.consolidation.runtime.threads import run_in_thread
from slowwave.consolidation.thresholds import LOW_COHESION
from slowwave.consolidation.vectors.embedder import Embedder, refuse_another_space
from slowwave.consolidation.writing.writer import AnswerStore, Job
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.memories import Counts
from slowwave.store.records import content_hash
from slowwave.store.shown_to_model import Dispute, record_asked, record_disputes
from slowwave.store.vectors import to_blob

from .apply import apply_proposal, in_batches, record
from .run_in_file import NightInputs, RunInFile

if TYPE_CHECKING:
    from slowwave.consolidation.snapshot.tenant_view import TenantView

# Returns a new plan and its tenants, after windows were answered.
PlanAgain = Callable[["Sequence[Window]"], tuple[Plan, "Sequence[TenantView]"]]
_QUEUED = "queued for review"


@dataclass(frozen=True)
class ExecutionResult:
    """The results of a plan."""

    results: tuple[Result, ...]
    # The windows that were shown to a model; in a dry run, those that would be.
    asked: tuple[AskedWindow, ...]
    usage: Usage
    # The counts after the applied proposals, or those that a real run would apply.
    after: Counts

    @property
    def applicable(self) -> list[Proposal]:
        """The proposals that a real run would apply without review; only in a dry run."""
        planned = (result for result in self.results if result.state == "planned")
        return [result.proposal for result in planned if not result.place]


class Execution:
    """Executes plans for one run, and collects their results.

    A dry run writes nothing: what would be applied stays `planned`, and a model is only asked with
    the option `ask`. Answers kept in the file are used, and new ones are only kept by a recording.
    """

    def __init__(
        self, night: NightInputs, run: RunInFile, views: Sequence[TenantView], counts: Counts
    ) -> None:
        self._night = night
        # Before the next proposal.
        self._counts = counts
        self._run = run
        # The tenants of the current plan.
        self._views = {view.tenant: view for view in views}
        # The number of proposals kept for review so far.
        self._pending = 0
        self._results: dict[str, Result] = {}
        self._asked: dict[str, AskedWindow] = {}
        # The memories of a model's proposals that the database rejected.
        self._failed_ids: set[str] = set()
        # The id and text that took the place of each memory of a model's applied proposals.
        self._successors: dict[str, tuple[str, str]] = {}

    def execute(self, plan: Plan, plan_again: PlanAgain) -> ExecutionResult:
        """Verify and apply the plan's proposals, and those that a model makes of its windows.

        If a model answered, a second plan is made and executed, as the next night would. An
        interruption stops the execution, and what was applied stays; afterwards the run cannot be
        interrupted. Raises `ModelError` before anything is applied if the model cannot be asked.
        """
        if self._night.dry_run:
            return self._rehearse(plan)
        views, run = self._views, self._run
        with run.working():
            if not plan.is_empty:
                self._execute(plan)
            answered = [asked.window for asked in self._asked.values() if asked.state == "applied"]
            if answered:
                second_plan, second_views = plan_again(answered)
                self._views = {view.tenant: view for view in second_views}
                self._execute(second_plan)
        state: State = "failed" if run.broken_off else "skipped"
        why = run.broken_off.message if run.broken_off else "the run was interrupted"
        self._views = views
        unfinished = [proposal for proposal in plan.proposals if proposal.id not in self._results]
        self._add_results(Result(proposal, state, why) for proposal in unfinished)
        unasked = {window.id: AskedWindow(window, state, why) for window in plan.windows}
        # In the order of the plan, and then in that of the answers.
        results = {proposal.id: self._results[proposal.id] for proposal in plan.proposals}
        results |= self._results
        return ExecutionResult(
            results=tuple(results.values()),
            asked=tuple((unasked | self._asked).values()),
            usage=self._usage,
            after=self._counts,
        )

    def _rehearse(self, plan: Plan) -> ExecutionResult:
        """Return the results to expect. Raises `ModelError` if the model cannot be asked."""
        asks = self._night.options.ask
        executed_plan = plan if asks else replace(plan, windows=())
        if not executed_plan.is_empty:
            self._execute(executed_plan)
        if not asks:
            self._asked = {window.id: AskedWindow(window, "planned") for window in plan.windows}
        # Answers arrive in any order.
        places = {
            memory_id: place
            for place, window in enumerate(plan.windows)
            for memory_id in window.memories
        }
        results = sorted(
            self._results.values(),
            key=lambda result: (
                places[result.proposal.sources[0]] if result.proposal.by_model else -1
            ),
        )
        return ExecutionResult(
            tuple(
                replace(result, state="planned") if result.state == "pending" else result
                for result in results
            ),
            tuple(self._asked[window.id] for window in plan.windows if window.id in self._asked),
            self._usage,
            self._counts,
        )

    @property
    def _usage(self) -> Usage:
        used = (asked.usage for asked in self._asked.values())
        return sum(used, start=self._night.writer.unfinished)

    def _execute(self, plan: Plan) -> None:
        night = self._night
        if plan.windows:
            run_in_thread(night.writer.make_ready)
        with open_reading(night.path) if night.dry_run else self._run.writing() as file:
            answers = AnswerStore(file, None if night.dry_run else night.now)
            for batch in self._verified_drafts(plan, answers):
                results = [
                    self._hold_for_review(part) for part in batch if isinstance(part, Result)
                ]
                self._apply_all(file, results, len(plan.proposals))
                for part in batch:
                    if isinstance(part, AskedWindow):
                        self._record_asked(file, part)
                        night.progress.stage("asking", len(self._asked), len(plan.windows))

    def _verified_drafts(
        self, plan: Plan, answers: AnswerStore
    ) -> Iterator[Sequence[Result | AskedWindow]]:
        """Yield the plan's own proposals, then a model's results as its answers arrive.

        The results have the vectors of drafts that may be written. Raises `EmbedderError`, and
        `ModelError` before anything is applied if the model cannot be asked.
        """
        embedder = self._night.embedder
        jobs = [
            Job(window, tuple(self._views[window.tenant].sources(window.memories)))
            for window in plan.windows
        ]
        if jobs:
            # Vectors of another model are refused before anything is applied.
            source = jobs[0].sources[0]
            refuse_another_space(embedder, embedder.encode([source.text])[0], source.vector)
        yield [Result(proposal, "planned") for proposal in plan.proposals]
        for answered in self._night.writer.write(jobs, answers):
            results = [part for part in answered if isinstance(part, Result)]
            windows = [part for part in answered if isinstance(part, AskedWindow)]
            yield [*_embed(embedder, results), *windows]

    def _hold_for_review(self, result: Result) -> Result:
        """Return a planned result as pending if a person reviews it first."""
        writer, review = self._night.writer, self._night.options.review
        result = replace(result, model=writer.model, model_key=writer.key)
        if review == "never" or result.state != "planned":
            return result
        risks = list(_risks(result, self._views[result.proposal.tenant]))
        if review == "risky" and not risks:
            return result
        self._pending += 1
        why = f"{_QUEUED}: {'; '.join(risks)}" if risks else _QUEUED
        return replace(result, state="pending", why=why, place=self._pending)

    def _apply_all(self, file: MemoryFile, results: Sequence[Result], total: int) -> None:
        if self._night.dry_run:
            self._add_results(results)
            return
        for batch in in_batches(results):
            with self._night.interruption.deferred():
                with self._run.changing(file):
                    applied = [self._apply(file, checked) for checked in batch]
                self._add_results(applied)
                self._run.has_results |= any(result.state == "applied" for result in applied)
            self._night.progress.stage("applying", len(self._results), total)

    def _apply(self, file: MemoryFile, checked: Result) -> Result:
        """Apply a planned proposal, or record another one, in the caller's transaction."""
        if checked.state == "planned":
            return apply_proposal(file, self._run, checked)
        record(file, self._run, checked)
        return checked

    def _add_results(self, results: Iterable[Result]) -> None:
        """Add results, without their vectors, and what they are worth."""
        for result in results:
            proposal = result.proposal
            view = self._views[proposal.tenant]
            worth, counts = savings_of_result(result, view), None
            if result.state in ("planned", "applied"):
                counts = self._counts, counts_after(self._counts, proposal, view)
                self._counts = counts[1]
            if result.state == "failed" and proposal.by_model:
                self._failed_ids.update(proposal.sources)
            successor = result.derived or proposal.survivor
            if result.state == "applied" and proposal.by_model and successor is not None:
                changed = (*proposal.leaving, successor)
                self._successors |= dict.fromkeys(changed, (successor, proposal.draft.text))
            self._results[proposal.id] = replace(result, vector=None, worth=worth, counts=counts)

    def _record_asked(self, file: MemoryFile, asked: AskedWindow) -> None:
        """Record an asked window: it is not asked again, unless a proposal of its answer failed."""
        window, key, run_id = asked.window, self._night.writer.key, self._run.id
        moved = map(self._between_successors, asked.conflicts)
        conflicts = tuple(conflict for conflict in moved if len(set(conflict.sources)) > 1)
        self._asked[window.id] = replace(asked, conflicts=conflicts)
        is_final = asked.state == "applied" and self._failed_ids.isdisjoint(window.memories)
        if is_final and key is not None and not self._night.dry_run:
            with file.transaction():
                hashes = (*window.content_hashes, *window.alone)
                record_asked(file, window.tenant, hashes, key, run_id)
                disputes = [
                    Dispute(window.tenant, content_hash(earlier), content_hash(later), conflict.why)
                    # Those of before count again once their memories are restored.
                    for conflict in dict.fromkeys((*asked.conflicts, *conflicts))
                    for earlier, later in [conflict.values]
                ]
                record_disputes(file, disputes, run_id)

    def _between_successors(self, conflict: Conflict) -> Conflict:
        """Return a model's conflict between what took the place of its memories in this run."""
        stated = zip(conflict.sources, conflict.values, strict=True)
        earlier, later = (self._successors.get(memory[0], memory) for memory in stated)
        return replace(conflict, sources=(earlier[0], later[0]), values=(earlier[1], later[1]))


def _embed(embedder: Embedder, results: Sequence[Result]) -> list[Result]:
    """Return the results with the vectors of the drafts that may be written to the file."""
    texts = {
        result.proposal.id: result.proposal.draft.text
        for result in results
        if result.state == "planned" and not result.proposal.keeps_text
    }
    vectors = embedder.encode(list(texts.values())) if texts else ()
    blobs = dict(zip(texts, map(to_blob, vectors), strict=True))
    return [
        replace(result, vector=(embedder.name, blobs[result.proposal.id]))
        if result.proposal.id in blobs
        else result
        for result in results
    ]


def _risks(result: Result, view: TenantView) -> Iterator[str]:
    """Yield why a person should review a proposal before it is applied."""
    proposal = result.proposal
    if proposal.operation == "update":
        yield "it replaces a value"
    if proposal.operation == "extract":
        yield "it is about a rule"
    if any(view.memory(memory_id).is_protected for memory_id in proposal.sources):
        yield "it has a protected memory among its sources"
    if proposal.mean_similarity < LOW_COHESION:
        yield f"its memories have a low mean similarity ({proposal.mean_similarity:.2f})"
    if any(claim.written_by for claim in proposal.draft.claims):
        yield "a model wrote it"
    if proposal.by_model and result.why:
        yield result.why
