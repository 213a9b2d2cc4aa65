"""Apply proposals: rows, lineage edges and journal, each proposal atomically."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from slowwave.consolidation.proposals import Proposal, Result, derived_trust, method_key
from slowwave.store.errors import RejectedChange
from slowwave.store.file import MemoryFile
from slowwave.store.kept_form import KEPT
from slowwave.store.ledger import Decision, record_decision
from slowwave.store.memories import read_memories
from slowwave.store.proposal_changes import ProposalChanges
from slowwave.store.records import (
    LAYERS,
    LINKED,
    MARKDOWN,
    ROW,
    SUBJECT,
    Memory,
    content_hash,
    json_text,
    timestamp,
    to_row,
)

from .kept_proposal import to_json
from .run_in_file import RunInFile

# The maximum number of sources per transaction. With a transaction per proposal the disk takes most
# of the time; with this many, other writers wait for about 20 ms.
_MAX_SOURCES = 32


def in_batches(results: Sequence[Result]) -> Iterator[list[Result]]:
    """Yield results in batches, each for a short transaction."""
    batch: list[Result] = []
    size = 0
    for result in results:
        sources = len(result.proposal.sources)
        size += sources
        if batch and size > _MAX_SOURCES:
            yield batch
            batch, size = [], sources
        batch.append(result)
    if batch:
        yield batch


def apply_proposal(file: MemoryFile, run: RunInFile, checked: Result) -> Result:
    """Apply a checked proposal in the caller's transaction.

    If a source changed since the plan was made, or if the database rejects a change, only the
    decision `stale` or `failed` is written.
    """
    proposal = checked.proposal
    sources = list(read_memories(file, proposal.sources))
    why = find_stale(checked, {memory.id: memory for memory in sources})
    if why is not None:
        result = replace(checked, state="stale", why=why)
    else:
        changes = ProposalChanges(file, run.id, proposal.id, timestamp(run.now))
        try:
            with file.savepoint():
                derived = _write(changes, run, checked, sources)
            result = replace(checked, state="applied", derived=derived)
        except RejectedChange as error:
            result = replace(checked, state="failed", why=error.message)
    record(file, run, result)
    return result


def record(file: MemoryFile, run: RunInFile, result: Result) -> None:
    """Record a proposal's result in the ledger, in the caller's transaction.

    A pending one is kept whole.
    """
    proposal = result.proposal
    numbers: dict[str, Any] = {
        "min_similarity": proposal.min_similarity,
        "mean_similarity": proposal.mean_similarity,
    }
    if proposal.left_out:
        numbers["left_out"] = [asdict(omitted) for omitted in proposal.left_out]
    if result.state == "pending":
        numbers[KEPT] = to_json(result)
    record_decision(
        file,
        Decision(
            run_id=run.id,
            key=proposal.id,
            operation=proposal.operation,
            tenant=proposal.tenant,
            sources=proposal.sources,
            survivor=proposal.survivor,
            derived=result.derived,
            state=result.state,
            draft=proposal.draft.text,
            reason=proposal.reason,
            why=result.why,
            numbers=numbers,
            decided_at=timestamp(run.now),
        ),
    )


def find_stale(result: Result, memories: Mapping[str, Memory]) -> str | None:
    """Return why a proposal is damaged or stale; None if its sources are unchanged.

    memories: at least those of its sources that exist, by id.
    """
    if result.fault is not None:
        return result.fault
    proposal = result.proposal
    leaving = [memories[memory_id] for memory_id in proposal.leaving if memory_id in memories]
    linked = [memory.id for memory in leaving if memory.is_linked]
    # A new text takes its place.
    replaced = linked if proposal.survivor is None and len(linked) == 1 else []
    for memory_id, planned in zip(proposal.sources, proposal.source_hashes, strict=True):
        memory = memories.get(memory_id)
        if memory is None:
            change = "was deleted"
        elif content_hash(memory.content) != planned:
            change = "was changed"
        elif memory.status != "active":
            change = f"has been {memory.status}"
        elif memory.tenant != proposal.tenant:
            change = "moved to another tenant"
        elif (
            memory_id in proposal.leaving
            and memory.is_protected
            and memory_id not in replaced
            and not proposal.include_protected
        ):
            change = "became protected"
        else:
            continue
        return f"memory {memory_id} {change} since the plan was made"
    return None


def _write(
    changes: ProposalChanges, run: RunInFile, result: Result, sources: Sequence[Memory]
) -> str | None:
    """Write the rows of a proposal; return the id of the new memory, if one was inserted.

    A merge supersedes duplicates by a survivor. A rule gets more support, and a derived memory may
    get a longer text; either keeps its id.
    """
    proposal = result.proposal
    survivor = next((memory for memory in sources if memory.id == proposal.survivor), None)
    added = [memory for memory in sources if memory is not survivor]
    leaving = [memory for memory in added if memory.id in proposal.leaving]
    if survivor is None:
        successor = _build_memory(run, proposal, sources)
        changes.insert_memory(successor, *_vector_of(result))
    elif not proposal.keeps_text:
        successor, columns = survivor, _extended_columns(survivor, added, run.now)
        if proposal.by_person:
            columns["origin"] = "human"
        changes.rewrite_memory(survivor.id, proposal.draft.text, columns, *_vector_of(result))
    elif proposal.operation == "extract":
        successor = survivor
        changes.update_memory(survivor.id, _extended_columns(survivor, added, run.now))
    else:
        successor, added = survivor, leaving
        changes.update_memory(survivor.id, _survivor_columns(survivor, leaving, run.now))
    changes.add_lineage(successor.id, added, proposal.operation)
    changes.supersede(leaving, successor.id)
    changes.add_derivation(successor.id, _derivation(result))
    return successor.id if survivor is None else None


def _vector_of(result: Result) -> tuple[str, bytes]:
    if result.vector is None:
        raise ValueError(f"a {result.proposal.operation} without a vector cannot be applied")
    return result.vector


def _build_memory(run: RunInFile, proposal: Proposal, sources: Sequence[Memory]) -> Memory:
    kinds = Counter(memory.kind for memory in sources)
    kind = min(kinds, key=lambda name: (-kinds[name], name))
    if proposal.operation == "extract" and kind != "preference":
        kind = "instruction"
    now, columns, marks = timestamp(run.now), joined_columns(sources), _marks_of(proposal, sources)
    return Memory(
        id=_derived_id(run, proposal),
        tenant=proposal.tenant,
        content=proposal.draft.text,
        kind=kind,
        layer="core" if proposal.operation == "extract" else "stable",
        status="active",
        origin="human" if proposal.by_person else "consolidation",
        trust=derived_trust(memory.trust for memory in sources),
        importance=columns["importance"],
        pinned=LINKED in marks,
        generation=1 + max(memory.generation for memory in sources),
        source=None,
        session=None,
        tags=columns["tags"],
        metadata={"sessions": all_sessions(sources)} | marks,
        content_hash=content_hash(proposal.draft.text),
        access_count=0,
        observed_at=columns["observed_at"],
        created_at=now,
        updated_at=now,
        accessed_at=None,
        expires_at=columns["expires_at"],
        superseded_by=None,
        superseded_at=None,
    )


def _marks_of(proposal: Proposal, sources: Sequence[Memory]) -> dict[str, Any]:
    """Return what another agent's file has of a text: its form, links to it, whose it is."""
    forms = [memory.metadata.get("form") for memory in sources]
    subjects = {memory.subject for memory in sources}
    marks = {
        "form": next((form for form in (MARKDOWN, ROW) if form in forms), None),
        LINKED: any(memory.is_linked for memory in sources if memory.id in proposal.leaving),
        SUBJECT: next(iter(subjects)) if len(subjects) == 1 else "",
    }
    return {name: value for name, value in marks.items() if value}


