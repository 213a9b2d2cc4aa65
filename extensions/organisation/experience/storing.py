"""Write the lessons from traces as a memory with its lineage."""

from __future__ import annotations

from dataclasses import asdict

from slowwave.consolidation.proposals import derived_trust
from slowwave.consolidation.running.run_in_file import RunInFile
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.store.exchange import new_memory
from slowwave.store.ledger import Decision, record_decision
from slowwave.store.proposal_changes import ProposalChanges
from slowwave.store.records import Memory, content_hash, json_text, timestamp
from slowwave.store.vectors import to_blob

from .compression import COMPRESSOR, Learned


def store(run: RunInFile, embedder: Embedder, learned: Learned, last: Memory | None) -> str:
    """Write lessons in one transaction, and return the id of the memory.

    last: the earlier lessons of the task, which are superseded unless they are protected.
    """
    task, sources, now = learned.task, learned.task.memories, run.now
    outcomes = [attempt.trace.outcome for attempt in task.attempts]
    experience = {
        "task": task.name,
        "compressor": COMPRESSOR,
        "ratio": learned.ratio,
        "worked": outcomes.count("worked"),
        "failed": outcomes.count("failed"),
        "traces": [source.id for source in sources],
    }
    memory = new_memory(
        {
            "tenant": task.tenant,
            "content": learned.text,
            "kind": "context",
            "layer": "stable",
            "origin": "consolidation",
            "trust": derived_trust(source.trust for source in sources),
            "importance": max(source.importance for source in sources),
            "generation": 1 + max(source.generation for source in sources),
            "source": "experience",
            "tags": ["experience"],
            "metadata": {"experience": experience},
            "observed_at": max(source.observed_at for source in sources),
        },
        now,
    )
    derivation = {
        "operation": "synthesize",
        "writer": "extractive" if learned.model is None else "model",
        "model": learned.model,
        "prompt_hash": content_hash(COMPRESSOR),
        "inputs_hash": content_hash(json_text([source.content_hash for source in sources])),
        "claims": json_text([asdict(claim) for _, claim in learned.lessons]),
        "cost_usd": None if learned.model else 0.0,
    }
    decision = Decision(
        run_id=run.id,
        key=task.key,
        operation="synthesize",
        tenant=memory.tenant,
        sources=tuple(source.id for source in sources),
        survivor=None,
        derived=memory.id,
        state="applied",
        draft=memory.content,
        reason=f"{len(sources)} traces of one task, {learned.ratio:g} times longer than this",
        why="; ".join(learned.turned_down) or None,
        numbers={"ratio": learned.ratio},
        decided_at=memory.created_at,
    )
    vector = to_blob(embedder.encode([memory.content])[0])
    with run.writing() as file, file.transaction():
        changes = ProposalChanges(file, run.id, task.key, timestamp(now))
        changes.insert_memory(memory, embedder.name, vector)
        changes.add_lineage(memory.id, sources, "synthesize")
        if last is not None and not last.is_protected:
            changes.supersede([last], memory.id)
        changes.add_derivation(memory.id, derivation)
        record_decision(file, decision)
    return memory.id
