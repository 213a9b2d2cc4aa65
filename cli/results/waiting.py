"""Proposals that wait for a person, and what became of them, for people and for programs."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted

from .blocks import NOT_WANTED, ProposalBlock, proposal_block, worth_as_text
from .memory_texts import ShownMemory, in_time

if TYPE_CHECKING:
    from slowwave.consolidation.proposals import Result
    from slowwave.consolidation.running.approval import ReviewResult
    from slowwave.consolidation.running.review_queue import WaitingProposal
    from slowwave.store.ledger import Decision


def waiting_as_json(waiting: WaitingProposal) -> dict[str, Any]:
    """Return what waits as format 1."""
    decision, proposal = waiting.decision, waiting.kept.proposal
    return {
        "id": proposal.id,
        "run": decision.run_id,
        "operation": proposal.operation,
        "tenant": proposal.tenant,
        "sources": [_source(one, waiting) for one in proposal.sources],
        "survivor": proposal.survivor,
        "entities": proposal.topics,
        "similarity": {"min": proposal.min_similarity, "mean": proposal.mean_similarity},
        "reason": proposal.reason,
        "state": decision.state,
        "why": decision.why,
        "stale": waiting.stale,
        "draft": proposal.draft.text,
        "claims": [asdict(claim) for claim in proposal.draft.claims],
        "by_model": proposal.by_model,
        "decided_at": decision.decided_at,
    }


def _source(memory_id: str, waiting: WaitingProposal) -> dict[str, Any]:
    memory = waiting.memories.get(memory_id)
    return {
        "id": memory_id,
        "content": memory.content if memory else None,
        "observed_at": memory.observed_at if memory else None,
        "status": memory.status if memory else None,
        "goes": memory_id in waiting.kept.proposal.leaving,
    }


def waiting_block(
    waiting: WaitingProposal,
    memories: dict[str, ShownMemory],
    carried_out: Decision | None = None,
) -> ProposalBlock:
    """Return what waits, or waited, as a report shows it.

    carried_out: as what it was applied, where it was approved.
    """
    state = "stale" if waiting.stale else waiting.decision.state
    why = waiting.stale or why_it_waited(waiting.decision, carried_out)
    is_done = state not in NOT_WANTED
    block = proposal_block(
        waiting.kept.proposal, state, why, memories, _numbers(waiting), is_done=is_done
    )
    if not is_reworded(waiting.decision, carried_out):
        return block
    return replace(block, result=carried_out.draft if carried_out else None, claims=())


def why_it_waited(decision: Decision, carried_out: Decision | None) -> str | None:
    """Return why a proposal waits or, of an approved one, waited, and what came of it."""
    if decision.state != "approved":
        return decision.why
    parts = [(decision.why or "").replace("waits", "waited", 1)] if decision.why else []
    if carried_out is not None:
        parts.append(f"carried out by run {carried_out.run_id}")
    if is_reworded(decision, carried_out):
        parts.append("in a person's words")
    return "; ".join(parts) or None


def is_reworded(decision: Decision, carried_out: Decision | None) -> bool:
    """Whether what was applied has other words than what waited."""
    return carried_out is not None and carried_out.draft != decision.draft


def _numbers(waiting: WaitingProposal) -> str:
    """Return what a proposal is worth that can be applied."""
    from slowwave.consolidation.planning.savings import savings_of

    proposal, known = waiting.kept.proposal, waiting.memories
    is_open = waiting.decision.state == "pending" and not waiting.stale
    if not is_open or not known.keys() >= set(proposal.sources):
        return ""
    return worth_as_text(savings_of(proposal, known.__getitem__))


def waiting_details(
    waiting: WaitingProposal,
    memories: dict[str, ShownMemory],
    carried_out: Decision | None = None,
) -> Iterator[str]:
    """Yield what else there is to know: whole ids, trust, and which claim cites what."""
    proposal = waiting.kept.proposal
    yield clean(f"    id {proposal.id}, of run {waiting.decision.run_id}, tenant {proposal.tenant}")
    for one in in_time(proposal.sources, memories):
        memory = waiting.memories.get(one)
        kind = f"{memory.origin}, {memory.layer}, trust {memory.trust:g}" if memory else "gone"
        yield clean(f"    source {one}: {kind}")
    if not proposal.keeps_text and not is_reworded(waiting.decision, carried_out):
        for claim in proposal.draft.claims:
            yield clean(f"    '{claim.text}' from {', '.join(claim.sources)}")


def decided_as_json(command: str, file: Path, decided: ReviewResult) -> dict[str, Any]:
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


def decided_as_text(file: Path, decided: ReviewResult) -> str:
    """Say what became of proposals, and how to take it back."""
    if not decided.results:
        return clean(f"{file}: nothing to do.")
    # What was not applied stands last, beside the numbers: of thousands nobody reads the first.
    last = sorted(decided.results, key=lambda one: one.state != "applied")
    lines = [line for one in last for line in _result_lines(one)]
    states = Counter(one.state for one in decided.results)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    if decided.run_id is None:
        return "\n".join([*lines, f"{counts}. Nothing was changed."])
    undo = f"slowwave undo {shlex.quote(str(file))}"
    done = [one for one in decided.results if one.state == "applied"]
    which = done[0].proposal.id[:8] if len(done) == 1 else decided.run_id
    return "\n".join([*lines, clean(f"{counts}. Take it back with: {undo} {which}")])


def _result_lines(result: Result) -> Iterator[str]:
    proposal = result.proposal
    yield clean(f"{proposal.operation} {proposal.id[:8]} ({result.state})")
    if result.why:
        yield clean(f"  ! {result.why}")
    if result.state == "applied":
        yield clean(f"  = {proposal.draft.text}")


def earlier_as_text(waiting: int, file: Path) -> list[str]:
    """Say how many proposals of earlier nights wait for a person; nothing if none does."""
    if not waiting:
        return []
    count = counted(waiting, "proposal", "proposals")
    verb = "waits" if waiting == 1 else "wait"
    where = f"slowwave review {shlex.quote(str(file))}"
    return [clean(f"{count} of earlier nights {verb} for review: {where}")]


def set_aside_as_text(set_aside: Sequence[WaitingProposal], dry_run: bool) -> list[str]:
    """Say what waited and cannot be applied any more; nothing if there is no such thing."""
    changed = [one for one in set_aside if one.kept.fault is None]
    damaged = [one for one in set_aside if one.kept.fault is not None]
    return [
        *_withdrawn(changed, "memories have changed", dry_run),
        *_withdrawn(damaged, "the file is damaged there", dry_run),
    ]


def _withdrawn(several: Sequence[WaitingProposal], cause: str, dry_run: bool) -> Iterator[str]:
    if several:
        count = counted(len(several), "proposal", "proposals")
        done = ("was" if len(several) == 1 else "were") + " withdrawn"
        verb = "would be withdrawn" if dry_run else done
        first = several[0]
        more = f" and {len(several) - 1:,} more" if len(several) > 1 else ""
        yield clean(
            f"{count} that waited {verb}, since {cause}: {first.id[:8]} ({first.stale}){more}."
        )


def exit_code(decided: ReviewResult) -> Code:
    """Return the code of a command that carried out what a person decided."""
    done = sum(one.state == "applied" for one in decided.results)
    if done == len(decided.results):
        return Code.DONE
    return Code.PARTLY if done else Code.FAILED
