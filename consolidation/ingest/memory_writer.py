"""Write the memories of a part to the file, or decide what would be written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from slowwave.consolidation.facts.reading import read
from slowwave.consolidation.snapshot.entities import names_in
from slowwave.store.file import MemoryFile
from slowwave.store.intake import (
    KeptMessage,
    WaitingPart,
    close_part,
    close_parts_read_elsewhere,
    keep_messages_of,
    mark_as_read,
    queue_part,
    read_messages_of,
)
from slowwave.store.jsonl import DEFAULTS
from slowwave.store.ledger import Decision, keep_decision
from slowwave.store.memories import read_memories
from slowwave.store.proposal_changes import ProposalChanges
from slowwave.store.records import UNDATED, Memory, content_hash, json_text, new_id, timestamp
from slowwave.store.vectors import to_blob

from .candidates import Candidate, Citation, PartRead, latest_moment, with_day
from .ingest_outcome import IngestResult
from .known import KnownMemories
from .parts import Part
from .waiting_parts import as_waiting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The tag of unreadable answers.
RAW_TAG = "synth-raw"
_MAX_IMPORTANCE = 5


@dataclass(frozen=True)
class _Change:
    """The change for one candidate."""

    result: IngestResult
    # The new memory, or the changed existing one.
    memory: Memory
    vector: NDArray[np.float32] | None
    # The changed columns of an existing memory.
    columns: dict[str, Any] | None = None


class MemoryWriter:
    """Decides which candidates become memories, and writes them."""

    def __init__(
        self,
        known: KnownMemories,
        tenant: str,
        embedding_model: str,
        model: str | None,
        now: datetime,
    ) -> None:
        """Take the known memories, the tenant, and the models."""
        self._known = known
        self._tenant = tenant
        self._embedding_model = embedding_model
        self._model = model
        self._now = now

    def decide(self, file: MemoryFile, read: PartRead) -> list[IngestResult]:
        """Return the results to expect; new memories are known from then on."""
        changes = [
            self._decide(file, candidate, read.part, is_written=False)
            for candidate in read.candidates
        ]
        return [*(change.result for change in changes), *self._without_memory(read)]

    def write(self, file: MemoryFile, run_id: str, read: PartRead) -> list[IngestResult]:
        """Write all results of a part in the caller's transaction, and return them."""
        found: list[IngestResult] = []
        for candidate in read.candidates:
            change = self._decide(file, candidate, read.part, is_written=True)
            found.append(self._apply(file, run_id, change))
        for result in self._without_memory(read):
            found.append(
                self._write_raw(file, run_id, read, result) if result.state == "raw" else result
            )
        mark_as_read(file, run_id, self._tenant, read.part.chains)
        if read.part.waiting is not None:
            close_part(file, run_id, read.part.waiting)
        close_parts_read_elsewhere(file, run_id, self._tenant)
        written = [
            replace(result, proposal=self._key(result.content, result.messages, result.state))
            for result in found
        ]
        for result in written:
            keep_decision(file, self._decision(run_id, result))
        return written

    def keep_unread(self, file: MemoryFile, run_id: str, read: PartRead) -> None:
        """Keep an unread part in the caller's transaction."""
        part = read.part
        waiting = WaitingPart(
            part.waiting_id,
            self._tenant,
            part.conversation,
            as_waiting(part),
            read.why or "",
            timestamp(self._now),
        )
        queue_part(file, run_id, waiting)

    def _decide(
        self, file: MemoryFile, candidate: Candidate, part: Part, is_written: bool
    ) -> _Change:
        """Decide about a candidate. is_written: whether earlier memories of the run are stored."""
        memory = self._new_memory(candidate, part)
        relation = self._known.relation_of(memory)
        messages = tuple(candidate.messages(part, self._model))
        known = _reread(file, relation.covered_by) if is_written else relation.covered_by
        if known is not None:
            behind = read_messages_of(file, [known.id]).get(known.id, [])
            is_new = not {message.chain for message in messages} <= {
                message.chain for message in behind
            }
            return self._reinforce(memory, known, messages, part, is_new)
        if relation.corrects:
            metadata = memory.metadata | {"corrects": list(relation.corrects)}
            memory = replace(memory, metadata=metadata)
        self._known.add(memory, relation.vector)
        result = _remembered("stored", memory, part, messages, corrects=relation.corrects)
        return _Change(result, memory, relation.vector)

    def _reinforce(
        self,
        memory: Memory,
        known: Memory,
        messages: tuple[KeptMessage, ...],
        part: Part,
        is_new: bool,
    ) -> _Change:
        """Raise the importance and expiry of a memory that says the same already.

        is_new: whether a message says so that is not a source of it; else nothing changes.
        """
        why = f"memory {known.id} says it already"
        columns: dict[str, Any] = {}
        if is_new:
            ends = known.expires_at, memory.expires_at
            end = None if None in ends else max(end for end in ends if end is not None)
            wanted = {"importance": min(_MAX_IMPORTANCE, known.importance + 1), "expires_at": end}
            columns = {name: to for name, to in wanted.items() if getattr(known, name) != to}
        changed = replace(known, **columns)
        if columns:
            columns["updated_at"] = timestamp(self._now)
        self._known.change(changed)
        result = _remembered("told", changed, part, messages, why=why)
        return _Change(replace(result, content=memory.content), changed, None, columns)

    def _apply(self, file: MemoryFile, run_id: str, change: _Change) -> IngestResult:
        result, memory = change.result, change.memory
        key = self._key(result.content, result.messages, result.state)
        changes = ProposalChanges(file, run_id, key, timestamp(self._now))
        if change.vector is None:
            changes.update_memory(memory.id, change.columns or {})
        else:
            blob = to_blob(change.vector)
            names = names_in(memory.content)
            changes.insert_memory(memory, self._embedding_model, blob, names)
        keep_messages_of(file, run_id, key, memory.id, result.messages)
        return result

    def _write_raw(
        self, file: MemoryFile, run_id: str, read: PartRead, result: IngestResult
    ) -> IngestResult:
        """Store an unreadable answer, archived, so that no agent recalls it."""
        citations = tuple(Citation(message, ()) for message in read.part.new)
        candidate = Candidate(result.content, "context", 1, (RAW_TAG,), citations)
        memory = replace(
            self._new_memory(candidate, read.part),
            content=result.content,
            content_hash=content_hash(result.content),
            status="archived",
            expires_at=None,
        )
        key = self._key(result.content, result.messages, result.state)
        changes = ProposalChanges(file, run_id, key, timestamp(self._now))
        changes.add_memory(memory)
        keep_messages_of(file, run_id, key, memory.id, result.messages)
        return replace(result, memory=memory.id)

    def _without_memory(self, read: PartRead) -> Iterator[IngestResult]:
        """Yield rejected texts and the unreadable answer."""
        name = read.part.conversation
        for text in read.turned_down:
            yield IngestResult("rejected", text.content, name, why=text.why)
        if read.raw is not None:
            candidate = Candidate(
                "", "", 1, (), tuple(Citation(message, ()) for message in read.part.new)
            )
            messages = tuple(candidate.messages(read.part, self._model))
            yield IngestResult(
                "raw", read.raw, name, tags=(RAW_TAG,), why=read.why, messages=messages
            )

    def _new_memory(self, candidate: Candidate, part: Part) -> Memory:
        options, now = part.options, timestamp(self._now)
        said_at = latest_moment(candidate.citations)
        content = with_day(candidate.content, said_at)
        days = options.days.get(candidate.kind)
        expires_at = None if days is None else timestamp(self._now + timedelta(days=days))
        return Memory(
            id=new_id(),
            tenant=self._tenant,
            content=content,
            kind=candidate.kind,
            layer="working",
            status="active",
            origin="agent",
            trust=DEFAULTS["trust"],
            importance=candidate.importance,
            pinned=False,
            generation=0,
            source=options.source or part.format,
            session=part.session or part.conversation,
            tags=candidate.tags,
            metadata={"subject": candidate.subject} if candidate.subject else {},
            content_hash=content_hash(content),
            access_count=0,
            observed_at=said_at or _default_moment(content, now),
            created_at=now,
            updated_at=now,
            accessed_at=None,
            expires_at=expires_at,
            superseded_by=None,
            superseded_at=None,
        )

    def _key(self, content: str, messages: Sequence[KeptMessage], state: str) -> str:
        """Return the key of a decision in the ledger."""
        parts = ["ingest", self._tenant, state, content, [message.chain for message in messages]]
        return hashlib.sha256(json_text(parts).encode()).hexdigest()[:32]

    def _decision(self, run_id: str, result: IngestResult) -> Decision:
        is_known = result.state == "told"
        places = ", ".join(str(message.place) for message in result.messages)
        where = f"said in {result.conversation}" + (f", message {places}" if places else "")
        return Decision(
            run_id=run_id,
            key=result.proposal or "",
            operation="ingest",
            tenant=self._tenant,
            sources=(result.memory,) if is_known and result.memory else (),
            survivor=result.memory if is_known else None,
            derived=None if is_known else result.memory,
            state="rejected" if result.state == "rejected" else "applied",
            draft=result.content,
            reason=f"{where}: a memory says it already" if is_known else where,
            why=result.why,
            numbers={"corrects": list(result.corrects)} if result.corrects else {},
            decided_at=timestamp(self._now),
        )


def _default_moment(content: str, now: str) -> str:
    """Return `observed_at` of a text without a time: undated if it depends on the day."""
    return UNDATED if read(content).deictic else now


def _reread(file: MemoryFile, memory: Memory | None) -> Memory | None:
    """Return a memory as it is in the file; None if its text or status changed."""
    if memory is None:
        return None
    now = next(iter(read_memories(file, [memory.id])), None)
    same = now is not None and (now.content, now.status) == (memory.content, "active")
    return now if same else None


def _remembered(
    state: Any,
    memory: Memory,
    part: Part,
    messages: tuple[KeptMessage, ...],
    corrects: tuple[str, ...] = (),
    why: str | None = None,
) -> IngestResult:
    return IngestResult(
        state,
        memory.content,
        part.conversation,
        None,
        memory.id,
        memory.kind,
        memory.importance,
        memory.tags,
        memory.expires_at,
        corrects,
        why,
        messages,
    )
