"""A memory file in a Python program: `with AgentMemory(path) as memory:`.

It uses the same engine as the command line. The file is closed between calls, so that other agents
and nightly runs can use it; the search index is cached until the file changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import Any, Self, get_args

from slowwave.consolidation.cycle import run_cycle
from slowwave.consolidation.model.answer_forms import StatedGroup
from slowwave.consolidation.model.chosen_model import ModelLike, chosen_writer
from slowwave.consolidation.options import CycleOptions, Review
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import Result
from slowwave.consolidation.running.approval import Approval, ReviewResult, record_alone
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.running.review_queue import (
    Choice,
    PendingProposal,
    find_pending,
    read_queue,
)
from slowwave.consolidation.running.run_in_file import NightInputs
from slowwave.consolidation.text.tokens import count_tokens
from slowwave.consolidation.vectors.embedder import CachingEmbedder, Embedder, SentenceEmbedder
from slowwave.consolidation.writing.writer import AGENT, BuiltInWriter, Writer
from slowwave.store.errors import InvalidLine, NotFound, StoreError
from slowwave.store.exchange import memory_from_text
from slowwave.store.feedback import Feedback, record_feedback, undo_derived
from slowwave.store.file import MemoryFile, create_file, open_reading, open_writing
from slowwave.store.intake import has_conversations
from slowwave.store.ledger import Decision, Run, decide_pending, read_decisions, read_last_run
from slowwave.store.lineage import Trace, read_trace
from slowwave.store.memories import (
    Counts,
    add_memories,
    count_by_status,
    count_memories,
    find_id,
    tenants,
)
from slowwave.store.records import timestamp
from slowwave.store.shared_tenant import refuse_unpublished
from slowwave.store.undo.undoable import find_undoable

from .conversing import ConversingMemory
from .correcting import Correcting
from .own_proposals import OwnProposal, Proposer, find_planned
from .recalling import RecallingMemory, refuse_unknown
from .rounds import AgentRound, GivenAnswers, OpenQuestions


@dataclass(frozen=True)
class Stats:
    """Counts of memories, and the last run."""

    # Counts of active memories.
    active: Counts
    # The number of memories by status and layer.
    by_status: Mapping[str, Mapping[str, int]]
    # The last run of these memories, with its decisions about them; None before the first.
    last: tuple[Run, tuple[Decision, ...]] | None


class AgentMemory(RecallingMemory, ConversingMemory, Correcting):
    """One tenant's memories in a memory file.

    Errors are those of the command line: `slowwave.store.errors.StoreError` and
    `slowwave.consolidation.errors.ConsolidationError`, each with a `message` and a `hint`.
    """

    def __init__(
        self,
        path: Path | str,
        tenant: str = "default",
        embedder: Embedder | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Open a file, which is created if it does not exist.

        embedder: by default the packaged model. clock: returns the time, with an offset.
        """
        self._path = Path(path)
        self._tenant = tenant
        self._embedder = embedder or SentenceEmbedder()
        # Keeps the vectors that the file lacks from one round of answers to the next.
        self._caching = CachingEmbedder(self._embedder)
        self._clock = clock
        self._secrets = defaultdict(dict)
        self._searching = RLock()

    def __enter__(self) -> Self:
        """Create the file if it does not exist. Raises `StoreError`."""
        if not self._path.exists():
            create_file(self._path)
        return self

    def __exit__(self, *error: object) -> None:
        """Drop the search index."""
        with self._searching:
            self._drop_index()

    def add(self, text: str, **fields: Any) -> str:
        """Store a memory and return its id.

        fields: those of an imported line except `content` and `tenant` (kind, layer, tags,
        observed_at ...); a time is a `datetime` or ISO 8601, with an offset. Raises `StoreError` if
        a field is wrong, or the text blank or too long.
        """
        if not fields.keys().isdisjoint({"content", "tenant"}):
            raise InvalidLine("`content` and `tenant` cannot be passed as extra fields.")
        refuse_unpublished(self._tenant)
        memory = memory_from_text(text, {"tenant": self._tenant, **fields}, self._clock())
        with open_writing(self._path) as file, file.transaction():
            add_memories(file, [memory])
        return memory.id

    def consolidate(
        self,
        dry_run: bool = False,
        writer: Writer | None = None,
        progress: Progress | None = None,
        *,
        model: ModelLike | None = None,
        checker: ModelLike | None = None,
        review: Review = "never",
    ) -> Outcome:
        """Run a night for this tenant; a dry run only returns what it would do.

        model: litellm's name, or `cli:claude`, or a function of messages and a JSON schema that
        returns the answer's text.
        checker: the same, for who checks the drafts; by default the model, "none" for nobody.
        writer: instead of a model, such as a `ModelWriter` with limits. review: as for `answer`. A
        KeyboardInterrupt ends the night, and the outcome is `interrupted`. Raises `StoreError` and
        `ConsolidationError` if nothing was changed.
        """
        refuse_unknown("review mode", review, get_args(Review))
        writer = chosen_writer(model, checker, writer)
        # `only` marks the run as a night in the ledger, for the gates of later ones.
        shown: dict[str, Any] = {"only": [], "model": writer.model}
        return self._run(CycleOptions(review=review, shown=shown), dry_run, progress, writer)

    def questions(self, progress: Progress | None = None) -> OpenQuestions:
        """Return what a night would ask you now, if you were its model; the file is only read.

        Each has an `id`, its `kind` (`write` or `check`), `messages`, the JSON `schema` of the
        answer, and `tokens`. Raises `StoreError` and `ConsolidationError`.
        """
        if self._find_nothing():
            return OpenQuestions()
        return self._round(CycleOptions(), progress).questions()

    def answer(
        self, answers: Mapping[str, str], review: Review = "never", progress: Progress | None = None
    ) -> GivenAnswers:
        """Keep answers to `questions`, texts by id, and run the night once none is open.

        Unreadable and stale answers are reported, and their questions are asked again. review:
        which proposals of the night are queued. Raises `StoreError` and `ConsolidationError`.
        """
        refuse_unknown("review mode", review, get_args(Review))
        if nothing := self._find_nothing():
            outcome = None if answers else nothing
            return GivenAnswers((), (), tuple(answers), {}, OpenQuestions(), outcome)
        options = CycleOptions(review=review, shown={"only": [], "model": AGENT})
        # The agent that answers knows what was masked in what it passed.
        hidden = {key: self._hide(text) for key, text in answers.items()}
        reply = self._round(options, progress).give(hidden)
        if reply.outcome is not None:
            self._caching = CachingEmbedder(self._embedder)
        return reply

    def waiting(self) -> list[PendingProposal]:
        """Return the pending proposals in the order in which they can be applied.

        Raises `StoreError`.
        """
        with open_reading(self._path) as file:
            return read_queue(file, [self._tenant])

    def apply(self, proposal_id: str, progress: Progress | None = None) -> ReviewResult:
        """Apply one proposal; its id may be shortened to four characters.

        The proposal is pending, or in the plan of a dry run. Raises `StoreError` if it is neither,
        and `ConsolidationError`.
        """
        with self._locked() as file:
            result, _ = self._find_proposal(file, proposal_id, progress)
            return Approval(file, self._embedder, self._clock(), "approve").apply([result])

    def decline(
        self, proposal_id: str, reason: str, progress: Progress | None = None
    ) -> str | None:
        """Decline one proposal, so that no later night makes it; its id may be shortened.

        The proposal is pending, or in the plan of a dry run; then the id of the run that records
        the decision is returned. Raises `StoreError` if it is neither, and `ConsolidationError`.
        """
        with self._locked() as file:
            result, planned = self._find_proposal(file, proposal_id, progress)
            if planned is not None:
                declined, digest = Result(result.proposal, "declined", reason), planned.plan.digest
                return record_alone(file, declined, self._clock(), plan=digest)
            with file.transaction():
                now = timestamp(self._clock())
                decide_pending(file, result.proposal.id, "declined", now, reason)
        return None

    def propose(
        self,
        group: StatedGroup,
        check: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> OwnProposal:
        """Propose a group of your own, with the text that replaces its memories.

        A program checks it. Without faults the checking question is returned: answer it in a fresh
        context, and pass the answer by the question's id as `check`. Then the proposal is pending.
        Raises `StoreError`.
        """
        now = self._clock()
        proposer = Proposer(self._path, self._tenant, self._caching, now, progress or Progress())
        judged = proposer.judge(group, check)
        if judged.result is None:
            return judged
        with self._locked() as file:
            return proposer.keep(file, judged.result)

    def feedback(self, memory_id: str, helpful: bool) -> Feedback:
        """Report that a memory helped or misled; its id may be shortened.

        Trust rises a little, or falls twice as much. A derived memory with too little trust is
        undone; the result lists all memories derived from a misleading one. Raises `StoreError`.
        """
        now = timestamp(self._clock())
        with open_writing(self._path) as file:
            judged = record_feedback(file, find_id(file, memory_id, self._tenant), helpful, now)
        if helpful or not judged.requires_undo:
            return judged
        try:
            with self._locked() as file:
                undone, why_not = undo_derived(file, judged.memory.id, now)
        except StoreError as error:
            # The trust has fallen: a caller that got an error would lower it again.
            return replace(judged, why_not=error.message)
        return replace(judged, undone=undone, why_not=why_not)

    def trace(self, memory_id: str) -> Trace:
        """Return the lineage of a memory in both directions; its id may be shortened.

        Raises `StoreError`.
        """
        with open_reading(self._path) as file:
            return read_trace(file, memory_id, self._tenant)

    def undo(self, which: str) -> list[str]:
        """Undo a run or a proposal, and return the ids of its proposals.

        Its id may be shortened to eight characters. Raises `StoreError`, also if the run changed
        memories of other tenants.
        """
        with self._locked() as file:
            undoable = find_undoable(file, which, self._tenant)
            return undoable.undo(file, timestamp(self._clock()))

    def stats(self) -> Stats:
        """Return counts and the last run. Raises `StoreError`."""
        with open_reading(self._path) as file:
            run = read_last_run(file, self._tenant)
            decisions = read_decisions(file, run.id) if run else ()
            own_decisions = tuple(
                decision for decision in decisions if decision.tenant == self._tenant
            )
            counts = count_memories(file, [self._tenant], count_tokens)
            by_status = count_by_status(file, [self._tenant])
            return Stats(counts, by_status, (run, own_decisions) if run else None)

    def _find_proposal(
        self, file: MemoryFile, proposal_id: str, progress: Progress | None
    ) -> tuple[Result, Outcome | None]:
        """Return a pending proposal, or a planned one with the outcome of its dry run."""
        try:
            (pending,) = find_pending(file, Choice((proposal_id,)), [self._tenant])
        except NotFound:
            planned = self._run(CycleOptions(), True, progress)
            return find_planned(planned.results, proposal_id), planned
        return pending.result, None

    def _run(
        self,
        options: CycleOptions,
        dry_run: bool,
        progress: Progress | None,
        writer: Writer | None = None,
    ) -> Outcome:
        if nothing := self._find_nothing():
            return nothing
        night = NightInputs(
            path=self._path,
            options=self._mine(options),
            embedder=self._embedder,
            writer=writer or BuiltInWriter(),
            now=self._clock(),
            progress=progress or Progress(),
            dry_run=dry_run,
        )
        return run_cycle(night)

    def _round(self, options: CycleOptions, progress: Progress | None) -> AgentRound:
        run_options, now = self._mine(options), self._clock()
        return AgentRound(self._path, run_options, self._caching, now, progress)

    def _mine(self, options: CycleOptions) -> CycleOptions:
        shown: dict[str, Any] = {"tenant": [self._tenant], **options.shown}
        return replace(options, tenants=(self._tenant,), shown=shown)

    def _find_nothing(self) -> Outcome | None:
        """Return the outcome for a tenant that the file does not know yet, or None.

        A run would report it as unknown, with the names of the other tenants.
        """
        with open_reading(self._path) as file:
            if self._tenant in tenants(file) or has_conversations(file, self._tenant):
                return None
            counts = count_memories(file, [self._tenant], count_tokens)
        return Outcome(before=counts, after=counts)
