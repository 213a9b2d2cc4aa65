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
    VerifiedProposal,
    derived_trust,
    method_key,
)
from slowwave.store.file import MemoryFile
from slowwave.store.kept_form import KEPT
from slowwave.store.ledger import Decision, keep_decision
from slowwave.store.memories import read_memories
from slowwave.store.proposal_changes import ProposalChanges
from slowwave.store.records import LAYERS, Memory, content_hash, json_text, timestamp, to_row
from slowwave.store.vectors import to_blob

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .kept_proposal import KeptProposal


@dataclass(frozen=True)
class RunContext:
    """What every row that a run writes must say about the run."""

    run_id: str
    now: datetime
    model: str | None
    # The hash of the model and of its instructions; None without one.
    model_key: str | None
    embedding_model: str


def apply_written(
    file: MemoryFile,
    run: RunContext,
    written: VerifiedProposal,
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
    changes = ProposalChanges(file, run.run_id, proposal.id, timestamp(run.now))
    result = find_stale(proposal, sources)
    if result is None and proposal.operation == "extract" and proposal.keeps_text:
        result = _support(changes, run, written, sources)
    elif result is None and proposal.keeps_text:
        result = _merge(changes, run, written, sources, entities)
    elif result is None and proposal.survivor is not None and vector is not None:
        result = _grow(changes, run, written, vector, sources, entities)
    elif result is None and vector is not None:
        result = _insert_derived(changes, run, written, vector, sources, entities)
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
        elif memory_id in proposal.leaving and memory.protected and not proposal.include_protected:
            why = f"memory {memory_id} became human, pinned or core since the plan was made"
        else:
            continue
        return Result(proposal, "stale", why)
    return None


def find_outdated(kept: KeptProposal, sources: Sequence[Memory]) -> str | None:
    """Say why what waited cannot be applied any more; None if it is as it was kept."""
    if kept.fault is not None:
        return kept.fault
    stale = find_stale(kept.proposal, sources)
    return None if stale is None else stale.why


def _merge(
    changes: ProposalChanges,
    run: RunContext,
    written: VerifiedProposal,
    sources: Sequence[Memory],
    entities: Mapping[str, Sequence[str]],
) -> Result:
    """Let one memory replace others, unchanged but for its properties."""
    proposal = written.proposal
    survivor, _ = _split_survivor(proposal, sources)
    others = _leaving(proposal, sources)
    changes.update_memory(survivor.id, _united(survivor, others, run.now))
    changes.add_names(survivor, {name for one in others for name in entities.get(one.id, ())})
    changes.supersede(others, survivor.id)
    changes.add_lineage(survivor.id, others, proposal.operation)
    changes.add_derivation(survivor.id, _derivation(run, written))
    return Result(proposal, "applied", written.why)


def _support(
    changes: ProposalChanges, run: RunContext, written: VerifiedProposal, sources: Sequence[Memory]
) -> Result:
    """Add support to a rule, and supersede what says no more than it; its text does not change."""
    proposal = written.proposal
    rule, others = _split_survivor(proposal, sources)
    changes.update_memory(rule.id, _grown(rule, others, run.now))
    changes.add_lineage(rule.id, others, proposal.operation)
    changes.supersede(_leaving(proposal, others), rule.id)
    changes.add_derivation(rule.id, _derivation(run, written))
    return Result(proposal, "applied", written.why)


def _grow(
    changes: ProposalChanges,
    run: RunContext,
    written: VerifiedProposal,
    vector: NDArray[np.float32],
    sources: Sequence[Memory],
    entities: Mapping[str, Sequence[str]],
) -> Result:
    """Extend a derived memory by others: it keeps its id and gets a longer text."""
    proposal, text = written.proposal, written.proposal.draft.text
    derived, others = _split_survivor(proposal, sources)
    columns = _grown(derived, others, run.now)
    if proposal.by_person:
        columns["origin"] = "human"
    changes.rewrite_memory(derived.id, text, columns, run.embedding_model, to_blob(vector))
    changes.add_names(derived, _names_of(text, others, entities))
    changes.add_lineage(derived.id, others, proposal.operation)
    changes.supersede(_leaving(proposal, others), derived.id)
    changes.add_derivation(derived.id, _derivation(run, written))
    return Result(proposal, "applied", written.why)


def _leaving(proposal: Proposal, sources: Sequence[Memory]) -> list[Memory]:
    """Return the sources that are superseded."""
    return [memory for memory in sources if memory.id in proposal.leaving]


def _split_survivor(proposal: Proposal, sources: Sequence[Memory]) -> tuple[Memory, list[Memory]]:
    """Return the one that stays, and the others."""
    staying = next(memory for memory in sources if memory.id == proposal.survivor)
    return staying, [memory for memory in sources if memory is not staying]


def _grown(derived: Memory, others: Sequence[Memory], now: datetime) -> dict[str, Any]:
    """Return the columns of a derived memory, its text aside, that also speak for what it takes in.

    Its trust stays: more that says so does not make it surer.
    """
    everyone = [derived, *others]
    return {
        "tags": json_text(_all_tags(everyone)),
        "metadata": json_text(derived.metadata | {"sessions": _all_sessions(everyone)}),
        "importance": max(memory.importance for memory in everyone),
        "observed_at": max(memory.observed_at for memory in everyone),
        "expires_at": _latest_end(everyone),
        "updated_at": timestamp(now),
    }


def _names_of(
    text: str, sources: Sequence[Memory], entities: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return the names in a text: those of its sources that stand in it, and those found anew."""
    from slowwave.consolidation.snapshot.entities import names_in

    named = {name for memory in sources for name in entities.get(memory.id, ())}
    kept = {name for name in named if name.lower() in text.lower()}
    return sorted(kept | set(names_in(text)))


def _insert_derived(
    changes: ProposalChanges,
    run: RunContext,
    written: VerifiedProposal,
    vector: NDArray[np.float32],
    sources: Sequence[Memory],
    entities: Mapping[str, Sequence[str]],
) -> Result:
    """Write a new memory that stands for its sources."""
    proposal = written.proposal
    derived = _build_memory(run, proposal, proposal.draft, sources)
    names = _names_of(derived.content, sources, entities)
    changes.insert_memory(derived, run.embedding_model, to_blob(vector), names)
    changes.add_lineage(derived.id, sources, proposal.operation)
    changes.supersede(_leaving(proposal, sources), derived.id)
    changes.add_derivation(derived.id, _derivation(run, written))
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


def _derivation(run: RunContext, written: VerifiedProposal) -> dict[str, Any]:
    """Return how a proposal's text came about: by whom, from what, and what that cost."""
    proposal = written.proposal
    return {
        "operation": proposal.operation,
        "writer": _writer_of(proposal),
        "model": run.model if proposal.by_model else None,
        "prompt_hash": _prompt_hash(run, proposal),
        "inputs_hash": _inputs_hash(proposal),
        "claims": json_text([asdict(one) for one in proposal.draft.claims]),
        "prompt_tokens": written.usage.prompt_tokens,
        "completion_tokens": written.usage.completion_tokens,
        "cost_usd": written.usage.cost_usd,
    }


def _writer_of(proposal: Proposal) -> str:
    if proposal.by_person:
        return "human"
    return "model" if proposal.by_model else "extractive"


def _prompt_hash(run: RunContext, proposal: Proposal) -> str:
    if proposal.by_model and run.model_key is not None:
        return run.model_key
    return method_key(proposal.operation)


def _inputs_hash(proposal: Proposal) -> str:
    return hashlib.sha256(json_text(sorted(proposal.source_hashes)).encode()).hexdigest()
