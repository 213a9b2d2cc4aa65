"""The tools of the MCP server with which an agent consolidates: it decides, proposes, answers."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import anyio
from pydantic import Field

from slowwave.cli.terminal.progress_bars import STAGES
from slowwave.cli.views.asked import queued_parts_as_json
from slowwave.cli.views.memory import ids_in, read_views
from slowwave.cli.views.proposal import ProposalView, view_pending, view_result
from slowwave.cli.views.questions import (
    given_as_json,
    open_question_as_json,
    open_questions_as_json,
)
from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.agent.rounds import AgentAnswer
from slowwave.consolidation.model.answer_forms import StatedGroup, StatedLeftOut
from slowwave.consolidation.options import Review
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import Operation
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.writing.writer import Writer

from .answers import shown_proposal, suspicious

ProposalId = Annotated[
    str,
    Field(description="An id from consolidate_pending, or at least its first four characters."),
]
Limit = Annotated[int, Field(ge=1, le=1_000, description="Maximum proposals.")]
MaxQuestions = Annotated[int, Field(ge=1, le=100, description="Maximum questions.")]
Offset = Annotated[int, Field(ge=0, description="How many proposals to skip.")]
# How often a client gets a report: many give up after a minute of silence.
_INTERVAL_S = 2.0
# The progress of the current tool call.
PROGRESS: ContextVar[Progress | None] = ContextVar("PROGRESS", default=None)

# The number of proposals of a night that are shown with their texts.
_MAX_SHOWN = 10


class ConsolidationTools:
    """What an agent can call about a consolidation. Nothing stays open between two calls."""

    def __init__(self, memory: AgentMemory, file: Path, writer_of: Callable[[], Writer]) -> None:
        """writer_of: creates the writer of a run."""
        self._memory = memory
        self._writer_of = writer_of
        self._file = file

    def consolidate_pending(
        self,
        survey: Annotated[
            bool,
            Field(description="Compare all memories now; with very many, this takes a minute."),
        ] = False,
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> dict[str, Any]:
        """Show the proposals that are pending, or else what a run would change now. Read-only.

        If proposals are pending, only those are read, unless survey is true. Each proposal has its
        sources with their texts, which of them it supersedes (leaving), the draft that replaces
        them, the reason, its state, and the tokens before and after. in_all: the number of
        proposals. waiting, of a survey: the number of proposals pending from earlier runs.
        undecided, of a survey: groups of similar memories that only a model can decide; you can
        be that model: call consolidation_questions.
        """
        pending = [] if survey else self._memory.waiting()
        if pending:
            return {"surveyed": False} | self._page(list(map(view_pending, pending)), limit, offset)
        outcome = self._memory.consolidate(dry_run=True, progress=PROGRESS.get())
        windows = outcome.plan.undecided
        views = read_views(self._file, ids_in(window.sources for window in windows[:limit]))
        undecided = [
            {
                "sources": [
                    # A memory may have been deleted since.
                    {"id": id_, "content": views[id_].content if id_ in views else None}
                    for id_ in window.sources
                ],
                "similarity": window.similarity,
                "tokens": window.prompt_tokens + window.answer_tokens,
            }
            for window in windows[:limit]
        ]
        fields = {"undecided": undecided, "undecided_in_all": len(windows)}
        return {"surveyed": True} | self._outcome(outcome, limit, offset) | fields

    def consolidate_run(
        self,
        dry_run: Annotated[bool, Field(description="Show the changes, and make none.")] = False,
        limit: Limit = 50,
    ) -> dict[str, Any]:
        """Consolidate the memories now. undo reverts the run.

        outcome: done, partial, failed or interrupted. why: the first reason if it is not done.
        Pending proposals stay pending. in_all: the number of proposals of this run. waiting: the
        number of proposals pending from earlier runs, which consolidate_pending shows.

        If the server has a model, the run calls it, except in a dry run; model has what that cost,
        and why it was not called again, if it refused a call. The run first reads the conversation
        parts that are queued for a model; conversations has the outcome.
        """
        writer = self._writer_of()
        outcome = self._memory.consolidate(dry_run, writer, PROGRESS.get())
        usage = {"name": writer.model, "refused": writer.refused, **asdict(outcome.usage)}
        return self._outcome(outcome, limit) | {"model": usage}

    def consolidate_apply(self, proposal_id: ProposalId) -> dict[str, Any]:
        """Apply one proposal of consolidate_pending.

        It is stale if its memories have changed since. It only supersedes protected memories if the
        night that made it included them.
        """
        decided = self._memory.apply(proposal_id, PROGRESS.get())
        proposals = list(map(view_result, decided.results))
        return {"run": decided.run_id} | self._page(proposals)

    def consolidate_propose(
        self,
        ids: Annotated[list[str], Field(min_length=2, description="The ids of the memories.")],
        text: Annotated[str, Field(min_length=1, description="The text that replaces them.")],
        operation: Annotated[
            Operation,
            Field(
                description="merge: one memory contains everything the others say. synthesize: "
                "each states part of one thing. update: the latest has the new value. extract: a "
                "rule that they support."
            ),
        ] = "synthesize",
        left_out: Annotated[
            list[StatedLeftOut] | None, Field(description="What the text omits on purpose.")
        ] = None,
        check: Annotated[
            AgentAnswer | None, Field(description="The answer to the question of the first call.")
        ] = None,
    ) -> dict[str, Any]:
        """Propose a text of your own for memories that belong together. Nothing is applied.

        Your text is checked as a model's is: by a program, then by a second model call; neither
        check can be skipped. First call it without check. faults: correct the text, and try again.
        question: give its messages to a fresh context that sees nothing else, such as a subagent,
        and call it again with the same arguments and check, the answer. If the reading finds no
        fault either, the proposal is pending, and consolidate_apply applies it.
        """
        group = StatedGroup(operation=operation, ids=ids, text=text, left_out=left_out or [])
        answer = None if check is None else {check.id: check.text}
        proposed = self._memory.propose(group, answer, PROGRESS.get())
        results = [] if proposed.result is None else [view_result(proposed.result)]
        return {
            "faults": proposed.faults,
            "question": proposed.question and open_question_as_json(proposed.question),
            "proposal": next(iter(self._page(results)["proposals"]), None),
            "run": proposed.run_id,
        }

    def consolidation_questions(
        self,
        limit: MaxQuestions = 3,
    ) -> dict[str, Any]:
        """Return questions that only a model can decide; you can be that model.

        They are about queued conversations, and then about memories.

        Answer each question by its messages alone, in the format of its schema, and pass the
        answers to consolidation_answer. A question of kind check is a second reading: answer it in
        a fresh context that sees nothing but its messages, such as a subagent, never where the text
        was written. open: the number of open questions. Read-only.
        """
        questions = self._memory.questions(PROGRESS.get())
        return open_questions_as_json(questions, limit)

    def consolidation_answer(
        self,
        answers: Annotated[
            list[AgentAnswer], Field(description="Answers to consolidation_questions.")
        ],
        review: Annotated[
            Review, Field(description="Which proposals to queue for consolidate_apply.")
        ] = "never",
        limit: MaxQuestions = 3,
    ) -> dict[str, Any]:
        """Answer questions of consolidation_questions, in any order; the file keeps the answers.

        Nothing is applied until no question is open; questions has the next ones, such as checks
        and repairs. Conversations are read first, in runs of their own: conversations has them.
        Then the memories are consolidated: night has the run, which undo reverts, and its first
        proposals. faults: answers that cannot be parsed; answer these questions again.
        stale: the ids of questions that are no longer asked. known: those answered before.
        """
        texts = {answer.id: answer.text for answer in answers}
        given_answers = self._memory.answer(texts, review, PROGRESS.get())
        outcome = given_answers.outcome
        return {
            **given_as_json(given_answers, limit),
            "night": None if outcome is None else self._outcome(outcome, _MAX_SHOWN),
        }

    def consolidate_decline(
        self,
        proposal_id: ProposalId,
        reason: Annotated[str, Field(min_length=1, description="Why not to apply it.")],
    ) -> dict[str, Any]:
        """Decline one proposal of consolidate_pending: no later run proposes it again."""
        run_id = self._memory.decline(proposal_id, reason, PROGRESS.get())
        return {"run": run_id, "proposal": proposal_id, "state": "declined", "why": reason}

    def _outcome(self, outcome: Outcome, limit: int, offset: int = 0) -> dict[str, Any]:
        """Return a plan, or the outcome of a run, with the texts of its memories."""
        return {
            "run": outcome.run_id,
            "outcome": outcome.verdict,
            "why": outcome.why,
            "before": asdict(outcome.before),
            "after": asdict(outcome.after),
            **self._page(list(map(view_result, outcome.results)), limit, offset),
            "waiting": outcome.earlier.pending,
            "conversations": queued_parts_as_json(outcome.queued_parts),
            "conflicts": [
                {
                    "sources": conflict.sources,
                    "about": conflict.slot,
                    "values": conflict.values,
                    "why": conflict.why,
                }
                for conflict in outcome.conflicts[:limit]
            ],
            "conflicts_in_all": len(outcome.conflicts),
            "tries_to_command": {memory.memory: memory.said for memory in outcome.plan.suspicious},
        }

    def _page(
        self, proposals: Sequence[ProposalView], limit: int = 50, offset: int = 0
    ) -> dict[str, Any]:
        shown = proposals[offset : offset + limit]
        memories = read_views(self._file, ids_in(view.proposal.sources for view in shown))
        texts = {memory.id: memory.content for memory in memories.values()}
        return {
            "in_all": len(proposals),
            "proposals": [shown_proposal(replace(view, memories=memories)) for view in shown],
            "tries_to_command": suspicious(texts),
        }


class _LatestStage(Progress):
    words = "reading the file"

    def stage(self, name: str, done: int, total: int) -> None:
        """Set how far a stage is."""
        self.words = f"{STAGES[name]}: {done:,} of {total:,}" if total else STAGES[name]


@asynccontextmanager
async def reported_progress(context: Any) -> AsyncIterator[None]:
    """Report `PROGRESS` to the client of a call while the block runs, if it asks for that."""
    latest = _LatestStage()
    PROGRESS.set(latest)

    async def report() -> None:
        began = time.monotonic()
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # the client is gone
            while True:
                # The protocol wants a number that rises: the seconds.
                seconds = round(time.monotonic() - began, 3)
                await context.report_progress(seconds, None, latest.words)
                await anyio.sleep(_INTERVAL_S)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(report)
        yield
        tasks.cancel_scope.cancel()
