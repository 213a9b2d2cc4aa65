"""A plan carried out: drafts written, verified and applied, and every step of it on record."""

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
    VerifiedProposal,
    Window,
)
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.consolidation.runtime.threads import run_in_thread
from slowwave.store.errors import StoreError
from slowwave.store.file import MemoryFile
from slowwave.store.shown_to_model import Dispute, keep_asked, keep_disputes

from .apply import apply_written, record
from .batches import apply_together, batches
from .held_for_review import Reviewing
from .kept_proposal import DraftVector, KeptProposal, as_kept
from .run_in_file import RunInFile
from .survey import Survey, Surveyor

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slowwave.consolidation.snapshot.tenant_view import TenantView
    from slowwave.consolidation.writing.answer_store import FileAnswerStore
    from slowwave.consolidation.writing.drafts import Drafting

# Gives the plan of what is there now, and the tenants that it is about, after windows were
# answered.
LookAgain = Callable[["Sequence[Window]"], tuple[Plan, "Sequence[TenantView]"]]


@dataclass(frozen=True)
class Executed:
    """What became of a plan."""

    results: tuple[Result, ...]
    # What became of the questions to a model.
    asked: tuple[AskedWindow, ...]
    usage: Usage
    interrupted: bool
    # Why the file could not be written any more, after something was applied.
    broken_off: StoreError | None = None


def carry_out_plan(
    run: RunInFile,
    survey: Survey,
    surveyor: Surveyor,
    review: Review,
    progress: Progress,
    interruption: Interruption,
) -> Executed:
    """Carry out a plan; an error that no result can report ends the run as failed.

    review: what is kept for a person in place of being applied.
    """
    if survey.purgeable is not None and survey.purgeable.ids:
        run.preflight.check_and_back_up()
    look_again = partial(surveyor.again, survey.found.cache, run)
    try:
        execution = Execution(run, survey.views, review, progress)
        return execution.carry_out(survey.plan, interruption, look_again)
    except Exception:
        run.end("failed", survey.plan.digest, {})
        raise


