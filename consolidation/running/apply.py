"""Accepted drafts to rows, edges and journal: each proposal whole, or not at all."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from slowwave.consolidation.proposals import (
    Draft,
    Proposal,
    Result,
    Written,
    derived_trust,
)
from slowwave.store.entities import keep_entities, keep_scans, unite_entities
from slowwave.store.file import MemoryFile
from slowwave.store.journal import insert_row, insert_rows, update_row, update_rows, write_row
from slowwave.store.ledger import Decision, keep_decision
from slowwave.store.memories import read_memories
from slowwave.store.records import LAYERS, Memory, content_hash, json_text, timestamp, to_row
from slowwave.store.vectors import keep_vectors, to_blob

from .kept import KEPT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class RunContext:
    """What every row that a run writes must say about the run."""

    run_id: str
    now: datetime
    model: str | None
    # The hash of the model and of what it is told; None without one.
    model_key: str | None
    embedding_model: str


def apply_written(
    file: MemoryFile,
    run: RunContext,
    written: Written,
    vector: NDArray[np.float32] | None,
    entities: Mapping[str, Sequence[str]],
) -> Result:
    """Carry out one proposal in the transaction of the caller, if it still holds.

    vector: the draft's, float32, shape (d,), unit length; None where no text changes. `entities`
    gives the names that each source mentions. If a source is no longer what the plan was made
    from, the proposal is stale and nothing but that is written.
    """
    proposal = written.proposal
    sources = list(read_memories(file, proposal.sources))
    result = find_stale(proposal, sources)
    if result is None and proposal.operation == "merge":
        result = _merge(file, run, written, sources, entities)
    elif result is None and proposal.keeps_text:
        result = _support(file, run, written, sources)
    elif result is None and proposal.survivor is not None and vector is not None:
        result = _grow(file, run, written, vector, sources, entities)
    elif result is None and vector is not None:
        result = _insert_derived(file, run, written, vector, sources, entities)
    if result is None:
        raise ValueError(f"a {proposal.operation} without a vector cannot be applied")
    record(file, run, result)
    return result


def record(
    file: MemoryFile, run: RunContext, result: Result, kept: dict[str, Any] | None = None
) -> None:
    """Write what became of a proposal into the ledger, in the transaction of the caller.

    kept: the proposal itself, where a person has yet to decide about it.
    """
    proposal = result.proposal
    keep_decision(
        file,
        Decision(
            run_id=run.run_id,
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
            numbers={
                "min_similarity": proposal.min_similarity,
                "mean_similarity": proposal.mean_similarity,
            }
            | ({} if kept is None else {KEPT: kept}),
            decided_at=timestamp(run.now),
        ),
    )


def find_stale(proposal: Proposal, sources: Sequence[Memory]) -> Result | None:
    """Say that a proposal does not hold any more; None if its sources are what it was made of."""
    found = {memory.id: memory for memory in sources}
    for memory_id, planned in zip(proposal.sources, proposal.source_hashes, strict=True):
        memory = found.get(memory_id)
        if memory is None:
            why = f"memory {memory_id} was deleted since the plan was made"
        elif content_hash(memory.content) != planned:
            why = f"memory {memory_id} was changed since the plan was made"
        elif memory.status != "active":
            why = f"memory {memory_id} is {memory.status} since the plan was made"
        elif memory.tenant != proposal.tenant:
            why = f"memory {memory_id} moved to another tenant since the plan was made"
        else:
            continue
        return Result(proposal, "stale", why)
    return None


def _merge(
    file: MemoryFile,
    run: RunContext,
    written: Written,
    sources: Sequence[Memory],
    entities: Mapping[str, Sequence[str]],
) -> Result:
    proposal = written.proposal
    survivor, _ = _split_survivor(proposal, sources)
    others = [memory for memory in sources if memory.id in proposal.leaving]
    _update(file, run, proposal, survivor, _united(survivor, others, run.now))
    names = {name for memory in others for name in entities.get(memory.id, ())}
    unite_entities(file, run.run_id, proposal.id, survivor, names)
    _supersede(file, run, proposal, others, survivor.id)
    _add_edges(file, run, proposal, survivor.id, others)
    _add_derivation(file, run, proposal, survivor.id, written)
    return Result(proposal, "applied", written.why)


def _support(
    file: MemoryFile, run: RunContext, written: Written, sources: Sequence[Memory]
) -> Result:
    """Let a rule take in what says no more, and rest on more evidence; not a word of it changes."""
    proposal = written.proposal
    rule, others = _split_survivor(proposal, sources)
    _update(file, run, proposal, rule, _grown(rule, others, run.now))
    _add_edges(file, run, proposal, rule.id, others)
    leaving = [memory for memory in others if memory.id in proposal.leaving]
    _supersede(file, run, proposal, leaving, rule.id)
    _add_derivation(file, run, proposal, rule.id, written)
    return Result(proposal, "applied", written.why)


def _grow(
    file: MemoryFile,
    run: RunContext,
    written: Written,
    vector: NDArray[np.float32],
    sources: Sequence[Memory],
    entities: Mapping[str, Sequence[str]],
) -> Result:
    """Let a derived memory take others in: it keeps its id, and its row says more."""
    proposal, draft = written.proposal, written.proposal.draft
    owner, others = _split_survivor(proposal, sources)
    text, of = draft.text, content_hash(draft.text)
    columns = _grown(owner, others, run.now) | {"content": text, "content_hash": of}
    if proposal.by_person:
        columns["origin"] = "human"
    _update(file, run, proposal, owner, columns)
    key = {"memory_id": owner.id, "model": run.embedding_model}
    index = {"vector": to_blob(vector), "dimensions": len(vector), "content_hash": of}
    _write_index(file, run, proposal, "embeddings", key, index)
    key = {"memory_id": owner.id}
    _write_index(file, run, proposal, "entity_scans", key, {"content_hash": of})
    names = _names_of(text, others, entities)
    unite_entities(file, run.run_id, proposal.id, owner, names)
    _add_edges(file, run, proposal, owner.id, others)
    leaving = [memory for memory in others if memory.id in proposal.leaving]
    _supersede(file, run, proposal, leaving, owner.id)
    _add_derivation(file, run, proposal, owner.id, written)
    return Result(proposal, "applied", written.why)


def _split_survivor(proposal: Proposal, sources: Sequence[Memory]) -> tuple[Memory, list[Memory]]:
    """Return the one that stays, and the others."""
    staying = next(memory for memory in sources if memory.id == proposal.survivor)
    return staying, [memory for memory in sources if memory is not staying]


def _grown(owner: Memory, others: Sequence[Memory], now: datetime) -> dict[str, Any]:
    """Return the columns of a derived memory, its text aside, that also speak for what it takes in.

    Its trust stays: more that says so does not make it surer.
    """
    everyone = [owner, *others]
    return {
        "tags": json_text(_all_tags(everyone)),
        "metadata": json_text(owner.metadata | {"sessions": _all_sessions(everyone)}),
        "importance": max(memory.importance for memory in everyone),
        "observed_at": max(memory.observed_at for memory in everyone),
        "expires_at": _latest_end(everyone),
        "updated_at": timestamp(now),
    }


def _write_index(
    file: MemoryFile,
    run: RunContext,
    proposal: Proposal,
    table: str,
    key: dict[str, Any],
    columns: dict[str, Any],
) -> None:
    """Write what was computed from a memory's new text, journaled with the proposal."""
    columns = columns | {"run_id": run.run_id}
    write_row(file, run.run_id, proposal.id, table, key, columns)


