"""Apply, decline and edit pending proposals, with the code of a night."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import (
    BY_PERSON,
    Claim,
    Draft,
    Proposal,
    Result,
    Usage,
)
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.store.entities import read_entities
from slowwave.store.errors import StoreError
from slowwave.store.file import MemoryFile, maintenance_lock, open_writing
from slowwave.store.ledger import DECIDED, Decision, decide_pending, make_pending, read_latest
from slowwave.store.memories import count_memories
from slowwave.store.records import MAX_CHARACTERS, new_id, timestamp
from slowwave.store.undo.undo import undo_proposal_within

from .apply import RunContext, apply_proposal, record
from .batches import apply_together, batches
from .inspection import InspectedProposal, inspect
from .kept_proposal import KeptProposal
from .outcome import Outcome
from .run_record import RunRecord, Verdict, run_report

if TYPE_CHECKING:
    from slowwave.store.records import Memory


@dataclass(frozen=True)
class ReviewResult:
    """The results of the proposals that a person decided about."""

    # None if nothing was changed.
    run_id: str | None
    results: tuple[Result, ...]


def carry_out(
    file: MemoryFile,
    proposals: Sequence[KeptProposal],
    embedder: Embedder,
    now: datetime,
    way: str,
    progress: Progress | None = None,
    is_trusted: bool = True,
) -> ReviewResult:
    """Apply approved proposals unchanged, in a run of their own.

    file: open for writing under the maintenance lock. way: how a person decided, recorded with the
    run. is_trusted: whether the memory file itself kept the proposals.

    Each proposal is checked first. A damaged proposal, or one whose sources changed, is `stale`;
    one whose draft its sources do not support is `rejected`; neither writes a memory. Raises
    `StoreError` and `EmbedderError`.
    """
    progress = progress or Progress()
    ready = inspect(file, proposals, embedder, progress, is_trusted)
    if not any(inspected.result.state == "planned" for inspected in ready):
        return ReviewResult(None, tuple(inspected.result for inspected in ready))
    return _apply_all(file, ready, embedder.name, now, way, progress)


def find_declined(file: MemoryFile, proposals: Sequence[KeptProposal]) -> Iterator[Result]:
    """Yield the result of each proposal whose latest decision is `declined`."""
    for kept in proposals:
        decision = read_latest(file, kept.proposal.id)
        if decision is not None and decision.state == "declined":
            day = decision.decided_at[:10]
            yield Result(kept.proposal, "declined", f"on {day}: {decision.why or 'by a person'}")


def record_declined(
    path: Path,
    planned: Outcome,
    result: Result,
    embedding_model: str,
    now: datetime,
    options: Mapping[str, Any],
) -> str:
    """Record a dry run's result as declined, in a run of its own, and return the run's id.

    No memory is changed; no later night makes the proposal again. Raises `StoreError`.
    """
    context = RunContext(new_id(), now, None, None, embedding_model)
    run = RunRecord(context.run_id, now)
    unchanged = Outcome(planned.plan, (result,), planned.before, planned.before, planned.usage)
    with (
        maintenance_lock(path),
        open_writing(path) as file,
        run.begun(file, options),
    ):
        with file.transaction():
            record(file, context, result)
        run.end(file, "done", unchanged.report, planned.plan.digest)
    return context.run_id


def make_pending_again(
    file: MemoryFile, decision: Decision, run_id: str | None, now: datetime
) -> None:
    """Revert a person's decision, so that the proposal is pending again.

    file: open for writing under the maintenance lock. decision: the pending one. run_id: the run
    that applied the proposal; None if it was declined. Raises `ChangedSince`, with nothing
    changed, if the changes cannot be undone.
    """
    with file.transaction():
        if run_id is not None:
            undo_proposal_within(file, run_id, decision.key, timestamp(now))
        else:
            make_pending(file, decision, timestamp(now))


def with_text(kept: KeptProposal, text: str, memories: Sequence[Memory]) -> KeptProposal:
    """Return a proposal with a person's text as its draft; unchanged if the text is the draft.

    The draft cites the sources that contain it verbatim, or else all of them. Raises `StoreError`
    if the proposal is damaged or writes no text, or the text is too long.
    """
    proposal = kept.proposal
    if kept.fault is not None:
        raise StoreError(f"Proposal {proposal.id[:8]} is damaged: {kept.fault}.", "Decline it.")
    if proposal.keeps_text:
        raise StoreError(
            f"Proposal {proposal.id[:8]} writes no text: it keeps one of its memories unchanged.",
            "Approve or decline it.",
        )
    wording = " ".join(text.split())
    if len(wording) > MAX_CHARACTERS:
        raise StoreError(
            f"The text has {len(wording):,} characters; a memory has at most {MAX_CHARACTERS:,}.",
            "Shorten it, and keep the long version as a document.",
        )
    if wording == proposal.draft.text:
        return kept
    # The model did not write this draft.
    draft = Draft((_claim(wording, memories),))
    return KeptProposal(replace(proposal, draft=draft, by_model=False, by_person=True))


def _claim(text: str, memories: Sequence[Memory]) -> Claim:
    quoted = tuple(memory.id for memory in memories if text in memory.content)
    if quoted:
        return Claim(text, quoted)
    return Claim(text, tuple(memory.id for memory in memories), written_by=BY_PERSON)


def _apply_all(
    file: MemoryFile,
    ready: Sequence[InspectedProposal],
    embedding_model: str,
    now: datetime,
    way: str,
    progress: Progress,
) -> ReviewResult:
    run = RunRecord(new_id(), now)
    tenants = sorted({inspected.result.proposal.tenant for inspected in ready})
    before = count_memories(file, tenants, count_tokens)
    results: list[Result] = []

    def report() -> dict[str, Any]:
        after = count_memories(file, tenants, count_tokens)
        return run_report(before, after, (result.state for result in results), Usage())

    with run.begun(file, {"tenant": tenants, DECIDED: way}, report):
        names = {tenant: read_entities(file, tenant) for tenant in tenants}

        def context(kept: KeptProposal) -> RunContext:
            return RunContext(run.run_id, now, kept.model, kept.model_key, embedding_model)

        taken: dict[str, Proposal] = {}

        def apply(part: Sequence[InspectedProposal]) -> list[Result]:
            by_now = ChainMap({}, taken)  # discarded if the transaction is rolled back
            with file.transaction():
                done = [
                    _apply_or_report(file, context(inspected.kept), inspected, names, by_now)
                    for inspected in part
                ]
            taken.update(by_now.maps[0])
            return done

        try:
            for part in batches(ready, lambda inspected: inspected.kept.proposal):
                for done in apply_together(part, apply):
                    results += done
                    progress.stage("applying", len(results), len(ready))
        except StoreError as error:
            if not any(result.state == "applied" for result in results):
                raise
            # Applied proposals stay applied and are reported; the rest stay pending.
            left = ready[len(results) :]
            results += [Result(each.kept.proposal, "failed", error.message) for each in left]
        verdict: Verdict = (
            "done" if all(result.state == "applied" for result in results) else "partial"
        )
        run.end(file, verdict, report())
    return ReviewResult(run.run_id, tuple(results))


def _apply_or_report(
    file: MemoryFile,
    run: RunContext,
    ready: InspectedProposal,
    names: Mapping[str, Mapping[str, Sequence[str]]],
    taken: MutableMapping[str, Proposal],
) -> Result:
    """Apply a proposal, or return why not. taken: proposals applied so far, by memory id."""
    proposal = ready.result.proposal
    if ready.result.state != "planned":
        return ready.result
    earlier = next(
        ((memory_id, taken[memory_id]) for memory_id in proposal.sources if memory_id in taken),
        None,
    )
    if earlier is not None:
        result = replace(ready.result, state="stale", why=_came_first(*earlier))
        record(file, run, result)
        return result
    result = apply_proposal(file, run, ready.result, ready.vector, names[proposal.tenant])
    if result.state == "applied":
        decide_pending(file, proposal.id, "approved", timestamp(run.now))
        taken.update(dict.fromkeys(_changed_by(proposal), proposal))
    return result


def _changed_by(proposal: Proposal) -> tuple[str, ...]:
    """Return the ids of the memories that applying a proposal changes."""
    if proposal.keeps_text or proposal.survivor is None:
        return proposal.leaving
    return (*proposal.leaving, proposal.survivor)


def _came_first(memory_id: str, earlier: Proposal) -> str:
    return f"memory {memory_id} was already changed by {earlier.operation} {earlier.id[:8]}"
