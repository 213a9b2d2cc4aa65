"""A proposal in JSON and text, whether a run plans it, made it, or queues it for a person."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import shortened_for_stdout, time_of
from slowwave.consolidation.proposals import Proposal, Result, Savings
from slowwave.consolidation.running.kept_proposal import VECTOR, kept_from_decision
from slowwave.store.kept_form import KEPT

from .memory import MemoryView, authors_of, dated, missing, sort_by_time, view_memories

if TYPE_CHECKING:
    from slowwave.consolidation.proposals import State
    from slowwave.consolidation.running.review_queue import PendingProposal
    from slowwave.store.changes import TextChange
    from slowwave.store.ledger import Decision
    from slowwave.store.records import Claim

LEGEND = "Marks: - superseded, * kept, = result."
_EFFECTIVE = ("planned", "applied", "approved")
# A draft that passed its checks and is not applied: its text is shown.
_DISCARDED = ("declined", "stale")


@dataclass(frozen=True)
class ProposalView:
    """A proposal and its state, with the memories that a view shows of it."""

    proposal: Proposal
    state: str
    why: str | None
    # The sources that are, or would be, no longer active.
    leaving: Collection[str]
    # The resulting text; None if there is none.
    draft: str | None
    claims: Sequence[Claim]
    # Sources and survivor, as far as they are known; {} if no text is shown.
    memories: Mapping[str, MemoryView] = field(default_factory=dict)
    # The id of the new memory; None if nothing was inserted.
    derived: str | None = None
    # None if it is not known.
    worth: Savings | None = None
    # Texts that the run has replaced since, by memory id.
    before: Mapping[str, str] = field(default_factory=dict)
    # Whether it, or the decision that applied it, is applied.
    is_applied: bool = False

    @property
    def effect(self) -> str:
        """`effective` if agents read the result or will, `pending`, or `discarded`."""
        if self.state in _EFFECTIVE:
            return "effective"
        return "pending" if self.state == "pending" else "discarded"

    @property
    def result(self) -> str | None:
        """The resulting text, of a rejected proposal also."""
        survivor = self.memories.get(self.proposal.survivor or "")
        if self.proposal.keeps_text and survivor is not None:
            return survivor.content
        return self.draft

    @property
    def made(self) -> str | None:
        """The id of the memory that contains the result; None if that would be a new one."""
        return self.derived or self.proposal.survivor

    @property
    def authors(self) -> list[str]:
        """Who wrote the sentences of the result, if a model or a person did."""
        return [] if self.proposal.keeps_text else authors_of(self.claims)

    @property
    def sources(self) -> list[tuple[bool, MemoryView]]:
        """Each source by time, and whether it goes. The survivor is shown as the result."""
        proposal = self.proposal
        is_grown = not proposal.keeps_text and proposal.survivor in self.before
        hidden = None if is_grown else proposal.survivor
        return [
            (memory_id in self.leaving, self._source(memory_id))
            for memory_id in sort_by_time(proposal.sources, self.memories)
            if memory_id != hidden
        ]

    def _source(self, memory_id: str) -> MemoryView:
        before, memory = self.before.get(memory_id), self.memories.get(memory_id)
        if memory is None:
            return missing(memory_id, before) if before else missing(memory_id)
        return replace(memory, content=before) if before else memory

    def lines(self, verbose: bool = False, whole: bool = False) -> Iterator[str]:
        """Yield it line by line.

        verbose: with the similarity of its sources, and its trust. whole: as in `dated`.
        """
        proposal = self.proposal
        about = "; ".join([proposal.reason, *self._numbers(verbose)])
        yield ""
        yield clean(f"{proposal.operation} {proposal.id[:8]} ({self.state}): {about}")
        for is_leaving, memory in self.sources:
            yield f"  {'-' if is_leaving else '*'} {dated(memory, whole)}"
        if self.why:
            yield clean(f"  ! {self.why}")
        result = self._result_line(whole)
        if self.state in _DISCARDED or (self.effect == "discarded" and proposal.keeps_text):
            yield f"    would have been: {result}"
        if self.effect == "discarded":
            return
        yield f"  = {result}"
        for author in self.authors:
            yield clean(f"    {author}")
        for omitted in proposal.left_out:
            yield clean(f'    omitted ({omitted.why}): "{omitted.words}"')

    def _numbers(self, verbose: bool) -> Iterator[str]:
        """Yield what it saves; if verbose, also how similar its sources are, and its trust."""
        if self.worth is not None and self.worth.tokens_after is not None:
            yield f"{self.worth.tokens_before:,} -> {self.worth.tokens_after:,} tokens"
        if verbose:
            yield f"mean similarity {self.proposal.mean_similarity:.2f}"
            if self.worth is not None and self.worth.trust is not None:
                yield f"trust {self.worth.trust:g}"

    def _result_line(self, whole: bool) -> str:
        """Return the result on one line, with the day and file of a result that is a source."""
        if self.proposal.keeps_text:
            return dated(self.memories.get(self.proposal.survivor or ""), whole)
        return (clean if whole else shortened_for_stdout)(self.draft or "")


def view_result(result: Result, memories: Mapping[str, MemoryView] | None = None) -> ProposalView:
    """Return the view of a proposal that a run planned or decided about."""
    proposal = result.proposal
    memories = memories or {}
    is_open = result.state in (*_EFFECTIVE, "pending")
    return ProposalView(
        proposal=proposal,
        state=result.state,
        why=result.why,
        leaving=proposal.leaving if is_open else (),
        draft=proposal.draft.text,
        claims=proposal.draft.claims,
        memories=memories,
        derived=result.derived,
        worth=result.worth,
        before=_unchanged_survivor(proposal, result.state, memories),
        is_applied=result.state == "applied",
    )


def _unchanged_survivor(
    proposal: Proposal, state: str, memories: Mapping[str, MemoryView]
) -> dict[str, str]:
    """Return the text of a survivor that would grow, but has not grown."""
    survivor = memories.get(proposal.survivor or "")
    is_grown = state in ("applied", "approved", "undone")
    return {} if survivor is None or is_grown else {survivor.id: survivor.content}


def view_decision(
    decision: Decision,
    memories: Mapping[str, MemoryView],
    changes: Sequence[TextChange] = (),
    claims: Sequence[Claim] = (),
    applied: Decision | None = None,
) -> ProposalView:
    """Return the view of a proposal that the ledger records.

    changes, claims: of the proposal in this run. applied: the decision that applied it, if a
    person approved it.
    """
    kept, final, state = kept_from_decision(decision), applied or decision, decision.state
    # Another run makes the changes of these.
    is_kept = state in ("pending", "approved")
    result = replace(
        kept,
        state=cast("State", state),
        why=kept.fault if kept.fault and state == "pending" else _why_queued(decision, applied),
        derived=final.derived,
        worth=_worth_of(decision, changes, memories) if state == "applied" and changes else None,
    )
    view = view_result(result, memories)
    return replace(
        view,
        leaving={change.memory for change in changes if change.after is None} or view.leaving,
        draft=final.draft or view.draft or None,
        claims=() if is_reworded(decision, applied) else claims or (view.claims if is_kept else ()),
        before={change.memory: change.before for change in changes if change.before is not None}
        or view.before,
        is_applied=final.state == "applied",
    )


def view_pending(
    pending: PendingProposal,
    memories: Mapping[str, MemoryView] | None = None,
    applied: Decision | None = None,
) -> ProposalView:
    """Return the view of a proposal that is, or was, pending.

    memories: by default those that are still in the file. applied: as in `view_decision`.
    """
    known_memories = view_memories(pending.memories.values()) if memories is None else memories
    view = view_decision(pending.decision, known_memories, applied=applied)
    if pending.stale:
        return replace(view, state="stale", why=pending.stale, leaving=())
    is_known = pending.memories.keys() >= set(view.proposal.sources)
    if pending.decision.state != "pending" or not is_known:
        return view
    from slowwave.consolidation.running.savings import savings_of

    return replace(view, worth=savings_of(view.proposal, pending.memories.__getitem__))


def _why_queued(decision: Decision, applied: Decision | None) -> str | None:
    """Return why a proposal was queued, and of an approved one which run applied it."""
    if decision.state != "approved":
        return decision.why
    parts = [decision.why] if decision.why else []
    if applied is not None:
        parts.append(f"applied by run {applied.run_id}")
    if is_reworded(decision, applied):
        parts.append("in a person's words")
    return "; ".join(parts) or None


def is_reworded(decision: Decision, applied: Decision | None) -> bool:
    """Whether a person changed the text before it was applied."""
    return applied is not None and applied.draft != decision.draft


def _worth_of(
    decision: Decision, changes: Sequence[TextChange], memories: Mapping[str, MemoryView]
) -> Savings:
    """Return the tokens of a proposal's texts, before and after the run, without archived ones."""
    from slowwave.consolidation.text.tokens import count_tokens

    changed = {change.memory for change in changes}
    unchanged = sum(
        count_tokens(memories[memory_id].content)
        for memory_id in set(decision.sources) - changed
        if memory_id in memories and memories[memory_id].status != "archived"
    )
    before = sum(count_tokens(change.before or "") for change in changes)
    after = sum(count_tokens(change.after or "") for change in changes)
    return Savings(unchanged + before, unchanged + after, None)


