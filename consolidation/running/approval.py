"""Apply, decline and edit pending proposals, with the code of a night."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import BY_PERSON, Draft, Proposal, Result, Usage
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.store.entities import read_entities
from slowwave.store.errors import StoreError
from slowwave.store.file import MemoryFile
from slowwave.store.ledger import DECIDED, Decision, decide_pending, make_pending, read_latest
from slowwave.store.memories import Counts, count_memories
from slowwave.store.records import MAX_CHARACTERS, Claim, Memory, new_id, timestamp
from slowwave.store.undo.undo import undo_proposal_within

from .apply import apply_in_batches, apply_proposal, record
from .revalidation import revalidate
from .run_in_file import RunRecord, Verdict, run_report


@dataclass(frozen=True)
class ReviewResult:
    """The results of the proposals that a person decided about."""

    # None if nothing was changed.
    run_id: str | None
    results: tuple[Result, ...]


def apply_approved(
    file: MemoryFile,
    proposals: Sequence[Result],
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
    ready = revalidate(file, proposals, embedder, progress, is_trusted)
    if not any(checked.state == "planned" for checked in ready):
        return ReviewResult(None, tuple(ready))
    return _apply_all(file, ready, now, way, progress)


def find_declined(file: MemoryFile, proposals: Sequence[Result]) -> Iterator[Result]:
    """Yield the result of each proposal whose latest decision is `declined`."""
    for kept in proposals:
        decision = read_latest(file, kept.proposal.id)
        if decision is not None and decision.state == "declined":
            day = decision.decided_at[:10]
            why = f"on {day}: {decision.why or 'by a person'}"
            yield replace(kept, state="declined", why=why)


def record_alone(
    file: MemoryFile, result: Result, counts: Counts, now: datetime, plan: str | None = None
) -> str:
    """Record a result that changes no memory, in a run of its own, and return the run's id.

    file: open for writing under the maintenance lock. No later night makes a declined proposal
    again. plan: the digest of its plan, if it had one. Raises `StoreError`.
    """
    run = RunRecord(new_id(), now)
    with run.begun(file, {"tenant": [result.proposal.tenant]}):
        with file.transaction():
            record(file, run, result)
        run.end(file, "done", run_report(counts, counts, [result.state], Usage()), plan)
    return run.run_id


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


def with_text(kept: Result, text: str, memories: Sequence[Memory]) -> Result:
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
    has_lines = any(memory.is_note for memory in memories)
    wording = text.strip() if has_lines else " ".join(text.split())
    if len(wording) > MAX_CHARACTERS:
        raise StoreError(
            f"The text has {len(wording):,} characters; a memory has at most {MAX_CHARACTERS:,}.",
            "Shorten it, and keep the long version as a document.",
        )
    if wording == proposal.draft.text:
        return kept
    # The model did not write this draft.
    draft = Draft((_claim(wording, memories),))
    return Result(replace(proposal, draft=draft, by_model=False, by_person=True), "pending")


def _claim(text: str, memories: Sequence[Memory]) -> Claim:
    quoted = tuple(memory.id for memory in memories if text in memory.content)
    if quoted:
        return Claim(text, quoted)
    return Claim(text, tuple(memory.id for memory in memories), written_by=BY_PERSON)


def _apply_all(
    file: MemoryFile, ready: Sequence[Result], now: datetime, way: str, progress: Progress
) -> ReviewResult:
    run = RunRecord(new_id(), now)
    tenants = sorted({checked.proposal.tenant for checked in ready})
    before = count_memories(file, tenants, count_tokens)
    results: list[Result] = []
    # The applied proposals, by the ids of the memories that they changed.
    taken: dict[str, Proposal] = {}

    def report() -> dict[str, Any]:
        after = count_memories(file, tenants, count_tokens)
        return run_report(before, after, (result.state for result in results), Usage())

    with run.begun(file, {"tenant": tenants, DECIDED: way}, report):
        names = {tenant: read_entities(file, tenant) for tenant in tenants}

        def apply(part: Sequence[Result]) -> list[Result]:
            by_now = dict(taken)  # discarded if the transaction is rolled back
            with file.transaction():
                done = [
                    _apply_or_report(file, run, checked, names[checked.proposal.tenant], by_now)
                    for checked in part
                ]
            taken.update(by_now)
            return done

        try:
            for done in apply_in_batches(ready, apply):
                results += done
                progress.stage("applying", len(results), len(ready))
        except StoreError as error:
            if not any(result.state == "applied" for result in results):
                raise
            # Applied proposals stay applied and are reported; the rest stay pending.
            left = ready[len(results) :]
            results += [replace(result, state="failed", why=error.message) for result in left]
        is_done = all(result.state == "applied" for result in results)
        verdict: Verdict = "done" if is_done else "partial"
        run.end(file, verdict, report())
    return ReviewResult(run.run_id, tuple(results))


def _apply_or_report(
    file: MemoryFile,
    run: RunRecord,
    ready: Result,
    names: Mapping[str, Sequence[str]],
    taken: dict[str, Proposal],
) -> Result:
    """Apply a proposal, or return why not. taken: proposals applied so far, by memory id."""
    proposal = ready.proposal
    if ready.state != "planned":
        return ready
    for memory_id in proposal.sources:
        if (earlier := taken.get(memory_id)) is not None:
            why = f"memory {memory_id} was already changed by {earlier.operation} {earlier.id[:8]}"
            result = replace(ready, state="stale", why=why)
            record(file, run, result)
            return result
    result = apply_proposal(file, run, ready, names)
    if result.state == "applied":
        decide_pending(file, proposal.id, "approved", timestamp(run.now))
        changed = set(proposal.leaving)
        if proposal.survivor is not None and not proposal.keeps_text:
            changed.add(proposal.survivor)
        taken.update(dict.fromkeys(changed, proposal))
    return result