def _names_of(
    text: str, sources: Sequence[Memory], entities: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return the names in a text: those of its sources that stand in it, and those found anew."""
    from slowwave.consolidation.snapshot.entities import names_in

    named = {name for memory in sources for name in entities.get(memory.id, ())}
    kept = {name for name in named if name.lower() in text.lower()}
    return sorted(kept | set(names_in(text)))


def _insert_derived(
    file: MemoryFile,
    run: RunContext,
    written: Written,
    vector: NDArray[np.float32],
    sources: Sequence[Memory],
    entities: Mapping[str, Sequence[str]],
) -> Result:
    proposal = written.proposal
    derived = _build_memory(run, proposal, proposal.draft, sources)
    row = to_row(derived)
    insert_row(file, run.run_id, proposal.id, "memories", row, {"id": derived.id})
    blob = to_blob(vector)
    keep_vectors(file, run.embedding_model, [(derived.id, derived.content_hash, blob)], run.run_id)
    names = _names_of(derived.content, sources, entities)
    keep_entities(file, proposal.tenant, [(derived.id, names)], run.run_id)
    keep_scans(file, [(derived.id, derived.content_hash)], run.run_id)
    _add_edges(file, run, proposal, derived.id, sources)
    leaving = [memory for memory in sources if memory.id in proposal.leaving]
    _supersede(file, run, proposal, leaving, derived.id)
    _add_derivation(file, run, proposal, derived.id, written)
    return Result(proposal, "applied", written.why, derived=derived.id)


def _build_memory(
    run: RunContext, proposal: Proposal, draft: Draft, sources: Sequence[Memory]
) -> Memory:
    kinds = Counter(memory.kind for memory in sources)
    kind = min(kinds, key=lambda one: (-kinds[one], one))
    if proposal.operation == "extract" and kind != "preference":
        kind = "instruction"
    now = timestamp(run.now)
    return Memory(
        id=_derived_id(run, proposal),
        tenant=proposal.tenant,
        content=draft.text,
        kind=kind,
        layer="core" if proposal.operation == "extract" else "stable",
        status="active",
        origin="human" if proposal.by_person else "consolidation",
        trust=derived_trust(memory.trust for memory in sources),
        importance=max(memory.importance for memory in sources),
        pinned=False,
        generation=1 + max(memory.generation for memory in sources),
        source=None,
        session=None,
        tags=_all_tags(sources),
        metadata={"sessions": _all_sessions(sources)},
        content_hash=content_hash(draft.text),
        access_count=0,
        observed_at=max(memory.observed_at for memory in sources),
        created_at=now,
        updated_at=now,
        accessed_at=None,
        expires_at=_latest_end(sources),
        superseded_by=None,
        superseded_at=None,
    )


def _derived_id(run: RunContext, proposal: Proposal) -> str:
    """Return a UUIDv7 whose random part is the proposal's: one run gives one id, whenever made."""
    from uuid6 import UUID

    milliseconds = int(run.now.timestamp() * 1000)
    seed = hashlib.sha256(f"{run.run_id} {proposal.id}".encode()).digest()[:10]
    return str(UUID(int=(milliseconds << 80) | int.from_bytes(seed, "big"), version=7))


def _united(survivor: Memory, others: Sequence[Memory], now: datetime) -> dict[str, Any]:
    """Return the columns of a survivor that also speak for what it replaces."""
    everyone = [survivor, *others]
    metadata = dict(survivor.metadata)
    sessions = _all_sessions(everyone)
    if sessions and sessions != _all_sessions([survivor]):
        metadata["sessions"] = sessions
    columns: dict[str, Any] = {
        "tags": json_text(_all_tags(everyone)),
        "metadata": json_text(metadata),
        "importance": max(memory.importance for memory in everyone),
        "access_count": sum(memory.access_count for memory in everyone),
        "layer": max((memory.layer for memory in everyone), key=LAYERS.index),
        "pinned": int(any(memory.pinned for memory in everyone)),
        "expires_at": _latest_end(everyone),
    }
    row = to_row(survivor)
    changed = {name: value for name, value in columns.items() if row[name] != value}
    return changed | {"updated_at": timestamp(now)} if changed else {}


def _all_tags(memories: Sequence[Memory]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag for memory in memories for tag in memory.tags))


