"""Proposals that wait for a person, and what became of them, for people and for programs."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .blocks import ProposalBlock
from .exits import Code
from .memory_texts import ShownMemory, counted, dated, in_time
from .output import clean

if TYPE_CHECKING:
    from slowwave.consolidation.proposals import Proposal, Result
    from slowwave.consolidation.running.decide import Decided
    from slowwave.consolidation.running.kept import Kept
    from slowwave.consolidation.running.set_aside import SetAside
    from slowwave.store.file import MemoryFile
    from slowwave.store.ledger import Decision
    from slowwave.store.records import Memory


@dataclass(frozen=True)
class Waiting:
    """A proposal that waits, or waited, with its sources as they are now."""

    decision: Decision
    kept: Kept
    memories: Mapping[str, Memory]
    # Why it cannot be applied any more: a source has changed.
    stale: str | None

    @property
    def id(self) -> str:
        """The proposal's id."""
        return self.decision.key

    def decided(self, state: str, why: str, now: str) -> Waiting:
        """Return it as it is once a person has decided."""
        decision = replace(self.decision, state=state, why=why, decided_at=now)
        return replace(self, decision=decision)

    def as_json(self) -> dict[str, Any]:
        """Return it as format 1."""
        proposal = self.kept.proposal
        return {
            "id": proposal.id,
            "run": self.decision.run_id,
            "operation": proposal.operation,
            "tenant": proposal.tenant,
            "sources": [self._source(one) for one in proposal.sources],
            "survivor": proposal.survivor,
            "entities": proposal.topics,
            "similarity": {"min": proposal.min_similarity, "mean": proposal.mean_similarity},
            "reason": proposal.reason,
            "state": self.decision.state,
            "why": self.decision.why,
            "stale": self.stale,
            "draft": proposal.draft.text,
            "claims": [asdict(claim) for claim in proposal.draft.claims],
            "by_model": proposal.by_model,
            "decided_at": self.decision.decided_at,
        }

    def _source(self, memory_id: str) -> dict[str, Any]:
        memory = self.memories.get(memory_id)
        return {
            "id": memory_id,
            "content": memory.content if memory else None,
            "observed_at": memory.observed_at if memory else None,
            "status": memory.status if memory else None,
            "goes": memory_id in self.kept.proposal.leaving,
        }

    def block(self, memories: dict[str, ShownMemory]) -> ProposalBlock:
        """Return it as a report shows it."""
        state = "stale" if self.stale else self.decision.state
        why = self.stale or self.decision.why
        return proposal_block(self.kept.proposal, state, why, memories)

    def details(self, memories: dict[str, ShownMemory]) -> Iterator[str]:
        """Yield what else there is to know: whole ids, trust, and which claim cites what."""
        proposal = self.kept.proposal
        yield clean(
            f"    id {proposal.id}, of run {self.decision.run_id}, tenant {proposal.tenant}"
        )
        for one in in_time(proposal.sources, memories):
            memory = self.memories.get(one)
            kind = f"{memory.origin}, {memory.layer}, trust {memory.trust:g}" if memory else "gone"
            yield clean(f"    source {one}: {kind}")
        if not proposal.keeps_text:
            for claim in proposal.draft.claims:
                yield clean(f"    '{claim.text}' from {', '.join(claim.sources)}")


def read_queue(opened: MemoryFile, decided: bool = False) -> list[Waiting]:
    """Return what waits, in the order in which it can be applied. Raises `StoreError`.

    decided: also what a person has decided about since.
    """
    from slowwave.consolidation.running.kept import kept_of
    from slowwave.store.ledger import read_reviewed, read_waiting

    found = read_waiting(opened)
    if decided:
        known = {one.key for one in found}
        latest = {one.key: one for one in read_reviewed(opened) if one.key not in known}
        found += latest.values()
    kept = [(one, kept_of(one.numbers, one.key)) for one in found]
    memories = _sources_of(opened, (one for _, one in kept))
    queue = [_waiting(decision, one, memories) for decision, one in kept]
    return sorted(queue, key=lambda one: (one.decision.run_id, one.kept.place))


