"""Decide which candidates of a part become memories, and write them to the file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from slowwave.store.exchange import new_memory
from slowwave.store.file import MemoryFile
from slowwave.store.intake import (
    KeptMessage,
    PartRow,
    close_part,
    close_parts_read_elsewhere,
    mark_as_read,
    queue_part,
    read_messages_of,
    store_messages_of,
)
from slowwave.store.ledger import Decision, record_decision
from slowwave.store.memories import read_memories
from slowwave.store.proposal_changes import ProposalChanges
from slowwave.store.records import Memory, json_text, next_moment, timestamp
from slowwave.store.vectors import to_blob

from .candidates import Candidate, CitedMessage, PartReading, latest_moment, messages_behind
from .ingest_outcome import IngestResult
from .known import KnownMemories
from .parts import Part
from .queued_parts import as_queued

# The tag of unreadable answers.
RAW_TAG = "synth-raw"
_MAX_IMPORTANCE = 5


@dataclass(frozen=True)
class PartStore:
    """Decides which candidates become memories, and writes them in the caller's transactions."""

    known_memories: KnownMemories
    tenant: str
    embedding_model: str
    # The model that reads; None without one.
    model: str | None
    now: datetime

    def write(
        self, file: MemoryFile, reading: PartReading, run_id: str | None
    ) -> list[IngestResult]:
        """Return the results of a part, and write them; new memories are known from then on.

        An unread part is queued for a model. run_id: None in a dry run, which writes nothing.
        """
        part = reading.part
        if reading.state != "read":
            if run_id is not None:
                self._queue(file, run_id, part, reading.why or "")
            return []
        accepted = [candidate for candidate in reading.candidates if candidate.why is None]
        results = [self._remember(file, candidate, part, run_id) for candidate in accepted]
        results += [
            IngestResult("rejected", candidate.content, part.conversation, why=candidate.why)
            for candidate in reading.candidates
            if candidate.why is not None
        ]
        if reading.raw is not None:
            results.append(self._keep_raw(file, part, reading.raw, reading.why, run_id))
        if run_id is None:
            return results
        mark_as_read(file, run_id, self.tenant, part.chains)
        # Any other queued part may have grown since it was read, and is closed if it has not.
        if part.queued_id is not None and part.options.again:
            close_part(file, run_id, part.queued_id)
        close_parts_read_elsewhere(file, run_id, self.tenant)
        written = [replace(result, proposal=self._key(result)) for result in results]
        for result in written:
            record_decision(file, self._decision(run_id, result))
        return written

    def _queue(self, file: MemoryFile, run_id: str, part: Part, why: str) -> None:
        queued_at = timestamp(self.now)
        row = PartRow(
            part.row_id, self.tenant, part.conversation, as_queued(part), why, queued_at=queued_at
        )
        queue_part(file, run_id, row)

    def _remember(
        self, file: MemoryFile, candidate: Candidate, part: Part, run_id: str | None
    ) -> IngestResult:
        """Store a candidate as a new memory, or reinforce the one that says it already."""
        said_at = latest_moment(candidate.cited)
        memory = self._new_memory(candidate, part)
        relation = self.known_memories.relation_of(memory)
        restated = relation.covered_by
        if restated is not None and run_id is not None:
            # Read it from the file again: its text or status may have changed.
            now = next(iter(read_memories(file, [restated.id])), None)
            is_same = now is not None and (now.content, now.status) == (restated.content, "active")
            restated = now if is_same else None
        messages = messages_behind(candidate.cited, part.conversation, self.model)
        if restated is not None:
            return self._reinforce(file, memory, restated, messages, part, run_id)
        corrects = tuple(rival.id for rival in relation.corrects)
        if corrects:
            memory = replace(memory, metadata=memory.metadata | {"corrects": list(corrects)})
            latest = max(rival.observed_at for rival in relation.corrects)
            if said_at is None and memory.observed_at <= latest:
                # Without times, the order of ingestion decides.
                memory = replace(memory, observed_at=next_moment(latest))
        self.known_memories.add(memory, relation.vector)
        result = replace(_result("stored", memory, part, messages), corrects=corrects)
        if run_id is not None:
            changes = self._changes(file, run_id, result)
            changes.insert_memory(memory, self.embedding_model, to_blob(relation.vector))
            store_messages_of(file, run_id, changes.proposal, memory.id, messages)
        return result

    def _reinforce(
        self,
        file: MemoryFile,
        memory: Memory,
        restated: Memory,
        messages: tuple[KeptMessage, ...],
        part: Part,
        run_id: str | None,
    ) -> IngestResult:
        """Raise the importance and expiry of a memory that says the same already.

        Nothing changes if all messages are sources of it already.
        """
        behind = read_messages_of(file, [restated.id]).get(restated.id, [])
        chains = {message.chain for message in behind}
        columns: dict[str, Any] = {}
        if not chains.issuperset(message.chain for message in messages):
            ends = restated.expires_at, memory.expires_at
            end = None if None in ends else max(end for end in ends if end is not None)
            raised = {
                "importance": min(_MAX_IMPORTANCE, restated.importance + 1),
                "expires_at": end,
            }
            columns = {name: to for name, to in raised.items() if getattr(restated, name) != to}
        changed = replace(restated, **columns)
        self.known_memories.change(changed)
        result = replace(
            _result("told", changed, part, messages),
            content=memory.content,
            why=f"memory {restated.id} already contains it",
        )
        if run_id is not None:
            changes = self._changes(file, run_id, result)
            updated = {"updated_at": changes.now} if columns else {}
            changes.update_memory(restated.id, columns | updated)
            store_messages_of(file, run_id, changes.proposal, restated.id, messages)
        return result

    def _keep_raw(
        self, file: MemoryFile, part: Part, answer: str, why: str | None, run_id: str | None
    ) -> IngestResult:
        """Store an unreadable answer, archived, so that no agent recalls it."""
        cited = tuple(CitedMessage(**vars(message)) for message in part.new)
        messages = messages_behind(cited, part.conversation, self.model)
        tags = (RAW_TAG,)
        result = IngestResult(
            "raw", answer, part.conversation, tags=tags, why=why, messages=messages
        )
        if run_id is None:
            return result
        memory = self._new_memory(Candidate(answer, "context", 1, tags, cited), part)
        memory = replace(memory, status="archived", expires_at=None)
        changes = self._changes(file, run_id, result)
        changes.add_memory(memory)
        store_messages_of(file, run_id, changes.proposal, memory.id, messages)
        return replace(result, memory=memory.id)

    def _assumed_moment(self, cited: Sequence[CitedMessage], part: Part) -> str:
        """Return the time of messages without one: of those near them, of their file, or now.

        Microseconds keep their order.
        """
        moment = latest_moment(part.messages) or part.saved_at or timestamp(self.now)
        last = max((message.place for message in cited), default=0)
        return timestamp(datetime.fromisoformat(moment) + timedelta(microseconds=last))

    def _new_memory(self, candidate: Candidate, part: Part) -> Memory:
        cited = candidate.cited
        days = part.options.days.get(candidate.kind)
        ends = None if days is None else timestamp(self.now + timedelta(days=days))
        fields = {
            "tenant": self.tenant,
            "content": candidate.content,
            "kind": candidate.kind,
            "importance": candidate.importance,
            "source": part.options.source or part.format,
            "session": part.session or part.conversation,
            "tags": candidate.tags,
            "metadata": {"subject": candidate.subject} if candidate.subject else {},
            "observed_at": latest_moment(cited) or self._assumed_moment(cited, part),
            "expires_at": ends,
        }
        return new_memory(fields, self.now)

    def _changes(self, file: MemoryFile, run_id: str, result: IngestResult) -> ProposalChanges:
        return ProposalChanges(file, run_id, self._key(result), timestamp(self.now))

    def _key(self, result: IngestResult) -> str:
        chains = [message.chain for message in result.messages]
        identity = json_text(["ingest", self.tenant, result.state, result.content, chains])
        return hashlib.sha256(identity.encode()).hexdigest()[:32]

    def _decision(self, run_id: str, result: IngestResult) -> Decision:
        is_known = result.state == "told"
        places = ", ".join(str(message.place) for message in result.messages)
        where = f"said in {result.conversation}" + (f", message {places}" if places else "")
        return Decision(
            run_id=run_id,
            key=result.proposal or "",
            operation="ingest",
            tenant=self.tenant,
            sources=(result.memory,) if is_known and result.memory else (),
            survivor=result.memory if is_known else None,
            derived=None if is_known else result.memory,
            state="rejected" if result.state == "rejected" else "applied",
            draft=result.content,
            reason=f"{where}: a memory already contains it" if is_known else where,
            why=result.why,
            numbers={"corrects": list(result.corrects)} if result.corrects else {},
            decided_at=timestamp(self.now),
        )


def _result(
    state: Literal["stored", "told"], memory: Memory, part: Part, messages: tuple[KeptMessage, ...]
) -> IngestResult:
    return IngestResult(
        state,
        memory.content,
        part.conversation,
        memory=memory.id,
        kind=memory.kind,
        importance=memory.importance,
        tags=memory.tags,
        expires_at=memory.expires_at,
        messages=messages,
    )