def _all_sessions(memories: Sequence[Memory]) -> list[str]:
    own = {memory.session for memory in memories if memory.session}
    earlier = {
        session
        for memory in memories
        if isinstance(memory.metadata.get("sessions"), list)
        for session in memory.metadata["sessions"]
    }
    return sorted(own | earlier)


def _latest_end(memories: Sequence[Memory]) -> str | None:
    """Return when the last of them expires; None if one never does: no fact may end early."""
    ends = [memory.expires_at for memory in memories]
    return None if None in ends else max(end for end in ends if end is not None)


def _update(
    file: MemoryFile, run: RunContext, proposal: Proposal, memory: Memory, columns: dict[str, Any]
) -> None:
    if columns:
        update_row(file, run.run_id, proposal.id, "memories", {"id": memory.id}, columns)


def _supersede(
    file: MemoryFile,
    run: RunContext,
    proposal: Proposal,
    leaving: Sequence[Memory],
    successor: str,
) -> None:
    now = timestamp(run.now)
    columns = {"status": "superseded", "superseded_by": successor, "superseded_at": now}
    keys = [{"id": memory.id} for memory in leaving]
    columns |= {"updated_at": now}
    update_rows(file, run.run_id, proposal.id, "memories", keys, columns)


def _add_edges(
    file: MemoryFile,
    run: RunContext,
    proposal: Proposal,
    derived_id: str,
    sources: Sequence[Memory],
) -> None:
    rows = []
    for source in sources:
        key = {"derived_id": derived_id, "source_id": source.id}
        row = key | {
            "operation": proposal.operation,
            "run_id": run.run_id,
            "source_hash": content_hash(source.content),
            "source_content": None,
            "created_at": timestamp(run.now),
        }
        rows.append((row, key))
    insert_rows(file, run.run_id, proposal.id, "synthesized_from", rows)


def _add_derivation(
    file: MemoryFile, run: RunContext, proposal: Proposal, memory_id: str, written: Written
) -> None:
    claims = [asdict(one) for one in proposal.draft.claims]
    row = {
        "memory_id": memory_id,
        "run_id": run.run_id,
        "proposal": proposal.id,
        "operation": proposal.operation,
        "writer": _writer_of(proposal),
        "model": run.model if proposal.by_model else None,
        "prompt_hash": _prompt_hash(run, proposal),
        "inputs_hash": _inputs_hash(proposal),
        "claims": json_text(claims),
        "prompt_tokens": written.usage.prompt_tokens,
        "completion_tokens": written.usage.completion_tokens,
        "cost_usd": written.usage.cost_usd,
    }
    key = {"memory_id": memory_id, "run_id": run.run_id, "proposal": proposal.id}
    insert_row(file, run.run_id, proposal.id, "derivations", row, key)


def _writer_of(proposal: Proposal) -> str:
    if proposal.by_person:
        return "human"
    return "model" if proposal.by_model else "extractive"


def _prompt_hash(run: RunContext, proposal: Proposal) -> str:
    if proposal.by_model and run.model_key is not None:
        return run.model_key
    # A run in which nothing is applied reads no text.
    from slowwave.consolidation.planning.extractive import rules_key

    return rules_key(proposal.operation)


def _inputs_hash(proposal: Proposal) -> str:
    return hashlib.sha256(json_text(sorted(proposal.source_hashes)).encode()).hexdigest()
