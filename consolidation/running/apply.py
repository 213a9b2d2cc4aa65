"""Apply proposals: rows, lineage edges and journal, each proposal atomically."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from slowwave.consolidation.proposals import (
    Draft,
    Proposal,
    Result,
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
    """What every row written by a run records about the run."""

    run_id: str
    now: datetime
    model: str | None
    # The hash of the model and of its instructions; None without one.
    model_key: str | None
    embedding_model: str


def apply_proposal(
    file: MemoryFile,
    run: RunContext,
    checked: Result,
    vector: NDArray[np.float32] | None,
    entities: Mapping[str, Sequence[str]],
) -> Result:
    """Apply a checked proposal in the caller's transaction.

    vector: the draft's, float32, shape (d,), unit length; None if no text changes. entities: the
    names that each source mentions. If a source changed since the plan was made, only the decision
    `stale` is written.
    """
    proposal = checked.proposal
    sources = list(read_memories(file, proposal.sources))
    changes = ProposalChanges(file, run.run_id, proposal.id, timestamp(run.now))
    why = find_stale(proposal, sources)
    if why is not None:
        result = replace(checked, state="stale", why=why)
    elif proposal.operation == "extract" and proposal.keeps_text:
        result = _support(changes, run, checked, sources)
    elif proposal.keeps_text:
        result = _merge(changes, run, checked, sources, entities)
    elif vector is None:
        raise ValueError(f"a {proposal.operation} without a vector cannot be applied")
    elif proposal.survivor is not None:
        result = _grow(changes, run, checked, vector, sources, entities)
    else:
        result = _insert_derived(changes, run, checked, vector, sources, entities)
    record(file, run, result)
    return result


def record(
    file: MemoryFile, run: RunContext, result: Result, kept: dict[str, Any] | None = None
) -> None:
    """Record a proposal's result in the ledger, in the caller's transaction.

    kept: the whole proposal, if it is pending review.
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


def find_stale(proposal: Proposal, sources: Sequence[Memory]) -> str | None:
    """Return why a proposal is stale; None if its sources are unchanged."""
    found = {memory.id: memory for memory in sources}
    for memory_id, planned in zip(proposal.sources, proposal.source_hashes, strict=True):
        memory = found.get(memory_id)
        if memory is None:
            return f"memory {memory_id} was deleted since the plan was made"
        elif content_hash(memory.content) != planned:
            return f"memory {memory_id} was changed since the plan was made"
        elif memory.status != "active":
            return f"memory {memory_id} is {memory.status} since the plan was made"
        elif memory.tenant != proposal.tenant:
            return f"memory {memory_id} moved to another tenant since the plan was made"
        elif memory_id in proposal.leaving and memory.protected and not proposal.include_protected:
            return f"memory {memory_id} became human, pinned or core since the plan was made"
    return None


def find_outdated(kept: KeptProposal, sources: Sequence[Memory]) -> str | None:
    """Return why a pending proposal can no longer be applied; None if it can."""
    return kept.fault or find_stale(kept.proposal, sources)


def _merge(
    changes: ProposalChanges,
    run: RunContext,
    result: Result,
    sources: Sequence[Memory],
    entities: Mapping[str, Sequence[str]],
) -> Result:
    """Supersede duplicates by a survivor, whose text does not change."""
    proposal = result.proposal
    survivor, _ = _split_survivor(proposal, sources)
    replaced = _leaving(proposal, sources)
    changes.update_memory(survivor.id, _survivor_columns(survivor, replaced, run.now))
    changes.add_names(
        survivor, {name for memory in replaced for name in entities.get(memory.id, ())}
    )
    changes.supersede(replaced, survivor.id)
    changes.add_lineage(survivor.id, replaced, proposal.operation)
    changes.add_derivation(survivor.id, _derivation(run, result))
    return replace(result, state="applied")


def _support(
    changes: ProposalChanges, run: RunContext, result: Result, sources: Sequence[Memory]
) -> Result:
    """Add support to a rule and supersede what it covers; its text does not change."""
    proposal = result.proposal
    rule, added = _split_survivor(proposal, sources)
    changes.update_memory(rule.id, _extended_columns(rule, added, run.now))
    changes.add_lineage(rule.id, added, proposal.operation)
    changes.supersede(_leaving(proposal, added), rule.id)
    changes.add_derivation(rule.id, _derivation(run, result))
    return replace(result, state="applied")


def _grow(
    changes: ProposalChanges,
    run: RunContext,
    result: Result,
    vector: NDArray[np.float32],
    sources: Sequence[Memory],
    entities: Mapping[str, Sequence[str]],
) -> Result:
    """Extend a derived memory: it keeps its id and gets a longer text."""
    proposal, text = result.proposal, result.proposal.draft.text
    derived, added = _split_survivor(proposal, sources)
    columns = _extended_columns(derived, added, run.now)
    if proposal.by_person:
        columns["origin"] = "human"
    changes.rewrite_memory(derived.id, text, columns, run.embedding_model, to_blob(vector))
    changes.add_names(derived, _names_of(text, added, entities))
    changes.add_lineage(derived.id, added, proposal.operation)
    changes.supersede(_leaving(proposal, added), derived.id)
    changes.add_derivation(derived.id, _derivation(run, result))
    return replace(result, state="applied")


