"""The tools of the MCP server: each one call of an agent, answered from the memory file."""

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
from slowwave.store.errors import ChangedSince, StoreError
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

Query = Annotated[str, Field(min_length=1, description="What is asked, in plain words.")]
MemoryId = Annotated[
    str, Field(description="The id of a memory, or its first characters, four at the least.")
]
ProposalId = Annotated[
    str, Field(description="Its id of consolidate_pending, eight characters or more.")
]
Day = Annotated[str | None, Field(description="A day or a moment: 2026-03-31, 2026-03-31T18:00Z.")]
Tags = Annotated[list[str] | None, Field(description="With all of these tags.")]
Limit = Annotated[int, Field(ge=1, le=1_000, description="At most so many proposals.")]
Offset = Annotated[int, Field(ge=0, description="Without the first ones of them.")]


class Tools:
    """What an agent may ask. Nothing is held open between two calls."""

    def __init__(self, memory: AgentMemory, file: Path, writer_of: Callable[[], Writer]) -> None:
        """Take whose memories are meant, the file that they lie in, and who writes in a night."""
        self._memory = memory
        self._writer_of = writer_of
        self._file = file
        # What was read for a search is for one search at a time.
        self._searching = Lock()

    def recall(
        self,
        query: Query,
        limit: Annotated[int, Field(ge=1, le=100, description="At most so many.")] = 10,
        kind: Annotated[Kind | None, Field(description="Only of this kind.")] = None,
        layer: Annotated[Layer | None, Field(description="Only as settled as this.")] = None,
        tags: Tags = None,
        since: Day = None,
        until: Day = None,
        as_of: Day = None,
    ) -> dict[str, Any]:
        """Find what is remembered of a question, best first.

        since and until: when it was observed. as_of: what was so then, in the words of that time.
        A hit with later gives an older value than the memory of that id.
        """
        with self._searching:
            hits = self._memory.recall(
                query,
                limit,
                kind=kind,
                layer=layer,
                tags=tags or (),
                since=_start(since, "since"),
                until=_end(until, "until"),
                as_of=_end(as_of, "as_of"),
            )
        return {"hits": list(map(hit_as_json, hits))}

    def memory_block(
        self,
        query: Query,
        budget: Annotated[int, Field(ge=1, description="Tokens of the whole block.")] = 4_500,
    ) -> dict[str, Any]:
        """Compose one block of context for a prompt: what is core, and what fits a question.

        Memories that give orders to their reader are left out of it, and named by their ids.
        """
        with self._searching:
            block = self._memory.block(query, budget)
        return {"text": block.text, "tokens": block.tokens, "left_out": list(block.suspicious)}

    def trace(self, memory_id: MemoryId) -> dict[str, Any]:
        """Show where a memory came from, and what was made from it, to every depth."""
        traced = self._memory.trace(memory_id)
        answer = trace_as_json(
            traced.memory, traced.claims, traced.derivations, traced.sources, traced.derived
        )
        others = [
            one
            for lineage in (traced.sources, traced.derived)
            for step in lineage.steps.values()
            for one in step
        ]
        texts = {one.id: one.content for one in (traced.memory, *others)}
        return answer | {"tries_to_command": suspicious(texts)}

    def memory_stats(self) -> dict[str, Any]:
        """Count memories by status and layer, with their tokens, and tell of the last run."""
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
            bool, Field(description="Look at all memories anew; of very many it takes a minute.")
        ] = False,
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> dict[str, Any]:
        """Show what waits for review, or else what a night would change now; nothing is written.

        Where something waits, only that is read, unless survey is true. Of each proposal: its
        sources with their texts, which of them go (leaving), the draft that would stand, the
        reason, its state, and the tokens before and after. in_all: how many there are. waiting, of
        a survey: how many of earlier nights wait.
        """
        page = Page(limit, offset)
        waiting = [] if survey else self._memory.waiting()
        if waiting:
            return {"surveyed": False} | self._shown(list(map(view_waiting, waiting)), page)
        with told_progress(context) as progress:
            outcome = self._memory.consolidate(dry_run=True, progress=progress)
        return {"surveyed": True} | self._told(outcome, page)

    def remember(
        self,
        text: Annotated[str, Field(min_length=1, description="One fact, wish or lesson.")],
        kind: Annotated[Kind, Field(description="What it is.")] = "fact",
        tags: Annotated[list[str] | None, Field(description="Words to find it by.")] = None,
        session: Annotated[
            str | None, Field(description="The conversation that it was said in.")
        ] = None,
        source: Annotated[str | None, Field(description="Where it comes from.")] = None,
        importance: Annotated[int, Field(ge=1, le=5, description="How much it matters.")] = 3,
        observed_at: Annotated[
            str | None,
            Field(description="When it was so, as ISO 8601 with an offset; by default now."),
        ] = None,
    ) -> dict[str, Any]:
        """Store one memory, and return its id. What is said twice is joined at night."""
        given = {"session": session, "source": source, "observed_at": observed_at}
        fields = {name: value for name, value in given.items() if value is not None}
        memory_id = self._memory.add(
            text, kind=kind, tags=tags or [], importance=importance, **fields
        )
        return {"id": memory_id} | mark(text)

    def consolidate_run(
        self,
        context: Context,
        dry_run: Annotated[bool, Field(description="Only show it.")] = False,
        limit: Limit = 50,
    ) -> dict[str, Any]:
        """Run the night now: all that it would change. undo takes the run back.

        What waits for review goes on waiting. in_all: how many proposals it makes. waiting: how
        many of earlier nights wait, which consolidate_pending shows.

        Where the server has a model, that is asked, too, but not in a dry run: model says what it
        took, and why it refuses every call, if it does. It first reads the conversations that wait
        for a model: conversations says what came of that.
        """
        writer = self._writer_of()
        with told_progress(context) as progress:
            outcome = self._memory.consolidate(dry_run, writer, progress)
        took = {"name": writer.model, "refused": writer.refused, **asdict(outcome.usage)}
        return self._told(outcome, Page(limit, 0)) | {"model": took}

    def consolidate_apply(self, context: Context, proposal_id: ProposalId) -> dict[str, Any]:
        """Carry out exactly one proposal of consolidate_pending.

        It is stale if its memories were changed since.
        """
        with told_progress(context) as progress:
            decided = self._memory.apply(proposal_id, progress)
        proposals = list(map(view_result, decided.results))
        return {"run": decided.run_id} | self._shown(proposals, Page())

    def consolidate_decline(
        self,
        context: Context,
        proposal_id: ProposalId,
        reason: Annotated[str, Field(min_length=1, description="Why it must not be done.")],
    ) -> dict[str, Any]:
        """Decline one proposal of consolidate_pending: no later night makes it again."""
        with told_progress(context) as progress:
            run_id = self._memory.decline(proposal_id, reason, progress)
        return {"run": run_id, "proposal": proposal_id, "state": "declined", "why": reason}

    def feedback(
        self,
        memory_id: MemoryId,
        helpful: Annotated[bool, Field(description="Whether it helped, or misled.")],
    ) -> dict[str, Any]:
        """Say that a memory helped (trust +0.05) or misled (-0.10).

        Of one that misled, made_from_it names what was made from it, and is worth a look. A
        memory that a run made is undone when its trust falls below 0.2.
        """
        return judged_as_json(self._memory.feedback(memory_id, helpful))

    def undo(
        self,
        run_or_proposal: Annotated[
            str, Field(description="The id of a run or of a proposal, eight characters or more.")
        ],
    ) -> dict[str, Any]:
        """Take a run, or one proposal, back: the memories are what they were before, to the bit.

        What had waited for review before it was applied waits again.
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

    def _told(self, outcome: Outcome, page: Page) -> dict[str, Any]:
        """Return a plan, or what became of it, with what the memories say."""
        return {
            "run": outcome.run_id,
            "before": asdict(outcome.before),
            "after": asdict(outcome.after),
            **self._shown(list(map(view_result, outcome.results)), page),
            "waiting": outcome.earlier.waiting,
            "conversations": waiting_parts_as_json(outcome.waiting_parts),
            "conflicts": [
                {"sources": one.sources, "about": one.slot, "values": one.values, "why": one.why}
                for one in outcome.conflicts[: page.limit]
            ],
            "conflicts_in_all": len(outcome.conflicts),
            "tries_to_command": {one.memory: one.said for one in outcome.plan.suspicious},
        }

    def _shown(self, proposals: Sequence[ProposalView], page: Page) -> dict[str, Any]:
        """Return a page of proposals with the texts of their memories."""
        shown = page.of(proposals)
        memories = read_views(self._file, ids_in(view.proposal.sources for view in shown))
        return {
            "in_all": len(proposals),
            "proposals": [shown_proposal(replace(view, memories=memories)) for view in shown],
            "tries_to_command": suspicious({one.id: one.content for one in memories.values()}),
        }


def sentences(error: StoreError | ConsolidationError) -> str:
    """Return what is wrong, and what can be done, as an agent may read it."""
    whys = [one.why for one in error.obstacles] if isinstance(error, ChangedSince) else []
    # Of one, the message speaks.
    more = whys if len(whys) > 1 else []
    return without_secrets(" ".join(filter(None, (error.message, *more, error.hint))))


def _start(text: str | None, name: str) -> datetime | None:
    moment = start_of(text, name)
    return None if moment is None else datetime.fromisoformat(moment)


def _end(text: str | None, name: str) -> datetime | None:
    moment = end_of(text, name)
    return None if moment is None else datetime.fromisoformat(moment)
