"""A plan carried out: drafts written, verified and applied, and every step of it on record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from slowwave.consolidation.options import Review
from slowwave.consolidation.planning.savings import with_savings
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import (
    AskedWindow,
    CheckedProposal,
    Plan,
    Result,
    State,
    Usage,
)
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.consolidation.runtime.threads import run_in_thread
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import Answers, Writer
from slowwave.store.entities import forget_found, keep_entities, keep_scans
from slowwave.store.errors import FileHeld, StoreError, UnusableFile
from slowwave.store.file import Identity, MemoryFile, open_reading, open_writing
from slowwave.store.ledger import (
    begin_run,
    end_run,
    has_run,
    read_decision,
)
from slowwave.store.records import new_id, timestamp
from slowwave.store.shown_to_model import Dispute, keep_asked, keep_disputes
from slowwave.store.vectors import keep_vectors

from .apply import RunContext, apply_written, record
from .kept import Kept, as_kept
from .preflight import Preflight
from .review import Reviewing

if TYPE_CHECKING:
    from slowwave.consolidation.snapshot.tenant_view import TenantView
    from slowwave.consolidation.writing.drafts import Drafting

# How many memories' names are written by one transaction: a moment's work.
_PORTION = 500
# How many sources the proposals have that one transaction applies. One transaction a proposal had
# the disk take most of the time; with so many others wait for some 20 ms.
_AT_ONCE = 32


# Gives the plan of what is there now, and the tenants that it is about.
LookAgain = Callable[[], tuple[Plan, "Sequence[TenantView]"]]


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


@dataclass
class _Done:
    """What was done so far."""

    results: dict[str, Result] = field(default_factory=dict)
    asked: dict[str, AskedWindow] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    # What may have been written to the file without having come among the results.
    last: Sequence[CheckedProposal] = ()
    # The tenants that what is being done is about.
    views: Sequence[TenantView] = ()


class RunInFile:
    """One run's place in the file: it begins with the first thing that is written.

    A night in which nothing happened leaves no trace at all.
    """

    def __init__(
        self,
        path: Path,
        embedder: Embedder,
        writer: Writer,
        now: datetime,
        options: Mapping[str, Any],
        preflight: Preflight,
        review: Review = "never",
    ) -> None:
        """Take what the rows of this run will say about it, and what is to wait for a person."""
        self._path = path
        self._embedder = embedder
        self._writer = writer
        self._options = options
        self._reviewing = Reviewing(review)
        # How many proposals wait by now.
        self._waiting = 0
        self.preflight = preflight
        self._begun = False
        # The file that it began in: what came in its place since is another's.
        self._file: Identity | None = None
        self.context = RunContext(
            run_id=new_id(),
            now=now,
            model=writer.model,
            model_key=writer.key,
            embedding_model=embedder.name,
        )

    @cached_property
    def _drafting(self) -> Drafting:
        from slowwave.consolidation.writing.drafts import Drafting

        return Drafting(self._embedder, self._writer)

    @property
    def run_id(self) -> str | None:
        """The run's id; None as long as nothing was written."""
        return self.context.run_id if self._begun else None

    def keep_vectors(self, vectors: Sequence[tuple[str, str, bytes]]) -> None:
        """Keep (memory id, content hash, blob) in a transaction of its own."""
        with self.writing() as file, file.transaction():
            keep_vectors(file, self._embedder.name, vectors, self.context.run_id)

    def keep_names(self, tenant: str, scans: Sequence[tuple[str, str, Sequence[str]]]) -> None:
        """Keep (memory id, content hash, names), in short transactions."""
        with self.writing() as file:
            for start in range(0, len(scans), _PORTION):
                part = scans[start : start + _PORTION]
                with file.transaction():
                    forget_found(file, (one for one, _, _ in part), self.context.run_id)
                    mentions = [(one, names) for one, _, names in part]
                    keep_entities(file, tenant, mentions, self.context.run_id)
                    keep_scans(file, [(one, of) for one, of, _ in part], self.context.run_id)

    def carry_out(
        self,
        plan: Plan,
        views: Sequence[TenantView],
        progress: Progress,
        interruption: Interruption,
        look_again: LookAgain,
    ) -> Executed:
        """Verify and apply the proposals, and those that a model makes of what it is shown.

        Where a model answered, what that left room for is found by another look and done as well:
        else the next night would do it. Raises `ModelError` before anything is applied if the model
        cannot be asked. An interruption ends it wherever it is: what is applied stays, and is told.
        After it the run cannot be interrupted any more.
        """
        done = _Done(views=views)
        interrupted = False
        broken_off: StoreError | None = None
        try:
            if not plan.is_empty:
                self._settle_all(plan, progress, done)
            if any(one.state == "applied" for one in done.asked.values()):
                again, done.views = look_again()
                self._settle_all(again, progress, done)
            interruption.close()
        except KeyboardInterrupt:
            interruption.close()
            interrupted = True
            with interruption.limited():
                self._find_what_stands(done)
        except StoreError as error:
            if not any(result.state == "applied" for result in done.results.values()):
                raise
            # What was applied stands all the same, and is told.
            interruption.close()
            broken_off = error
        results = done.results
        planned = {one.id for one in plan.proposals}
        left = [one for one in plan.proposals if one.id not in results]
        state: State = "failed" if broken_off else "skipped"
        why = broken_off.message if broken_off else "the run was interrupted"
        results |= _by_id(with_savings((Result(one, state, why) for one in left), views))
        unasked = {one.id: AskedWindow(one, state, why) for one in plan.windows}
        others = [one for key, one in results.items() if key not in planned]
        return Executed(
            (*(results[proposal.id] for proposal in plan.proposals), *others),
            tuple((unasked | done.asked).values()),
            done.usage,
            interrupted,
            broken_off,
        )

    def _settle_all(self, plan: Plan, progress: Progress, done: _Done) -> None:
        if plan.windows:
            run_in_thread(self._writer.make_ready)
        with self.writing() as file:
            answers = self._kept_answers(file)
            for some in self._drafting.checked_drafts(plan, done.views, answers):
                written = [
                    self._reviewing.set_aside(one, done.views)
                    for one in some
                    if isinstance(one, CheckedProposal)
                ]
                for part in _batches(written):
                    done.last = part
                    self._settle_part(file, part, done)
                    progress.stage("applying", len(done.results), len(plan.proposals))
                for one in some:
                    if isinstance(one, AskedWindow):
                        self._note_asked(file, one, done)
                        progress.stage("asking", len(done.asked), len(plan.windows))

    def _kept_answers(self, file: MemoryFile) -> Answers:
        from slowwave.consolidation.writing.drafts import KeptAnswers

        return KeptAnswers(file, self.context.now)

    def _note_asked(self, file: MemoryFile, asked: AskedWindow, done: _Done) -> None:
        """Note what became of a question; what was answered is not asked again."""
        done.asked[asked.window.id] = asked
        done.usage += asked.usage
        if asked.state == "applied" and self.context.model_key is not None:
            window = asked.window
            with file.transaction():
                keep_asked(
                    file,
                    window.tenant,
                    (*window.content_hashes, *window.alone),
                    self.context.model_key,
                    self.context.run_id,
                )
                keep_disputes(file, _disputes(asked), self.context.run_id)

    def _settle_part(self, file: MemoryFile, part: Sequence[CheckedProposal], done: _Done) -> None:
        try:
            done.results |= self._settle(file, part, done.views)
        except (FileHeld, UnusableFile):
            raise  # every other write would wait as long, and fail in the same way
        except StoreError:
            # One of them cannot be written; what comes before it can.
            if len(part) == 1:
                raise
            for one in part:
                done.results |= self._settle(file, [one], done.views)

    def _find_what_stands(self, done: _Done) -> None:
        """Look up what was applied: an interruption may come between a commit and its record."""
        if not self._begun:
            return
        with open_reading(self._path) as file:
            self._begun = has_run(file, self.context.run_id)
            for last in done.last:
                decision = read_decision(file, self.context.run_id, last.proposal.id)
                if decision is not None:
                    state = cast("State", decision.state)
                    result = Result(last.proposal, state, decision.why, decision.derived)
                    done.results |= _by_id(with_savings([result], done.views))

    def end_early(self) -> bool:
        """Write down that the run was interrupted before it applied anything.

        Returns whether it had written anything at all.
        """
        self._find_what_stands(_Done())
        self.end("interrupted", None, {})
        return self._begun

    def end(self, outcome: str, plan: str | None, report: dict[str, Any]) -> None:
        """Write down how the run ended, if it wrote anything."""
        if self._begun:
            now = timestamp(self.context.now)
            with self.writing() as file:
                end_run(file, self.context.run_id, now, outcome, plan, report)

    @contextmanager
    def writing(self) -> Iterator[MemoryFile]:
        """Open the file to write to it; the run begins with the first time. Raises `StoreError`."""
        self.preflight.check_and_back_up()
        with open_writing(self._path, self._file) as file:
            self._file = file.identity
            if not self._begun:
                now = timestamp(self.context.now)
                backup = {"backup": self.preflight.backup.name} if self.preflight.backup else {}
                options = {**self._options, **backup}
                # Before it is true: if this is interrupted, the file is asked.
                self._begun = True
                begin_run(file, self.context.run_id, now, version("slowwave"), options)
            yield file

    def _settle(
        self, file: MemoryFile, several: Sequence[CheckedProposal], views: Sequence[TenantView]
    ) -> dict[str, Result]:
        """Apply what was accepted, and write down what was not, in one transaction."""
        entities = {one.tenant: one.entities for one in views}
        results: list[Result] = []
        with file.transaction():
            for written in several:
                proposal = written.proposal
                if written.state == "planned":
                    vector = self._drafting.vectors.get(proposal.id)
                    names = entities[proposal.tenant]
                    result = apply_written(file, self.context, written, vector, names)
                else:
                    result = Result(proposal, written.state, written.why)
                    record(file, self.context, result, self._to_keep(written))
                results.append(result)
        for one in several:
            self._drafting.vectors.pop(one.proposal.id, None)
        return _by_id(with_savings(results, views))

    def _to_keep(self, written: CheckedProposal) -> dict[str, Any] | None:
        """Return what a person decides about, whole; None where nothing waits."""
        if written.state != "pending":
            return None
        model, key = self.context.model, self.context.model_key
        self._waiting += 1
        return as_kept(Kept(written.proposal, written.usage, model, key, self._waiting))


def _by_id(results: Iterable[Result]) -> dict[str, Result]:
    return {one.proposal.id: one for one in results}


def _batches(several: Sequence[CheckedProposal]) -> Iterator[Sequence[CheckedProposal]]:
    """Split proposals into transactions that keep others waiting for a moment only.

    One that is larger by itself is not parted: it is carried out whole or not at all.
    """
    part: list[CheckedProposal] = []
    size = 0
    for written in several:
        size += len(written.proposal.sources)
        if part and size > _AT_ONCE:
            yield part
            part, size = [], len(written.proposal.sources)
        part.append(written)
    if part:
        yield part


def _disputes(asked: AskedWindow) -> list[Dispute]:
    """Return the conflicts that a model named by what the memories say."""
    window = asked.window
    hash_of = dict(zip(window.memories, window.content_hashes, strict=True))
    return [
        Dispute(window.tenant, hash_of[one.sources[0]], hash_of[one.sources[1]], one.why)
        for one in asked.conflicts
    ]
