"""Have entries of another agent's file written again, journaled as proposals of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime

from slowwave.consolidation.running.run_in_file import RunInFile
from slowwave.store.entities import read_memory_entities, store_entities
from slowwave.store.file import MemoryFile
from slowwave.store.ledger import Decision, record_decision
from slowwave.store.memories import read_memories, tenants
from slowwave.store.proposal_changes import ProposalChanges
from slowwave.store.records import LINKED, Memory, content_hash, json_text, new_id, timestamp
from slowwave.store.vectors import read_memory_vectors, store_vectors

from .links import read_links


def renew(
    file: MemoryFile, entries: Mapping[str, str], run_id: str | None, now: datetime
) -> tuple[str, ...]:
    """Supersede the memories of entries by themselves, so that these are written again.

    entries: their texts, by key. run_id: an ended run; None for one of its own. Returns the keys.
    No entry is renewed twice with the same text, so that what was undone stays.
    """
    asked = {key for (key,) in file.conn.execute("SELECT key FROM proposals")}
    renewals = {
        key: (memory, proposal)
        for key, memory in _changeable(file, entries).items()
        if (proposal := content_hash(json_text([key, entries[key]]))[:32]) not in asked
    }
    if not renewals:
        return ()
    run = RunInFile(file, now, {"only": "update"})
    recorded = run.recorded(tenants(file), ["applied"] * len(renewals))
    with recorded if run_id is None else nullcontext(), file.transaction():
        for key, (memory, proposal) in renewals.items():
            changes = ProposalChanges(file, run_id or run.id, proposal, timestamp(now))
            _renew(changes, memory, f"the index entry of {key.split()[0]} was shortened to fit")
    return tuple(key for key in entries if key in renewals)


def _changeable(file: MemoryFile, keys: Mapping[str, str]) -> dict[str, Memory]:
    """Return the memory of each entry that has only one, which nobody has pinned."""
    linked = list(read_links(file).items())
    active = {memory.id: memory for memory in read_memories(file, status="active")}
    named = Counter(key for memory_id, key in linked if memory_id in active)
    return {
        key: active[memory_id]
        for memory_id, key in linked
        if key in keys
        and named[key] == 1
        and memory_id in active
        and (not active[memory_id].is_protected or LINKED in active[memory_id].metadata)
    }


def _renew(changes: ProposalChanges, memory: Memory, reason: str) -> None:
    file, new, run_id = changes.file, replace(memory, id=new_id()), changes.run_id
    changes.add_memory(new)
    changes.add_lineage(new.id, [memory], "update")
    changes.supersede([memory], new.id)
    # What the next run would compute again.
    for model, text_hash, blob in read_memory_vectors(file, memory.id):
        store_vectors(file, model, [(new.id, text_hash, blob)], run_id)
    store_entities(file, memory.tenant, new.id, read_memory_entities(file, memory.id))
    decision = Decision(
        run_id=run_id,
        key=changes.proposal,
        operation="update",
        tenant=memory.tenant,
        sources=(memory.id,),
        survivor=None,
        derived=new.id,
        state="applied",
        draft=memory.content,
        reason=reason,
        why=None,
        numbers={},
        decided_at=changes.now,
    )
    record_decision(file, decision)
