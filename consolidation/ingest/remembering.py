"""What was read of one part, written to the file or only reported: memories, and what waits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from slowwave.consolidation.snapshot.entities import names_in
from slowwave.consolidation.text.reading import read
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
from .ingest_outcome import Remembered
from .known import KnownMemories
from .parts import Part
from .waiting_parts import as_waiting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Marks what a model answered and nobody can read.
RAW_TAG = "synth-raw"
_HIGHEST = 5


@dataclass(frozen=True)
class _Move:
    """What is to be done with one text."""

    outcome: Remembered
    # The new memory, or the one that says it already as it is to be.
    memory: Memory
    vector: NDArray[np.float32] | None
    # What changes of a memory that is there already.
    columns: dict[str, Any] | None = None


class Remembering:
    """Decides what becomes of what was read, and writes it."""

    def __init__(
        self,
        known: KnownMemories,
        tenant: str,
        embedding_model: str,
        model: str | None,
        now: datetime,
    ) -> None:
        """Take what is remembered already, by which tenant, and who read."""
        self._known = known
        self._tenant = tenant
        self._embedding_model = embedding_model
        self._model = model
        self._now = now

    def decide(self, file: MemoryFile, read: PartRead) -> list[Remembered]:
        """Return what would become of what was read; what is new counts as known from now on."""
        moves = [self._move(file, one, read.part, is_written=False) for one in read.candidates]
        return [*(one.outcome for one in moves), *self._others(read)]

    def write(self, file: MemoryFile, run_id: str, read: PartRead) -> list[Remembered]:
        """Write what was read, within the transaction of the caller, and return what became of it.

        All of it or nothing: a part of which a memory is there was read.
        """
        found: list[Remembered] = []
        for candidate in read.candidates:
            move = self._move(file, candidate, read.part, is_written=True)
            found.append(self._carry_out(file, run_id, move))
        for one in self._others(read):
            found.append(self._write_raw(file, run_id, read, one) if one.state == "raw" else one)
        mark_as_read(file, run_id, self._tenant, read.part.chains)
        if read.part.waiting is not None:
            close_part(file, run_id, read.part.waiting)
        close_parts_read_elsewhere(file, run_id, self._tenant)
        written = [
            replace(one, proposal=self._key(one.content, one.messages, one.state)) for one in found
        ]
        for one in written:
            keep_decision(file, self._decision(run_id, one))
        return written

    def let_wait(self, file: MemoryFile, run_id: str, read: PartRead) -> None:
        """Keep a part that no model has read, within the transaction of the caller."""
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

    def _move(self, file: MemoryFile, one: Candidate, part: Part, is_written: bool) -> _Move:
        """Decide what becomes of a candidate.

        is_written: whether what the run has stored by now stands in the file.
        """
        memory = self._new_memory(one, part)
        relation = self._known.relation_of(memory)
        messages = tuple(one.messages(part, self._model))
        known = _as_it_is(file, relation.covered_by) if is_written else relation.covered_by
        if known is not None:
            behind = read_messages_of(file, [known.id]).get(known.id, [])
            is_new = not {one.chain for one in messages} <= {one.chain for one in behind}
            return self._counted_again(memory, known, messages, part, is_new)
        if relation.corrects:
            metadata = memory.metadata | {"corrects": list(relation.corrects)}
            memory = replace(memory, metadata=metadata)
        self._known.add(memory, relation.vector)
        outcome = _remembered("stored", memory, part, messages, corrects=relation.corrects)
        return _Move(outcome, memory, relation.vector)

    def _counted_again(
        self,
        memory: Memory,
        known: Memory,
        messages: tuple[KeptMessage, ...],
        part: Part,
        is_new: bool,
    ) -> _Move:
        """Let a memory that says it already count for more, and last at least as long.

        is_new: whether messages say so that it was not taken from; else nothing changes.
        """
        why = f"memory {known.id} says it already"
        columns: dict[str, Any] = {}
        if is_new:
            ends = known.expires_at, memory.expires_at
            end = None if None in ends else max(one for one in ends if one is not None)
            wanted = {"importance": min(_HIGHEST, known.importance + 1), "expires_at": end}
            columns = {one: to for one, to in wanted.items() if getattr(known, one) != to}
        changed = replace(known, **columns)
        if columns:
            columns["updated_at"] = timestamp(self._now)
        self._known.change(changed)
        outcome = _remembered("told", changed, part, messages, why=why)
        return _Move(replace(outcome, content=memory.content), changed, None, columns)

    def _carry_out(self, file: MemoryFile, run_id: str, move: _Move) -> Remembered:
        outcome, memory = move.outcome, move.memory
        key = self._key(outcome.content, outcome.messages, outcome.state)
        changes = ProposalChanges(file, run_id, key, timestamp(self._now))
        if move.vector is None:
            changes.update_memory(memory.id, move.columns or {})
        else:
            blob = to_blob(move.vector)
            names = names_in(memory.content)
            changes.insert_memory(memory, self._embedding_model, blob, names)
        keep_messages_of(file, run_id, key, memory.id, outcome.messages)
        return outcome

    def _write_raw(
        self, file: MemoryFile, run_id: str, read: PartRead, one: Remembered
    ) -> Remembered:
        """Keep an answer that nobody can read, where no agent takes it for a memory."""
        citations = tuple(Citation(said, ()) for said in read.part.new)
        candidate = Candidate(one.content, "context", 1, (RAW_TAG,), citations)
        memory = replace(
            self._new_memory(candidate, read.part),
            content=one.content,
            content_hash=content_hash(one.content),
            status="archived",
            expires_at=None,
        )
        key = self._key(one.content, one.messages, one.state)
        changes = ProposalChanges(file, run_id, key, timestamp(self._now))
        changes.add_memory(memory)
        keep_messages_of(file, run_id, key, memory.id, one.messages)
        return replace(one, memory=memory.id)

    def _others(self, read: PartRead) -> Iterator[Remembered]:
        """Yield what was turned down, and what nobody can read."""
        name = read.part.conversation
        for one in read.turned_down:
            yield Remembered("rejected", one.content, name, why=one.why)
        if read.raw is not None:
            candidate = Candidate("", "", 1, (), tuple(Citation(one, ()) for one in read.part.new))
            messages = tuple(candidate.messages(read.part, self._model))
            yield Remembered(
                "raw", read.raw, name, tags=(RAW_TAG,), why=read.why, messages=messages
            )

    def _new_memory(self, one: Candidate, part: Part) -> Memory:
        options, now = part.options, timestamp(self._now)
        said_at = latest_moment(one.citations)
        content = with_day(one.content, said_at)
        days = options.days.get(one.kind)
        expires_at = None if days is None else timestamp(self._now + timedelta(days=days))
        return Memory(
            id=new_id(),
            tenant=self._tenant,
            content=content,
            kind=one.kind,
            layer="working",
            status="active",
            origin="agent",
            trust=DEFAULTS["trust"],
            importance=one.importance,
            pinned=False,
            generation=0,
            source=options.source or part.format,
            session=part.session or part.conversation,
            tags=one.tags,
            metadata={"subject": one.subject} if one.subject else {},
            content_hash=content_hash(content),
            access_count=0,
            observed_at=said_at or _moment_without_one(content, now),
            created_at=now,
            updated_at=now,
            accessed_at=None,
            expires_at=expires_at,
            superseded_by=None,
            superseded_at=None,
        )

    def _key(self, content: str, messages: Sequence[KeptMessage], state: str) -> str:
        """Return the key under which a decision on a text stands in the ledger."""
        parts = ["ingest", self._tenant, state, content, [one.chain for one in messages]]
        return hashlib.sha256(json_text(parts).encode()).hexdigest()[:32]

    def _decision(self, run_id: str, one: Remembered) -> Decision:
        is_known = one.state == "told"
        places = ", ".join(str(message.place) for message in one.messages)
        said = f"said in {one.conversation}" + (f", message {places}" if places else "")
        return Decision(
            run_id=run_id,
            key=one.proposal or "",
            operation="ingest",
            tenant=self._tenant,
            sources=(one.memory,) if is_known and one.memory else (),
            survivor=one.memory if is_known else None,
            derived=None if is_known else one.memory,
            state="rejected" if one.state == "rejected" else "applied",
            draft=one.content,
            reason=f"{said}: a memory says it already" if is_known else said,
            why=one.why,
            numbers={"corrects": list(one.corrects)} if one.corrects else {},
            decided_at=timestamp(self._now),
        )


def _moment_without_one(content: str, now: str) -> str:
    """Return when a text counts as said of which nobody knows that: of "yesterday" never."""
    return UNDATED if read(content).deictic else now


def _as_it_is(file: MemoryFile, memory: Memory | None) -> Memory | None:
    """Return a memory as it is in the file now; None if it does not say any more what it said."""
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
) -> Remembered:
    return Remembered(
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