class Execution:
    """What of a plan is done so far, and the rest of it to do."""

    def __init__(
        self, run: RunInFile, views: Sequence[TenantView], review: Review, progress: Progress
    ) -> None:
        """Take the run, the tenants that the plan is about, and what is to wait for a person."""
        self._run = run
        self._reviewing = Reviewing(review)
        self._progress = progress
        # How many proposals wait by now.
        self._waiting = 0
        self._results: dict[str, Result] = {}
        self._asked: dict[str, AskedWindow] = {}
        self._usage = Usage()
        # What may have been written to the file without having come among the results.
        self._last: Sequence[VerifiedProposal] = ()
        # The tenants that what is being done is about.
        self._views = views

    @cached_property
    def _drafting(self) -> Drafting:
        from slowwave.consolidation.writing.drafts import Drafting

        return Drafting(self._run.embedder, self._run.writer)

    def carry_out(self, plan: Plan, interruption: Interruption, look_again: LookAgain) -> Executed:
        """Verify and apply the proposals, and those that a model makes of what it is shown.

        Where a model answered, what that left room for is found by another look and done as well:
        else the next night would do it. Raises `ModelError` before anything is applied if the model
        cannot be asked. An interruption ends it wherever it is: what is applied stays.
        After it the run cannot be interrupted any more.
        """
        views = self._views
        interrupted = False
        broken_off: StoreError | None = None
        try:
            if not plan.is_empty:
                self._carry_out_all(plan)
            answered = [each.window for each in self._asked.values() if each.state == "applied"]
            if answered:
                again, self._views = look_again(answered)
                self._carry_out_all(again)
            interruption.close()
        except KeyboardInterrupt:
            interruption.close()
            interrupted = True
            with interruption.limited():
                self._find_applied()
        except StoreError as error:
            if not any(result.state == "applied" for result in self._results.values()):
                raise
            # What was applied stays applied, and is reported.
            interruption.close()
            broken_off = error
        results = self._results
        planned = {one.id for one in plan.proposals}
        left = [one for one in plan.proposals if one.id not in results]
        state: State = "failed" if broken_off else "skipped"
        why = broken_off.message if broken_off else "the run was interrupted"
        results |= _by_id(with_savings((Result(one, state, why) for one in left), views))
        unasked = {one.id: AskedWindow(one, state, why) for one in plan.windows}
        others = [one for key, one in results.items() if key not in planned]
        return Executed(
            (*(results[proposal.id] for proposal in plan.proposals), *others),
            tuple((unasked | self._asked).values()),
            self._usage,
            interrupted,
            broken_off,
        )

    def _carry_out_all(self, plan: Plan) -> None:
        if plan.windows:
            run_in_thread(self._run.writer.make_ready)
        with self._run.writing() as file:
            answers = self._kept_answers(file)
            for some in self._drafting.verified_drafts(plan, self._views, answers):
                written = [
                    self._reviewing.hold_for_review(one, self._views)
                    for one in some
                    if isinstance(one, VerifiedProposal)
                ]
                for part in batches(written, lambda one: one.proposal):
                    self._last = part
                    self._apply_part(file, part)
                    self._progress.stage("applying", len(self._results), len(plan.proposals))
                for one in some:
                    if isinstance(one, AskedWindow):
                        self._note_asked(file, one)
                        self._progress.stage("asking", len(self._asked), len(plan.windows))

    def _kept_answers(self, file: MemoryFile) -> FileAnswerStore:
        from slowwave.consolidation.writing.answer_store import FileAnswerStore

        return FileAnswerStore(file, self._run.context.now)

    def _note_asked(self, file: MemoryFile, asked: AskedWindow) -> None:
        """Note what became of a question; what was answered is not asked again."""
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

    def _apply_part(self, file: MemoryFile, part: Sequence[VerifiedProposal]) -> None:
        for done in apply_together(part, partial(self._apply_in_one, file)):
            self._results |= _by_id(done)

    def _find_applied(self) -> None:
        """Add what the interruption kept from coming among the results."""
        last = {one.proposal.id: one.proposal for one in self._last}
        for key, decision in self._run.find_decisions(last).items():
            state = cast("State", decision.state)
            result = Result(last[key], state, decision.why, decision.derived)
            self._results |= _by_id(with_savings([result], self._views))

    def _apply_in_one(self, file: MemoryFile, several: Sequence[VerifiedProposal]) -> list[Result]:
        """Apply what was accepted, and write down what was not, in one transaction."""
        entities = {one.tenant: one.entities for one in self._views}
        results: list[Result] = []
        with file.transaction():
            for written in several:
                proposal = written.proposal
                vector = self._drafting.vectors.get(proposal.id)
                if written.state == "planned":
                    names = entities[proposal.tenant]
                    result = apply_written(file, self._run.context, written, vector, names)
                else:
                    result = Result(proposal, written.state, written.why)
                    record(file, self._run.context, result, self._to_keep(written, vector))
                results.append(result)
        for one in several:
            self._drafting.vectors.pop(one.proposal.id, None)
        return list(with_savings(results, self._views))

    def _to_keep(
        self, written: VerifiedProposal, vector: NDArray[np.float32] | None
    ) -> dict[str, Any] | None:
        """Return what a person decides about, whole; None where nothing waits.

        vector: the draft's, float32, shape (d,), unit length, if it was computed.
        """
        if written.state != "pending":
            return None
        self._waiting += 1
        run = self._run.context
        return as_kept(
            KeptProposal(
                written.proposal,
                written.usage,
                run.model,
                run.model_key,
                self._waiting,
                None if vector is None else DraftVector.of(vector, run.embedding_model),
            )
        )


def _by_id(results: Iterable[Result]) -> dict[str, Result]:
    return {one.proposal.id: one for one in results}


def _disputes(asked: AskedWindow) -> list[Dispute]:
    """Return the conflicts that a model named by what the memories say."""
    window = asked.window
    hash_of = dict(zip(window.memories, window.content_hashes, strict=True))
    return [
        Dispute(window.tenant, hash_of[one.sources[0]], hash_of[one.sources[1]], one.why)
        for one in asked.conflicts
    ]