def _derived_id(run: RunInFile, proposal: Proposal) -> str:
    """Return a UUIDv7 whose random part is a hash of run and proposal, so it is reproducible."""
    from uuid6 import UUID

    milliseconds = int(run.now.timestamp() * 1000)
    seed = hashlib.sha256(f"{run.id} {proposal.id}".encode()).digest()[:10]
    return str(UUID(int=(milliseconds << 80) | int.from_bytes(seed, "big"), version=7))


def _extended_columns(derived: Memory, added: Sequence[Memory], now: datetime) -> dict[str, Any]:
    """Return the new columns, except the text, of a derived memory that takes in `added`.

    Its trust does not change: repetition does not make it more certain.
    """
    memories = [derived, *added]
    columns = joined_columns(memories) | {
        "metadata": json_text(derived.metadata | {"sessions": all_sessions(memories)}),
        "updated_at": timestamp(now),
    }
    return columns | {"tags": json_text(columns["tags"])}


def _survivor_columns(
    survivor: Memory, replaced: Sequence[Memory], now: datetime
) -> dict[str, Any]:
    """Return the changed columns of a survivor that takes over from `replaced`."""
    memories = [survivor, *replaced]
    columns, sessions = joined_columns(memories), all_sessions(memories)
    added = {} if sessions == all_sessions([survivor]) else {"sessions": sessions}
    columns |= {
        "observed_at": survivor.observed_at,
        "tags": json_text(columns["tags"]),
        "metadata": json_text(survivor.metadata | added),
        "access_count": sum(memory.access_count for memory in memories),
        "layer": max((memory.layer for memory in memories), key=LAYERS.index),
        "pinned": int(any(memory.pinned for memory in memories)),
    }
    row = to_row(survivor)
    changed = {name: value for name, value in columns.items() if row[name] != value}
    return changed | {"updated_at": timestamp(now)} if changed else {}


def joined_columns(memories: Sequence[Memory]) -> dict[str, Any]:
    """Return the columns that the successor of memories takes from all of them."""
    ends = [memory.expires_at for memory in memories]
    return {
        "tags": tuple(dict.fromkeys(tag for memory in memories for tag in memory.tags)),
        "importance": max(memory.importance for memory in memories),
        "observed_at": max(memory.observed_at for memory in memories),
        # None if one never expires, so that no fact expires early.
        "expires_at": None if None in ends else max(end for end in ends if end is not None),
    }


def all_sessions(memories: Sequence[Memory]) -> list[str]:
    """Return the sessions that memories come from, directly or by what they absorbed."""
    sessions = {memory.session for memory in memories if memory.session}
    for memory in memories:
        earlier = memory.metadata.get("sessions")
        sessions.update(earlier if isinstance(earlier, list) else ())
    return sorted(sessions)


def _derivation(result: Result) -> dict[str, Any]:
    """Return the provenance of a proposal's text: writer, inputs and cost."""
    proposal = result.proposal
    by_model = result.model_key if proposal.by_model else None
    written = "model" if proposal.by_model else "extractive"
    return {
        "operation": proposal.operation,
        "writer": "human" if proposal.by_person else written,
        "model": result.model if proposal.by_model else None,
        "prompt_hash": by_model or method_key(proposal.operation),
        "inputs_hash": content_hash(json_text(sorted(proposal.source_hashes))),
        "claims": json_text([asdict(claim) for claim in proposal.draft.claims]),
        "prompt_tokens": result.usage.prompt_tokens,
        "completion_tokens": result.usage.completion_tokens,
        "cost_usd": result.usage.cost_usd,
    }