def proposal_as_json(view: ProposalView) -> dict[str, Any]:
    """Return a proposal as format 1."""
    proposal, worth = view.proposal, view.worth
    return {
        "id": proposal.id,
        "operation": proposal.operation,
        "tenant": proposal.tenant,
        "sources": proposal.sources,
        "survivor": proposal.survivor,
        "derived": view.derived,
        "entities": proposal.entities,
        "similarity": {"min": proposal.min_similarity, "mean": proposal.mean_similarity},
        "cohesion": proposal.mean_similarity,
        "trust": worth.trust if worth else None,
        "tokens_before": worth.tokens_before if worth else None,
        "tokens_after": worth.tokens_after if worth else None,
        "reason": proposal.reason,
        "state": view.state,
        "why": view.why,
        "draft": view.draft,
        "claims": [asdict(claim) for claim in view.claims],
        "by_model": proposal.by_model,
        "left_out": [asdict(omitted) for omitted in proposal.left_out],
        # A model is asked about windows: their estimates are under "questions".
        "estimated_tokens": 0,
    }


def sources_as_json(view: ProposalView) -> list[dict[str, Any]]:
    """Return the sources of a proposal with their texts; null if they are not in the file."""
    sources = [(memory_id, view.memories.get(memory_id)) for memory_id in view.proposal.sources]
    return [
        {
            "id": memory_id,
            "content": memory.content if memory else None,
            "observed_at": time_of(memory.observed_at) if memory else None,
            "status": memory.status if memory else None,
            "goes": memory_id in view.proposal.leaving,
        }
        for memory_id, memory in sources
    ]


def decision_as_json(view: ProposalView, decision: Decision) -> dict[str, Any]:
    """Return a proposal as format 1, with the row of the ledger."""
    row = asdict(decision)
    # The vector of a pending draft: hundreds of numbers that tell a reader nothing.
    kept_fields = row["numbers"].get(KEPT)
    if isinstance(kept_fields, dict):
        kept_fields.pop(VECTOR, None)
    return {**proposal_as_json(view), "id": row.pop("key"), **row}
