"""The tools of the MCP server: each answers one call of an agent from the memory file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError
from pydantic import Field

from slowwave.cli.arguments.moments import end_of, start_of
from slowwave.cli.views.asked import waiting_parts_as_json
from slowwave.cli.views.lineage import trace_as_json
from slowwave.cli.views.memory import ids_in, read_views
from slowwave.cli.views.proposal import ProposalView, view_result, view_waiting
from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.errors import ConsolidationError
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.runtime.redaction import without_secrets
from slowwave.consolidation.writing.writer import Writer
from slowwave.store.errors import StoreError
from slowwave.store.records import Kind, Layer

from .answers import (
    Page,
    hit_as_json,
    judged_as_json,
    mark,
    shown_proposal,
    shown_run,
    suspicious,
)
from .told_progress import told_progress

Query = Annotated[str, Field(min_length=1, description="A question in plain words.")]
MemoryId = Annotated[
    str, Field(description="The id of a memory, or at least its first four characters.")
]
ProposalId = Annotated[
    str,
    Field(description="An id from consolidate_pending, or at least its first eight characters."),
]
Day = Annotated[str | None, Field(description="A day or a time: 2026-03-31, 2026-03-31T18:00Z.")]
Tags = Annotated[list[str] | None, Field(description="Only memories with all of these tags.")]
Limit = Annotated[int, Field(ge=1, le=1_000, description="Maximum proposals.")]
Offset = Annotated[int, Field(ge=0, description="How many proposals to skip.")]


class Tools:
    """What an agent can call. Nothing stays open between two calls."""

    def __init__(self, memory: AgentMemory, file: Path, writer_of: Callable[[], Writer]) -> None:
        """Serve the memories of a file. writer_of: creates the writer of a run."""
        self._memory = memory
        self._writer_of = writer_of
        self._file = file
        # What a search has read can be used by one search at a time.
        self._searching = Lock()

    def recall(
        self,
        query: Query,
        limit: Annotated[int, Field(ge=1, le=100, description="Maximum hits.")] = 10,
        kind: Annotated[Kind | None, Field(description="Only this kind.")] = None,
        layer: Annotated[Layer | None, Field(description="Only this layer.")] = None,
        tags: Tags = None,
        since: Day = None,
        until: Day = None,
        as_of: Day = None,
    ) -> dict[str, Any]:
        """Find the memories that answer a question, best first.

        since, until: when it was observed. as_of: the memories as they were at that time. A hit
        with later has an outdated value; later is the id of the memory that replaces it.
        """
        with self._searching:
            hits = self._memory.recall(
                query,
                limit,
                kind=kind,
                layer=layer,
                tags=tags or (),
                since=_moment(start_of(since, "since")),
                until=_moment(end_of(until, "until")),
                as_of=_moment(end_of(as_of, "as_of")),
            )
        return {"hits": list(map(hit_as_json, hits))}

    def memory_block(
        self,
        query: Query,
        budget: Annotated[int, Field(ge=1, description="Maximum tokens of the block.")] = 4_500,
    ) -> dict[str, Any]:
        """Compose one block of context for a prompt: core memories, and those that fit a question.

        Memories that try to command their reader are omitted; left_out has their ids.
        """
        with self._searching:
            block = self._memory.block(query, budget)
        return {"text": block.text, "tokens": block.tokens, "left_out": list(block.suspicious)}

    def trace(self, memory_id: MemoryId) -> dict[str, Any]:
        """Show which memories a memory was derived from, and which were derived from it."""
        traced = self._memory.trace(memory_id)
        answer = trace_as_json(
            traced.memory, traced.claims, traced.derivations, traced.sources, traced.derived
        )
        related = [
            memory
            for lineage in (traced.sources, traced.derived)
            for step in lineage.steps.values()
            for memory in step
        ]
        texts = {memory.id: memory.content for memory in (traced.memory, *related)}
        return answer | {"tries_to_command": suspicious(texts)}

    def memory_stats(self) -> dict[str, Any]:
        """Count memories and tokens, by status and layer, and show the last run."""
        stats = self._memory.stats()
        return {
            "active": asdict(stats.active),
            "by_status": stats.by_status,
            "last_run": None if stats.last is None else shown_run(*stats.last),
        }

    def consolidate_pending(
        self,
        context: Context,
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
        """
        page = Page(limit, offset)
        waiting = [] if survey else self._memory.waiting()
        if waiting:
            return {"surveyed": False} | self._page(list(map(view_waiting, waiting)), page)
        with told_progress(context) as progress:
            outcome = self._memory.consolidate(dry_run=True, progress=progress)
        return {"surveyed": True} | self._outcome(outcome, page)

    def remember(
        self,
        text: Annotated[str, Field(min_length=1, description="One fact, preference or lesson.")],
        kind: Annotated[Kind, Field(description="What it is.")] = "fact",
        tags: Annotated[list[str] | None, Field(description="Words to find it by.")] = None,
        session: Annotated[str | None, Field(description="The conversation it comes from.")] = None,
        source: Annotated[str | None, Field(description="Where it comes from.")] = None,
        importance: Annotated[int, Field(ge=1, le=5, description="How important it is.")] = 3,
        observed_at: Annotated[
            str | None,
            Field(description="When it was observed, in ISO 8601 with an offset. Default: now."),
        ] = None,
    ) -> dict[str, Any]:
        """Store one memory, and return its id. The next run merges duplicates."""
        given = {"session": session, "source": source, "observed_at": observed_at}
        fields = {name: value for name, value in given.items() if value is not None}
        memory_id = self._memory.add(
            text, kind=kind, tags=tags or [], importance=importance, **fields
        )
        return {"id": memory_id} | mark(text)

    def consolidate_run(
        self,
        context: Context,
        dry_run: Annotated[bool, Field(description="Show the changes, and make none.")] = False,
        limit: Limit = 50,
    ) -> dict[str, Any]:
        """Consolidate the memories now. undo reverts the run.

        Pending proposals stay pending. in_all: the number of proposals of this run. waiting: the
        number of proposals pending from earlier runs, which consolidate_pending shows.

        If the server has a model, the run calls it, except in a dry run; model has what that cost,
        and why the model refuses every call, if it does. The run first reads the conversation parts
        that are queued for a model; conversations has the outcome.
        """
        writer = self._writer_of()
        with told_progress(context) as progress:
            outcome = self._memory.consolidate(dry_run, writer, progress)
        usage = {"name": writer.model, "refused": writer.refused, **asdict(outcome.usage)}
        return self._outcome(outcome, Page(limit, 0)) | {"model": usage}

    def consolidate_apply(self, context: Context, proposal_id: ProposalId) -> dict[str, Any]:
        """Apply one proposal of consolidate_pending.

        It is stale if its memories have changed since.
        """
        with told_progress(context) as progress:
            decided = self._memory.apply(proposal_id, progress)
        proposals = list(map(view_result, decided.results))
        return {"run": decided.run_id} | self._page(proposals, Page())

    def consolidate_decline(
        self,
        context: Context,
        proposal_id: ProposalId,
        reason: Annotated[str, Field(min_length=1, description="Why not to apply it.")],
    ) -> dict[str, Any]:
        """Decline one proposal of consolidate_pending: no later run proposes it again."""
        with told_progress(context) as progress:
            run_id = self._memory.decline(proposal_id, reason, progress)
        return {"run": run_id, "proposal": proposal_id, "state": "declined", "why": reason}

    def feedback(
        self,
        memory_id: MemoryId,
        helpful: Annotated[bool, Field(description="true if it helped, false if it misled.")],
    ) -> dict[str, Any]:
        """Report that a memory helped (trust +0.05) or misled (trust -0.10).

        For a memory that misled, made_from_it lists the memories derived from it: check them too. A
        derived memory whose trust falls below 0.2 is undone.
        """
        return judged_as_json(self._memory.feedback(memory_id, helpful))

    def undo(
        self,
        run_or_proposal: Annotated[
            str,
            Field(
                description="The id of a run or a proposal, or at least its first eight characters."
            ),
        ],
    ) -> dict[str, Any]:
        """Undo a run or one proposal: the memories are again exactly what they were before.

        Proposals that were pending before they were applied are pending again.
        """
        return {"undone": self._memory.undo(run_or_proposal)}

    def last_report(self) -> str:
        """Return what the last run did, as JSON."""
        try:
            last = self._memory.stats().last
        except StoreError as error:
            raise ResourceError(sentences(error)) from error
        report = None if last is None else shown_run(*last)
        return json.dumps({"run": report}, ensure_ascii=False, indent=2)

    def _outcome(self, outcome: Outcome, page: Page) -> dict[str, Any]:
        """Return a plan, or the outcome of a run, with the texts of its memories."""
        return {
            "run": outcome.run_id,
            "before": asdict(outcome.before),
            "after": asdict(outcome.after),
            **self._page(list(map(view_result, outcome.results)), page),
            "waiting": outcome.earlier.waiting,
            "conversations": waiting_parts_as_json(outcome.waiting_parts),
            "conflicts": [
                {
                    "sources": conflict.sources,
                    "about": conflict.slot,
                    "values": conflict.values,
                    "why": conflict.why,
                }
                for conflict in outcome.conflicts[: page.limit]
            ],
            "conflicts_in_all": len(outcome.conflicts),
            "tries_to_command": {each.memory: each.said for each in outcome.plan.suspicious},
        }

    def _page(self, proposals: Sequence[ProposalView], page: Page) -> dict[str, Any]:
        """Return a page of proposals with the texts of their memories."""
        shown = page.of(proposals)
        memories = read_views(self._file, ids_in(view.proposal.sources for view in shown))
        texts = {memory.id: memory.content for memory in memories.values()}
        return {
            "in_all": len(proposals),
            "proposals": [shown_proposal(replace(view, memories=memories)) for view in shown],
            "tries_to_command": suspicious(texts),
        }


def sentences(error: StoreError | ConsolidationError) -> str:
    """Return an error and its hint in sentences, as an agent may read them."""
    reasons = [obstacle.why for obstacle in getattr(error, "obstacles", ())]
    # The message has the reason if there is only one.
    more = reasons if len(reasons) > 1 else []
    return without_secrets(" ".join(filter(None, (error.message, *more, error.hint))))


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
