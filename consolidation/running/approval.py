"""What a person decided about proposals, carried out as a night would."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import (
    BY_PERSON,
    Claim,
    Draft,
    Proposal,
    Result,
    Usage,
    VerifiedProposal,
)
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.store.entities import read_entities
from slowwave.store.errors import StoreError
from slowwave.store.file import MemoryFile
from slowwave.store.ledger import DECIDED, Decision, decide_pending, make_pending, read_latest
from slowwave.store.memories import count_memories
from slowwave.store.records import MAX_CHARACTERS, new_id, timestamp
from slowwave.store.undo.undo import undo_proposal_within

from .apply import RunContext, apply_written, record
from .batches import apply_together, batches
from .inspection import Inspected, inspect
from .kept_proposal import KeptProposal
from .run_record import RunRecord, Verdict, run_report

if TYPE_CHECKING:
    from slowwave.store.records import Memory


@dataclass(frozen=True)
class Decided:
    """What became of what a person decided about."""

    # None where nothing was changed.
    run_id: str | None
    results: tuple[Result, ...]


def carry_out(
    file: MemoryFile,
    several: Sequence[KeptProposal],
    embedder: Embedder,
    now: datetime,
    way: str,
    progress: Progress | None = None,
    is_vouched: bool = True,
) -> Decided:
    """Apply proposals just as they are kept, by the code of a night, as a run of its own.

    file: open for writing, and no other run may touch it meanwhile. way: by which a person decided,
    for the record of the run. is_vouched: whether the memory file itself kept them.

    Each is checked first: one that is damaged, or whose sources have changed, is `stale`, one
    whose draft does not say what they say is `rejected`, and nothing of it is written. Raises
    `StoreError`, and `EmbedderError`.
    """
    progress = progress or Progress()
    ready = inspect(file, several, embedder, progress, is_vouched)
    if not any(one.written.state == "planned" for one in ready):
        return Decided(None, tuple(_as_result(one.written) for one in ready))
    return _applied(file, ready, embedder.name, now, way, progress)


def find_declined(file: MemoryFile, several: Sequence[KeptProposal]) -> Iterator[Result]:
    """Yield those of some proposals about which the latest decision is that they are not wanted."""
    for one in several:
        decision = read_latest(file, one.proposal.id)
        if decision is not None and decision.state == "declined":
            day = decision.decided_at[:10]
            yield Result(one.proposal, "declined", f"on {day}: {decision.why or 'by a person'}")


def let_wait_again(file: MemoryFile, decision: Decision, run_id: str | None, now: datetime) -> None:
    """Take back what a person decided about a proposal, so that it waits as before.

    file: open for writing, and no other run may touch it meanwhile. decision: as it waited.
    run_id: of the run that carried it out; None if it was declined. Raises `ChangedSince`, with
    nothing changed, if what was written cannot be taken back.
    """
    with file.transaction():
        if run_id is not None:
            undo_proposal_within(file, run_id, decision.key, timestamp(now))
        else:
            make_pending(file, decision, timestamp(now))


def reworded(kept: KeptProposal, text: str, memories: Sequence[Memory]) -> KeptProposal:
    """Return a proposal that writes a person's text. Raises `StoreError` if it writes none.

    It cites the sources in which it stands word for word, or else all. What is the draft still is
    approved as it was kept.
    """
    proposal = kept.proposal
    if kept.fault is not None:
        raise StoreError(f"Proposal {proposal.id[:8]} is damaged: {kept.fault}.", "Decline it.")
    if proposal.keeps_text:
        raise StoreError(
            f"Proposal {proposal.id[:8]} writes no text: one of its memories stays as it is.",
            "Approve or decline it.",
        )
    said = " ".join(text.split())
    if len(said) > MAX_CHARACTERS:
        raise StoreError(
            f"The text has {len(said):,} characters; a memory has at most {MAX_CHARACTERS:,}.",
            "Keep it as a document, and write what matters in it.",
        )
    if said == proposal.draft.text:
        return kept
    # The model that wrote the draft before has no part in this one.
    draft = Draft((_claim(said, memories),))
    return KeptProposal(replace(proposal, draft=draft, by_model=False, by_person=True))


def _claim(text: str, memories: Sequence[Memory]) -> Claim:
    saying = tuple(memory.id for memory in memories if text in memory.content)
    everyone = tuple(memory.id for memory in memories)
    return Claim(text, saying) if saying else Claim(text, everyone, written_by=BY_PERSON)


def _applied(
    file: MemoryFile,
    ready: Sequence[Inspected],
    embedding_model: str,
    now: datetime,
    way: str,
    progress: Progress,
) -> Decided:
    run = RunRecord(new_id(), now)
    tenants = sorted({one.written.proposal.tenant for one in ready})
    before = count_memories(file, tenants, count_tokens)
    results: list[Result] = []

    def report() -> dict[str, Any]:
        after = count_memories(file, tenants, count_tokens)
        return run_report(before, after, (one.state for one in results), Usage())

    with run.begun(file, {"tenant": tenants, DECIDED: way}, report):
        names = {tenant: read_entities(file, tenant) for tenant in tenants}

        def context(kept: KeptProposal) -> RunContext:
            return RunContext(run.run_id, now, kept.model, kept.model_key, embedding_model)

        taken: dict[str, Proposal] = {}

        def apply(part: Sequence[Inspected]) -> list[Result]:
            by_now = ChainMap({}, taken)  # nothing of a part that is rolled back
            with file.transaction():
                done = [
                    _apply_or_report(file, context(one.kept), one, names, by_now) for one in part
                ]
            taken.update(by_now.maps[0])
            return done

        try:
            for part in batches(ready, lambda one: one.kept.proposal):
                for done in apply_together(part, apply):
                    results += done
                    progress.stage("applying", len(results), len(ready))
        except StoreError as error:
            if not any(result.state == "applied" for result in results):
                raise
            # What was applied stays applied, and is reported; the others wait as before.
            left = ready[len(results) :]
            results += [Result(each.kept.proposal, "failed", error.message) for each in left]
        verdict: Verdict = "done" if all(one.state == "applied" for one in results) else "partial"
        run.end(file, verdict, report())
    return Decided(run.run_id, tuple(results))


def _apply_or_report(
    file: MemoryFile,
    run: RunContext,
    ready: Inspected,
    names: Mapping[str, Mapping[str, Sequence[str]]],
    taken: MutableMapping[str, Proposal],
) -> Result:
    """Apply a proposal, or say why not. taken: what changed its memories before; added to."""
    written = ready.written
    if written.state != "planned":
        return _as_result(written)
    proposal = written.proposal
    earlier = next(((one, taken[one]) for one in proposal.sources if one in taken), None)
    if earlier is not None:
        result = Result(proposal, "stale", _came_first(*earlier))
        record(file, run, result)
        return result
    result = apply_written(file, run, written, ready.vector, names[proposal.tenant])
    if result.state == "applied":
        decide_pending(file, proposal.id, "approved", timestamp(run.now))
        taken.update(dict.fromkeys(_changed_by(proposal), proposal))
    return result


def _changed_by(proposal: Proposal) -> tuple[str, ...]:
    """Return the memories that are not what they were once a proposal is applied."""
    if proposal.keeps_text or proposal.survivor is None:
        return proposal.leaving
    return (*proposal.leaving, proposal.survivor)


def _came_first(memory_id: str, earlier: Proposal) -> str:
    return f"memory {memory_id} went into {earlier.operation} {earlier.id[:8]}, which came first"


def _as_result(written: VerifiedProposal) -> Result:
    return Result(written.proposal, written.state, written.why)