def seen_again(opened: MemoryFile, waiting: Waiting) -> Waiting:
    """Return what waits with its sources as they are now. Raises `StoreError`."""
    return _waiting(waiting.decision, waiting.kept, _sources_of(opened, [waiting.kept]))


def _sources_of(opened: MemoryFile, several: Iterable[Kept]) -> dict[str, Memory]:
    from slowwave.store.memories import read_memories

    ids = sorted({one for kept in several for one in kept.proposal.sources})
    return {one.id: one for one in read_memories(opened, ids)}


def _waiting(decision: Decision, kept: Kept, known: Mapping[str, Memory]) -> Waiting:
    from slowwave.consolidation.running.apply import find_stale

    memories = {one: known[one] for one in kept.proposal.sources if one in known}
    is_open = decision.state == "pending"
    stale = find_stale(kept.proposal, list(memories.values())) if is_open else None
    return Waiting(decision, kept, memories, stale.why if stale else None)


def proposal_block(
    proposal: Proposal, state: str, why: str | None, memories: dict[str, ShownMemory]
) -> ProposalBlock:
    """Return a proposal as a report shows it: what would go, and what would stand then."""
    survivor = proposal.survivor
    stands = dated(memories.get(survivor or "")) if proposal.keeps_text else proposal.draft.text
    return ProposalBlock(
        proposal.operation,
        proposal.id,
        state,
        proposal.reason,
        [
            (one in proposal.leaving, dated(memories.get(one)))
            for one in in_time(proposal.sources, memories)
            if one != survivor
        ],
        why,
        stands,
        () if proposal.keeps_text else proposal.draft.claims,
    )


def decided_as_json(command: str, file: Path, decided: Decided) -> dict[str, Any]:
    """Return what became of proposals as format 1."""
    return {
        "command": command,
        "file": str(file),
        "run": decided.run_id,
        "proposals": [
            {
                "id": one.proposal.id,
                "operation": one.proposal.operation,
                "tenant": one.proposal.tenant,
                "sources": one.proposal.sources,
                "survivor": one.proposal.survivor,
                "derived": one.derived,
                "state": one.state,
                "why": one.why,
                "draft": one.proposal.draft.text,
            }
            for one in decided.results
        ],
    }


def decided_as_text(file: Path, decided: Decided) -> str:
    """Say what became of proposals, and how to take it back."""
    if not decided.results:
        return clean(f"{file}: nothing to do.")
    lines = [line for one in decided.results for line in _result_lines(one)]
    states = Counter(one.state for one in decided.results)
    told = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    if decided.run_id is None:
        return "\n".join([*lines, f"{told}. Nothing was changed."])
    undo = f"slowwave undo {shlex.quote(str(file))}"
    done = [one for one in decided.results if one.state == "applied"]
    which = done[0].proposal.id[:8] if len(done) == 1 else decided.run_id
    return "\n".join([*lines, clean(f"{told}. Take it back with: {undo} {which}")])


def _result_lines(result: Result) -> Iterator[str]:
    proposal = result.proposal
    yield clean(f"{proposal.operation} {proposal.id[:8]} ({result.state})")
    if result.why:
        yield clean(f"  ! {result.why}")
    if result.state == "applied":
        yield clean(f"  = {proposal.draft.text}")


def set_aside_as_text(set_aside: Sequence[SetAside], dry_run: bool) -> list[str]:
    """Say what waited and cannot be applied any more; nothing if there is no such thing."""
    if not set_aside:
        return []
    count = counted(len(set_aside), "proposal", "proposals")
    verb = "would be set aside" if dry_run else "set aside"
    first = set_aside[0]
    more = f" and {len(set_aside) - 1:,} more" if len(set_aside) > 1 else ""
    return [
        clean(
            f"Of what waited {count} {verb}, since memories have changed: "
            f"{first.proposal[:8]} ({first.why}){more}."
        )
    ]


def exit_code(decided: Decided) -> Code:
    """Return the code of a command that carried out what a person decided."""
    done = sum(one.state == "applied" for one in decided.results)
    if done == len(decided.results):
        return Code.DONE
    return Code.PARTLY if done else Code.FAILED
