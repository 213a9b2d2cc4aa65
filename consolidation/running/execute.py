"""Execute a plan: write, verify and apply its proposals, and record each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

from slowwave.consolidation.options import Review
from slowwave.consolidation.planning.savings import with_savings
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import (
    AskedWindow,
    Plan,
    Result,
    State,
    Usage,
    Window,
)
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.consolidation.runtime.threads import run_in_thread
from slowwave.store.errors import StoreError
from slowwave.store.file import MemoryFile
from slowwave.store.shown_to_model import Dispute, keep_asked, keep_disputes

from .apply import apply_proposal, record
from .batches import apply_together, batches
from .kept_proposal import DraftVector, KeptProposal, as_json
from .review_policy import ReviewPolicy
from .run_in_file import RunInFile
from .survey import Survey, Surveyor

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slowwave.consolidation.snapshot.tenant_view import TenantView
    from slowwave.consolidation.writing.answer_store import FileAnswerStore
    from slowwave.consolidation.writing.drafts import Drafting

# Returns a new plan and its tenants, after windows were answered.
PlanAgain = Callable[["Sequence[Window]"], tuple[Plan, "Sequence[TenantView]"]]


@dataclass(frozen=True)
class ExecutionResult:
    """The results of a plan."""

    results: tuple[Result, ...]
    # The windows that were shown to a model.
    asked: tuple[AskedWindow, ...]
    usage: Usage
    interrupted: bool
    # Why the file could no longer be written, after something was applied.
    broken_off: StoreError | None = None


def carry_out_plan(
    run: RunInFile,
    survey: Survey,
    surveyor: Surveyor,
    review: Review,
    progress: Progress,
    interruption: Interruption,
) -> ExecutionResult:
    """Execute a plan; an error that no result can report ends the run as failed.

    review: which proposals wait for a person.
    """
    if survey.purgeable is not None and survey.purgeable.ids:
        run.preflight.check_and_back_up()
    plan_again = partial(surveyor.again, survey.found.cache, run)
    try:
        execution = Execution(run, survey.views, review, progress)
        return execution.carry_out(survey.plan, interruption, plan_again)
    except Exception:
        run.end("failed", survey.plan.digest, {})
        raise


class Execution:
    """Executes plans for one run, and collects their results."""

    def __init__(
        self, run: RunInFile, views: Sequence[TenantView], review: Review, progress: Progress
    ) -> None:
        """Take the run, the plan's tenants, and which proposals wait for a person."""
        self._run = run
        self._policy = ReviewPolicy(review)
        self._progress = progress
        # The number of proposals kept for review so far.
        self._pending = 0
        self._results: dict[str, Result] = {}
        self._asked: dict[str, AskedWindow] = {}
        self._usage = Usage()
        # The last batch: it may be applied without being among the results.
        self._last: Sequence[Result] = ()
        # The tenants of the current plan.
        self._views = views

    @cached_property
    def _drafting(self) -> Drafting:
        from slowwave.consolidation.writing.drafts import Drafting

        return Drafting(self._run.embedder, self._run.writer)

    def carry_out(
        self, plan: Plan, interruption: Interruption, plan_again: PlanAgain
    ) -> ExecutionResult:
        """Verify and apply the plan's proposals, and those that a model makes of its windows.

        If a model answered, a second plan is made and executed, as the next night would. An
        interruption stops the execution, and what was applied stays; afterwards the run cannot be
        interrupted. Raises `ModelError` before anything is applied if the model cannot be asked.
        """
        views = self._views
        interrupted = False
        broken_off: StoreError | None = None
        try:
            if not plan.is_empty:
                self._execute(plan)
            answered = [each.window for each in self._asked.values() if each.state == "applied"]
            if answered:
                again, self._views = plan_again(answered)
                self._execute(again)
            interruption.close()
        except KeyboardInterrupt:
            interruption.close()
            interrupted = True
            with interruption.limited():
                self._find_applied()
        except StoreError as error:
            if not any(result.state == "applied" for result in self._results.values()):
                raise
            # What was applied is reported.
            interruption.close()
            broken_off = error
        results = self._results
        planned = {proposal.id for proposal in plan.proposals}
        left = [proposal for proposal in plan.proposals if proposal.id not in results]
        state: State = "failed" if broken_off else "skipped"
        why = broken_off.message if broken_off else "the run was interrupted"
        results |= _by_id(with_savings((Result(proposal, state, why) for proposal in left), views))
        unasked = {window.id: AskedWindow(window, state, why) for window in plan.windows}
        later = [result for key, result in results.items() if key not in planned]
        return ExecutionResult(
            (*(results[proposal.id] for proposal in plan.proposals), *later),
            tuple((unasked | self._asked).values()),
            self._usage,
            interrupted,
            broken_off,
        )

    def _execute(self, plan: Plan) -> None:
        if plan.windows:
            run_in_thread(self._run.writer.make_ready)
        with self._run.writing() as file:
            answers = self._kept_answers(file)
            for made in self._drafting.verified_drafts(plan, self._views, answers):
                results = [
                    self._policy.hold_for_review(item, self._views)
                    for item in made
                    if isinstance(item, Result)
                ]
                for batch in batches(results, lambda result: result.proposal):
                    self._last = batch
                    self._apply(file, batch)
                    self._progress.stage("applying", len(self._results), len(plan.proposals))
                for item in made:
                    if isinstance(item, AskedWindow):
                        self._note_asked(file, item)
                        self._progress.stage("asking", len(self._asked), len(plan.windows))

    def _kept_answers(self, file: MemoryFile) -> FileAnswerStore:
        from slowwave.consolidation.writing.answer_store import FileAnswerStore

        return FileAnswerStore(file, self._run.context.now)

    def _note_asked(self, file: MemoryFile, asked: AskedWindow) -> None:
        """Record an asked window; once answered, it is not asked again."""
        self._asked[asked.window.id] = asked
        self._usage += asked.usage
        if asked.state == "applied" and self._run.context.model_key is not None:
            window = asked.window
            with file.transaction():
                keep_asked(
                    file,
                    window.tenant,
                    (*window.content_hashes, *window.alone),
                    self._run.context.model_key,
                    self._run.context.run_id,
                )
                keep_disputes(file, _disputes(asked), self._run.context.run_id)

    def _apply(self, file: MemoryFile, batch: Sequence[Result]) -> None:
        for done in apply_together(batch, partial(self._apply_in_transaction, file)):
            self._results |= _by_id(done)

    def _find_applied(self) -> None:
        """Add what was applied but, because of the interruption, is not among the results."""
        last = {result.proposal.id: result.proposal for result in self._last}
        for key, decision in self._run.find_decisions(last).items():
            state = cast("State", decision.state)
            result = Result(last[key], state, decision.why, decision.derived)
            self._results |= _by_id(with_savings([result], self._views))

    def _apply_in_transaction(self, file: MemoryFile, batch: Sequence[Result]) -> list[Result]:
        """Apply the planned proposals and record the others, in one transaction."""
        entities = {view.tenant: view.entities for view in self._views}
        results: list[Result] = []
        context = self._run.context
        with file.transaction():
            for checked in batch:
                vector = self._drafting.vectors.get(checked.proposal.id)
                if checked.state == "planned":
                    names = entities[checked.proposal.tenant]
                    results.append(apply_proposal(file, context, checked, vector, names))
                else:
                    record(file, context, checked, self._to_keep(checked, vector))
                    results.append(checked)
        for result in results:
            self._drafting.vectors.pop(result.proposal.id, None)
        return list(with_savings(results, self._views))

    def _to_keep(self, result: Result, vector: NDArray[np.float32] | None) -> dict[str, Any] | None:
        """Return a pending proposal as JSON; None for other states.

        vector: the draft's, float32, shape (d,), unit length, if it was computed.
        """
        if result.state != "pending":
            return None
        self._pending += 1
        run = self._run.context
        return as_json(
            KeptProposal(
                result.proposal,
                result.usage,
                run.model,
                run.model_key,
                self._pending,
                None if vector is None else DraftVector.of(vector, run.embedding_model),
            )
        )


def _by_id(results: Iterable[Result]) -> dict[str, Result]:
    return {result.proposal.id: result for result in results}


def _disputes(asked: AskedWindow) -> list[Dispute]:
    """Return the conflicts that a model named, by the hashes of their memories."""
    window = asked.window
    hash_of = dict(zip(window.memories, window.content_hashes, strict=True))
    return [
        Dispute(
            window.tenant, hash_of[conflict.sources[0]], hash_of[conflict.sources[1]], conflict.why
        )
        for conflict in asked.conflicts
    ]
