"""The tools of the MCP server: each answers one call of an agent from the memory file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, Literal

from mcp.server.mcpserver.exceptions import ResourceError
from pydantic import BaseModel, Field

from slowwave.cli.views.correction import correction_as_json, similar_as_json
from slowwave.cli.views.ingest import as_json, conversation_as_json
from slowwave.cli.views.lineage import trace_as_json
from slowwave.cli.views.memory import mark
from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.agent.conversing import EVERY
from slowwave.consolidation.ingest.secrets import kinds_of_secrets
from slowwave.consolidation.thresholds import MIN_RELEVANCE
from slowwave.consolidation.writing.writer import Writer
from slowwave.store.errors import StoreError
from slowwave.store.records import Kind, Layer

from .answers import feedback_as_json, hit_as_json, shown_run, suspicious
from .consolidation_tools import PROGRESS
from .hints import sentences

Query = Annotated[str, Field(min_length=1, description="A question in plain words.")]
MemoryId = Annotated[
    str, Field(description="The id of a memory, or at least its first four characters.")
]
Day = Annotated[str | None, Field(description="A day or a time: 2026-03-31, 2026-03-31T18:00Z.")]
Kinds = Annotated[list[Kind] | Kind | None, Field(description="Only these kinds.")]
Layers = Annotated[list[Layer] | Layer | None, Field(description="Only these layers.")]
Tags = Annotated[list[str] | None, Field(description="Only with at least one of these tags.")]
Session = Annotated[list[str] | str | None, Field(description="Only from these conversations.")]
MinRelevance = Annotated[
    float, Field(ge=0, le=1, description="Find nothing if no memory is this relevant; 0 for all.")
]
Shared = Annotated[bool, Field(description="Search the facts that all tenants share, too.")]


class SaidMessage(BaseModel):
    """A message of a conversation."""

    role: Literal["user", "assistant"]
    content: str
    at: str | None = Field(None, description="When it was said, in ISO 8601. Default: now.")
    id: str | None = Field(None, description="Its id: a known one is skipped.")


class Tools:
    """What an agent can call. Nothing stays open between two calls."""

    def __init__(self, memory: AgentMemory, writer_of: Callable[[], Writer]) -> None:
        """writer_of: creates the writer of a reading."""
        self._memory = memory
        self._writer_of = writer_of

    def recall(
        self,
        query: Query,
        limit: Annotated[int, Field(ge=1, le=100, description="Maximum hits.")] = 10,
        kind: Kinds = None,
        layer: Layers = None,
        tags: Tags = None,
        session: Session = None,
        since: Day = None,
        until: Day = None,
        as_of: Day = None,
        min_relevance: MinRelevance = MIN_RELEVANCE,
        shared: Shared = True,
    ) -> dict[str, Any]:
        """Find the memories that answer a question, best first.

        since, until: when it was observed. as_of: the memories as they were at that time. A hit
        with later has an outdated value; later is the id of the memory that replaces it, and newer
        has its text. contradicts: a later memory with another value; which is right is undecided.
        words_only: why only words were searched, if embedding failed.
        """
        hits = self._memory.recall(
            query,
            limit,
            kind=kind,
            layer=layer,
            tags=tags or (),
            session=session,
            since=since,
            until=until,
            as_of=as_of,
            min_relevance=min_relevance,
            shared=shared,
        )
        return {"hits": list(map(hit_as_json, hits)), "words_only": hits.words_only}

    def memory_block(
        self,
        query: Query,
        budget: Annotated[int, Field(ge=1, description="Maximum tokens of the block.")] = 4_500,
        kind: Kinds = None,
        layer: Layers = None,
        tags: Tags = None,
        session: Session = None,
        since: Day = None,
        until: Day = None,
        as_of: Day = None,
        min_relevance: MinRelevance = MIN_RELEVANCE,
        shared: Shared = True,
    ) -> dict[str, Any]:
        """Compose one block of context for a prompt: core memories, and those that fit a question.

        The arguments are those of recall. Memories that try to command their reader are omitted;
        left_out has their ids.
        """
        block = self._memory.block(
            query,
            budget,
            kind=kind,
            layer=layer,
            tags=tags or (),
            session=session,
            since=since,
            until=until,
            as_of=as_of,
            min_relevance=min_relevance,
            shared=shared,
        )
        return {
            "text": block.text,
            "tokens": block.tokens,
            "left_out": list(block.suspicious),
            "words_only": block.words_only,
        }

    def trace(self, memory_id: MemoryId) -> dict[str, Any]:
        """Show which memories a memory was derived from, and which were derived from it."""
        traced = self._memory.trace(memory_id)
        related = [
            memory
            for lineage in (traced.sources, traced.derived)
            for step in lineage.steps.values()
            for memory in step
        ]
        texts = {memory.id: memory.content for memory in (traced.memory, *related)}
        return trace_as_json(traced) | {"tries_to_command": suspicious(texts)}

    def memory_stats(self) -> dict[str, Any]:
        """Count memories and tokens, by status and layer, and show the last run."""
        stats = self._memory.stats()
        return {
            "active": asdict(stats.active),
            "by_status": stats.by_status,
            "last_run": None if stats.last is None else shown_run(*stats.last),
        }

    def remember(
        self,
        text: Annotated[str, Field(min_length=1, description="One fact, preference or lesson.")],
        kind: Annotated[Kind, Field(description="The kind of memory.")] = "fact",
        tags: Annotated[list[str] | None, Field(description="Words to find it by.")] = None,
        session: Annotated[str | None, Field(description="The conversation it comes from.")] = None,
        source: Annotated[str | None, Field(description="The source, such as a file.")] = None,
        importance: Annotated[int, Field(ge=1, le=5, description="5: must not be forgotten.")] = 3,
        observed_at: Annotated[
            str | None,
            Field(description="When it was observed, in ISO 8601 with an offset. Default: now."),
        ] = None,
    ) -> dict[str, Any]:
        """Store one memory, and return its id.

        similar: the active memories that it repeats or contradicts, judged by their words. If
        one of them is outdated or wrong, call correct; the next run merges duplicates. secrets: the
        kinds of secret (a password, a key) that it seems to contain; it is stored unchanged.
        """
        fields = {"session": session, "source": source, "observed_at": observed_at}
        near = self._memory.similar(text)
        memory_id = self._memory.add(
            text, kind=kind, tags=tags or [], importance=importance, **fields
        )
        similar = [similar_as_json(match) | mark(match.memory.content) for match in near]
        secrets = kinds_of_secrets(text)
        answer = {"id": memory_id, "similar": similar} | mark(text)
        return answer | ({"secrets": list(secrets)} if secrets else {})

    def ingest(
        self,
        messages: Annotated[
            list[SaidMessage], Field(description="The next messages, or all so far, oldest first.")
        ],
        conversation: Annotated[
            str, Field(min_length=1, description="Its id, the same in each call.")
        ],
        every: Annotated[
            int,
            Field(
                ge=1, description="Read the conversation after this many user and assistant turns."
            ),
        ] = EVERY,
        read_now: Annotated[
            bool,
            Field(
                description=(
                    "Read all unread messages now; use it at the end of the conversation or after "
                    "a completed action."
                )
            ),
        ] = False,
    ) -> dict[str, Any]:
        """Store messages of a conversation at once, and extract memories from it from time to time.

        No message is read twice, and those that the conversation already ends with are skipped.
        read: the memories that were stored, or known already, with the messages that they come
        from; null if it was not read now. If the server has no model, the messages are queued:
        consolidation_questions asks you about what was read_now, or is due.
        """
        talk = self._memory.conversation(conversation, every, writer_of=self._writer_of)
        passed = [message.model_dump(exclude_none=True) for message in messages]
        stored = talk.keep(passed, can_repeat=True)
        outcome = None
        if read_now or talk.is_due(stored):
            outcome = talk.read(PROGRESS.get())
        remembered = [] if outcome is None else outcome.remembered
        texts = {result.memory or "": result.content for result in remembered}
        return {
            "conversation": conversation_as_json(stored.cut),
            "unread_turns": stored.turns,
            "read": None if outcome is None else as_json(outcome, self._writer_of()),
            "tries_to_command": suspicious(texts),
        }

    def correct(
        self,
        memory_id: MemoryId,
        text: Annotated[str, Field(min_length=1, description="What is right, as one memory.")],
        supersedes: Annotated[
            list[str] | None, Field(description="The ids of more memories that it replaces.")
        ] = None,
    ) -> dict[str, Any]:
        """Supersede a wrong or outdated memory by a new one. undo reverts the run.

        left: the superseded memories, copies of them included. derived: the active memories that
        were derived from them; correct these too if they repeat what was wrong. secrets: the kinds
        of secret in the text, which is stored unchanged. Memories that are human, pinned or core
        are refused: ask the user.
        """
        correction = self._memory.correct(memory_id, text, supersedes=supersedes or ())
        return correction_as_json(correction) | mark(text)

    def pin(self, memory_id: MemoryId) -> dict[str, Any]:
        """Pin a memory, so that no run supersedes or archives it. undo reverts the run."""
        return correction_as_json(self._memory.pin(memory_id))

    def retract(self, memory_id: MemoryId) -> dict[str, Any]:
        """Archive a memory that is wrong, and that nothing replaces. undo reverts the run.

        left: the memory, and copies of it. derived: the active memories that were derived from it.
        Memories that are human, pinned or core are refused: ask the user.
        """
        return correction_as_json(self._memory.retract(memory_id))

    def feedback(
        self,
        memory_id: MemoryId,
        helpful: Annotated[bool, Field(description="true if it helped, false if it misled.")],
    ) -> dict[str, Any]:
        """Report that a memory helped (trust +0.05) or misled (trust -0.10).

        For a memory that misled, made_from_it lists the memories derived from it: check them too. A
        derived memory whose trust falls below 0.2 is undone.
        """
        return feedback_as_json(self._memory.feedback(memory_id, helpful))

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
