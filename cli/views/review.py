"""Pending proposals, and what became of them, in JSON and text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import Output, clean, with_file
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.terminal.wording import counted, shortened_for_stdout

from .memory import MemoryView, sort_by_time
from .proposal import is_reworded, proposal_as_json, sources_as_json, view_pending, view_result

if TYPE_CHECKING:
    from slowwave.consolidation.running.approval import ReviewResult
    from slowwave.consolidation.running.review_queue import PendingProposal
    from slowwave.store.ledger import Decision
    from slowwave.store.places import Place


def pending_as_json(pending: PendingProposal) -> dict[str, Any]:
    """Return a proposal that is, or was, pending as format 1, with the texts of its sources."""
    view, decision = view_pending(pending), pending.decision
    return {
        **proposal_as_json(view),
        "run": decision.run_id,
        "sources": sources_as_json(view),
        "state": decision.state,
        "why": decision.why,
        "stale": pending.stale,
        "draft": view.proposal.draft.text,
        "claims": [asdict(claim) for claim in view.proposal.draft.claims],
        "decided_at": decision.decided_at,
    }


def pending_details(
    pending: PendingProposal, memories: Mapping[str, MemoryView], applied: Decision | None = None
) -> Iterator[str]:
    """Yield the whole ids, the trust of each source, and which claim cites what.

    applied: the decision that applied it, if a person approved it.
    """
    proposal = pending.proposal
    yield clean(f"    id {proposal.id}, of run {pending.decision.run_id}, tenant {proposal.tenant}")
    for memory_id in sort_by_time(proposal.sources, memories):
        memory = pending.memories.get(memory_id)
        kind = f"{memory.origin}, {memory.layer}, trust {memory.trust:g}" if memory else "gone"
        yield clean(f"    source {memory_id}: {kind}")
    if not proposal.keeps_text and not is_reworded(pending.decision, applied):
        for claim in proposal.draft.claims:
            yield clean(f"    '{claim.text}' from {', '.join(claim.sources)}")


def report_decided(
    command: str, place: Place, decided: ReviewResult, output: Output, **fields: Any
) -> int:
    """Report what was decided, and return the exit code. fields: for JSON."""
    proposals = [proposal_as_json(view_result(result)) for result in decided.results]
    output.show(_decided_as_text(place.named, decided))
    fields |= {"run": decided.run_id, "proposals": proposals}
    output.result(command, file=str(place.named), **fields)
    return signals_of_this_command().code or _exit_code(decided)


def _decided_as_text(file: Path, decided: ReviewResult) -> str:
    """Return what became of proposals, and how to undo it."""
    if not decided.results:
        return clean(f"{file}: nothing to do.")
    # What was not applied comes last, next to the numbers: nobody reads thousands from the top.
    results = sorted(decided.results, key=lambda result: result.state != "applied")
    lines = []
    for result in results:
        proposal = result.proposal
        lines.append(f"{proposal.operation} {proposal.id[:8]} ({result.state})")
        if result.why:
            lines.append(f"  ! {result.why}")
        if result.state == "applied":
            lines.append(f"  = {shortened_for_stdout(proposal.draft.text)}")
    states = Counter(result.state for result in results)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    if not states["applied"]:
        lines.append(f"{counts}. Nothing was changed.")
    else:
        is_single = states["applied"] == 1
        undoable_id = results[0].proposal.id[:8] if is_single else decided.run_id
        lines.append(with_file(f"{counts}. Undo it with: slowwave undo FILE {undoable_id}"))
    return "\n".join(map(clean, lines))


def _exit_code(decided: ReviewResult) -> Code:
    """Return the exit code of a command that applied what a person decided."""
    applied = sum(result.state == "applied" for result in decided.results)
    if applied == len(decided.results):
        return Code.DONE
    return Code.PARTLY if applied else Code.FAILED


def earlier_as_text(pending: int) -> list[str]:
    """Return how many proposals of earlier runs are pending; nothing if none is."""
    if not pending:
        return []
    count = counted(pending, "proposal of earlier runs is", "proposals of earlier runs are")
    return [with_file(f"{count} pending: slowwave review FILE")]


def withdrawn_as_text(outdated: Sequence[PendingProposal], dry_run: bool) -> list[str]:
    """Return which pending proposals can no longer be applied; nothing if there is none."""
    if not outdated:
        return []
    count = counted(len(outdated), "pending proposal was", "pending proposals were")
    if dry_run:
        count = f"{counted(len(outdated), 'pending proposal')} would be"
    first, rest_count = outdated[0], len(outdated) - 1
    ending = f" and {rest_count:,} more" if rest_count else ""
    return [clean(f"{count} withdrawn: {first.id[:8]} ({first.stale}){ending}.")]