def _leaving(proposal: Proposal, sources: Sequence[Memory]) -> list[Memory]:
    """Return the sources that are superseded."""
    return [memory for memory in sources if memory.id in proposal.leaving]


def _split_survivor(proposal: Proposal, sources: Sequence[Memory]) -> tuple[Memory, list[Memory]]:
    """Return the survivor and the remaining sources."""
    staying = next(memory for memory in sources if memory.id == proposal.survivor)
    return staying, [memory for memory in sources if memory is not staying]


def _extended_columns(derived: Memory, added: Sequence[Memory], now: datetime) -> dict[str, Any]:
    """Return the new columns, except the text, of a derived memory that takes in `added`.

    Its trust does not change: repetition does not make it more certain.
    """
    memories = [derived, *added]
    return {
        "tags": json_text(_all_tags(memories)),
        "metadata": json_text(derived.metadata | {"sessions": _all_sessions(memories)}),
        "importance": max(memory.importance for memory in memories),
        "observed_at": max(memory.observed_at for memory in memories),
        "expires_at": _latest_end(memories),
        "updated_at": timestamp(now),
    }


def _names_of(
    text: str, sources: Sequence[Memory], entities: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return the names in a text: known names of its sources, and names found in it."""
    from slowwave.consolidation.snapshot.entities import names_in

    named = {name for memory in sources for name in entities.get(memory.id, ())}
    kept = {name for name in named if name.lower() in text.lower()}
    return sorted(kept | set(names_in(text)))


def _insert_derived(
    changes: ProposalChanges,
    run: RunContext,
    result: Result,
    vector: NDArray[np.float32],
    sources: Sequence[Memory],
    entities: Mapping[str, Sequence[str]],
) -> Result:
    """Insert a new memory derived from its sources."""
    proposal = result.proposal
    derived = _build_memory(run, proposal, proposal.draft, sources)
    names = _names_of(derived.content, sources, entities)
    changes.insert_memory(derived, run.embedding_model, to_blob(vector), names)
    changes.add_lineage(derived.id, sources, proposal.operation)
    changes.supersede(_leaving(proposal, sources), derived.id)
    changes.add_derivation(derived.id, _derivation(run, result))
    return replace(result, state="applied", derived=derived.id)


def _build_memory(
    run: RunContext, proposal: Proposal, draft: Draft, sources: Sequence[Memory]
) -> Memory:
    kinds = Counter(memory.kind for memory in sources)
    kind = min(kinds, key=lambda name: (-kinds[name], name))
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
    """Return a UUIDv7 whose random part is a hash of run and proposal, so it is reproducible."""
    from uuid6 import UUID

    milliseconds = int(run.now.timestamp() * 1000)
    seed = hashlib.sha256(f"{run.run_id} {proposal.id}".encode()).digest()[:10]
    return str(UUID(int=(milliseconds << 80) | int.from_bytes(seed, "big"), version=7))


def _survivor_columns(
    survivor: Memory, replaced: Sequence[Memory], now: datetime
) -> dict[str, Any]:
    """Return the changed columns of a survivor that takes over from `replaced`."""
    memories = [survivor, *replaced]
    metadata = dict(survivor.metadata)
    sessions = _all_sessions(memories)
    if sessions and sessions != _all_sessions([survivor]):
        metadata["sessions"] = sessions
    columns: dict[str, Any] = {
        "tags": json_text(_all_tags(memories)),
        "metadata": json_text(metadata),
        "importance": max(memory.importance for memory in memories),
        "access_count": sum(memory.access_count for memory in memories),
        "layer": max((memory.layer for memory in memories), key=LAYERS.index),
        "pinned": int(any(memory.pinned for memory in memories)),
        "expires_at": _latest_end(memories),
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
    """Return the latest expiry; None if one never expires, so that no fact expires early."""
    ends = [memory.expires_at for memory in memories]
    return None if None in ends else max(end for end in ends if end is not None)


def _derivation(run: RunContext, result: Result) -> dict[str, Any]:
    """Return the provenance of a proposal's text: writer, inputs and cost."""
    proposal = result.proposal
    return {
        "operation": proposal.operation,
        "writer": _writer_of(proposal),
        "model": run.model if proposal.by_model else None,
        "prompt_hash": _prompt_hash(run, proposal),
        "inputs_hash": _inputs_hash(proposal),
        "claims": json_text([asdict(claim) for claim in proposal.draft.claims]),
        "prompt_tokens": result.usage.prompt_tokens,
        "completion_tokens": result.usage.completion_tokens,
        "cost_usd": result.usage.cost_usd,
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
