"""Check, apply, decline and edit proposals that a person decides about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import (
    BY_PERSON,
    Draft,
    Proposal,
    Result,
    Source,
    State,
    Usage,
)
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.consolidation.text.tokens import count_tokens
from slowwave.consolidation.vectors.embedder import Embedder, encode_portions, refuse_another_space
from slowwave.consolidation.vectors.matrix import TextVectors
from slowwave.store.errors import StoreError
from slowwave.store.file import MemoryFile
from slowwave.store.ledger import DECIDED, Decision, decide_pending, make_pending
from slowwave.store.memories import count_memories
from slowwave.store.records import MAX_CHARACTERS, Claim, Memory, timestamp
from slowwave.store.undo.undo import undo_proposal_within
from slowwave.store.vectors import from_blob, is_sound, read_vectors_by_id, to_blob

from .apply import apply_proposal, find_stale, in_batches, record
from .review_queue import read_sources
from .run_in_file import RunInFile, Verdict, run_report


@dataclass(frozen=True)
class ReviewResult:
    """The results of the proposals that a person decided about."""

    # None if nothing was changed.
    run_id: str | None
    results: tuple[Result, ...]


@dataclass(frozen=True)
class Approval:
    """Applies proposals that a person approved, in a run of their own."""

    # Open for writing under the maintenance lock.
    file: MemoryFile
    embedder: Embedder
    now: datetime
    # How the person decided, recorded with the run.
    way: str
    progress: Progress = field(default_factory=Progress)
    interruption: Interruption = field(default_factory=Interruption)

    def apply(self, proposals: Sequence[Result]) -> ReviewResult:
        """Apply proposals unchanged.

        Each is checked first. A damaged proposal, or one whose sources changed, is `stale`; one
        whose draft its sources do not support is `rejected`; one that the database rejects is
        `failed`. None of these writes a memory. An interruption skips the rest, and is raised only
        if nothing was applied. Raises `StoreError` and `EmbedderError`.
        """
        checked = self._check(proposals)
        if not any(result.state == "planned" for result in checked):
            return ReviewResult(None, tuple(checked))
        tenants = sorted({result.proposal.tenant for result in checked})
        options = {"tenant": tenants, DECIDED: self.way}
        run = RunInFile(self.file, self.now, options, self.interruption)
        before = count_memories(self.file, tenants, count_tokens)
        results: list[Result] = []
        # The applied proposals, by the ids of the memories that they changed.
        changed_by: dict[str, Proposal] = {}
        with run.working(), run.writing() as file:
            for batch in in_batches(checked):
                with self.interruption.deferred():
                    with file.transaction():
                        decided = [self._apply(run, result, changed_by) for result in batch]
                    results += decided
                    run.has_results |= any(result.state == "applied" for result in decided)
                self.progress.stage("applying", len(results), len(checked))
        # Applied proposals stay applied and are reported; the rest stay pending.
        state: State = "failed" if run.broken_off else "skipped"
        why = run.broken_off.message if run.broken_off else "the run was interrupted"
        results += [replace(result, state=state, why=why) for result in checked[len(results) :]]
        applied = sum(result.state == "applied" for result in results)
        verdict: Verdict = "partial" if applied else "failed"
        verdict = "done" if applied == len(results) else verdict
        after = count_memories(self.file, tenants, count_tokens)
        report = run_report(before, after, (result.state for result in results), Usage())
        run.end("interrupted" if run.interrupted else verdict, report)
        # The Ctrl-C of a Python program that calls this is raised, too.
        if run.interrupted and not (applied and self.interruption.requested):
            raise KeyboardInterrupt
        return ReviewResult(run.id, tuple(results))

    def _apply(self, run: RunInFile, checked: Result, changed_by: dict[str, Proposal]) -> Result:
        """Apply a proposal, or return why not. changed_by: applied proposals by memory id."""
        proposal = checked.proposal
        if checked.state != "planned":
            return checked
        for memory_id in proposal.sources:
            if (earlier := changed_by.get(memory_id)) is not None:
                change = f"changed by {earlier.operation} {earlier.id[:8]}"
                why = f"memory {memory_id} was already {change}"
                result = replace(checked, state="stale", why=why)
                record(self.file, run, result)
                return result
        result = apply_proposal(self.file, run, checked)
        if result.state == "applied":
            decide_pending(self.file, proposal.id, "approved", timestamp(self.now))
            changed = set(proposal.leaving)
            if proposal.survivor is not None and not proposal.keeps_text:
                changed.add(proposal.survivor)
            changed_by.update(dict.fromkeys(changed, proposal))
        return result

    def _check(self, proposals: Sequence[Result]) -> list[Result]:
        """Return proposals as `planned` if they can still be applied, with their drafts' vectors.

        Sources and drafts whose vectors are kept are not embedded again.
        """
        from slowwave.consolidation.writing.draft_check import find_faults

        memories = read_sources(self.file, proposals)
        checked = [
            replace(result, state="planned" if why is None else "stale", why=why)
            for result in proposals
            for why in [find_stale(result, memories)]
        ]
        planned = [result for result in checked if result.state == "planned"]
        # Unchanged texts need no vectors.
        drafts = [result for result in planned if not result.proposal.keeps_text]
        sources_of = self._read_sources(drafts, memories)
        vectors = self._draft_vectors(drafts, sources_of)
        for index, result in enumerate(checked):
            if result.state == "planned":
                sources = sources_of.get(result.proposal.id)
                faults = [] if sources is None else find_faults(result.proposal, sources)
                checked[index] = replace(
                    result,
                    state="rejected" if faults else "planned",
                    why="; ".join(faults) or None,
                    vector=vectors.get(result.proposal.id),
                )
            self.progress.stage("checking", index + 1, len(checked))
        return checked

    def _read_sources(
        self, drafts: Sequence[Result], memories: Mapping[str, Memory]
    ) -> dict[str, list[Source]]:
        """Return the sources of drafts, sorted, with their vectors, by the ids of proposals."""
        ids = sorted({memory_id for draft in drafts for memory_id in draft.proposal.sources})
        kept_vectors = read_vectors_by_id(self.file, self.embedder.name, ids)
        vectors = TextVectors([memories[memory_id] for memory_id in ids], kept_vectors)
        vectors.complete(self.embedder, lambda _: None, Progress())
        of_drafts = {
            draft.proposal.id: [memories[memory_id] for memory_id in sorted(draft.proposal.sources)]
            for draft in drafts
        }
        return {key: Source.of(members, vectors.of(members)) for key, members in of_drafts.items()}

    def _draft_vectors(
        self, drafts: Sequence[Result], sources_of: Mapping[str, Sequence[Source]]
    ) -> dict[str, tuple[str, bytes]]:
        """Return the embedding model and the vector of each draft, by the proposal's id.

        Each text is embedded once. A kept vector is used if the sources have vectors of that kind.
        """
        embedder = self.embedder
        vector_of: dict[str, tuple[str, bytes]] = {}
        missing: dict[str, str] = {}
        for draft in drafts:
            proposal = draft.proposal
            model, blob = draft.vector or ("", b"")
            expected = len(to_blob(sources_of[proposal.id][0].vector))
            if model == embedder.name and is_sound(blob) and len(blob) == expected:
                vector_of[proposal.id] = model, blob
            else:
                missing[proposal.id] = proposal.draft.text
        texts = list(dict.fromkeys(missing.values()))
        stage = partial(self.progress.stage, "embedding")
        embedded = {
            texts[position]: to_blob(vector)
            for positions, vectors in encode_portions(embedder, texts, stage)
            for position, vector in zip(positions, vectors, strict=True)
        }
        vector_of |= {key: (embedder.name, embedded[text]) for key, text in missing.items()}
        if missing:
            # Before anything is applied.
            first = next(iter(missing))
            vector = from_blob(vector_of[first][1])
            refuse_another_space(embedder, vector, sources_of[first][0].vector)
        return vector_of


def record_alone(file: MemoryFile, result: Result, now: datetime, plan: str | None = None) -> str:
    """Record a result that changes no memory, in a run of its own, and return the run's id.

    file: open for writing under the maintenance lock. No later night makes a declined proposal
    again. plan: the digest of its plan, if it had one. Raises `StoreError`.
    """
    tenants = [result.proposal.tenant]
    run = RunInFile(file, now, {"tenant": tenants})
    with run.recorded(tenants, [result.state], plan), file.transaction():
        record(file, run, result)
    return run.id


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


def with_text(result: Result, text: str, memories: Sequence[Memory]) -> Result:
    """Return a proposal with a person's text as its draft; unchanged if the text is the draft.

    The draft cites the sources that contain it verbatim, or else all of them. Raises `StoreError`
    if the proposal is damaged or writes no text, or the text is too long.
    """
    proposal = result.proposal
    if result.fault is not None:
        raise StoreError(f"Proposal {proposal.id[:8]} is damaged: {result.fault}.", "Decline it.")
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
        return result
    quoted = tuple(memory.id for memory in memories if wording in memory.content)
    ids = quoted or tuple(memory.id for memory in memories)
    draft = Draft((Claim(wording, ids, written_by=None if quoted else BY_PERSON),))
    # The model did not write this draft.
    return Result(replace(proposal, draft=draft, by_model=False, by_person=True), "pending")
