"""What the tools of the MCP server answer, as JSON objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slowwave.consolidation.planning.savings import savings_of
from slowwave.consolidation.proposals import Result
from slowwave.consolidation.recall.search import Hit
from slowwave.consolidation.running.review_queue import WaitingProposal
from slowwave.consolidation.text.injection import commands
from slowwave.store.feedback import MIN_TRUST, Feedback
from slowwave.store.ledger import Decision, Run


@dataclass(frozen=True)
class Page:
    """Which of many an agent is shown."""

    limit: int = 50
    offset: int = 0

    def of(self, results: Sequence[Result]) -> Sequence[Result]:
        """Return those that it is shown."""
        return results[self.offset : self.offset + self.limit]


def mark(text: str) -> dict[str, str]:
    """Return the sentence by which a text gives orders to its reader, if it does."""
    found = commands(text)
    return {"tries_to_command": found[0]} if found else {}


def suspicious(texts: Mapping[str, str]) -> dict[str, str]:
    """Return such a sentence of each text that has one, by the ids of memories."""
    return {one: found[0] for one, text in texts.items() if (found := commands(text))}


def hit_as_json(hit: Hit) -> dict[str, Any]:
    """Return what was found of a question."""
    memory = hit.memory
    answer: dict[str, Any] = {
        "id": memory.id,
        "content": memory.content,
        "kind": memory.kind,
        "layer": memory.layer,
        "status": memory.status,
        "observed_at": memory.observed_at,
        "trust": memory.trust,
        "tags": memory.tags,
        "session": memory.session,
        "relevance": round(hit.relevance, 4),
        "sources": hit.sources,
        "later": None if hit.later is None else hit.later.id,
        # Read by scripts; nothing is guessed any longer.
        "perhaps_later": None,
    }
    if hit.key.id != memory.id:
        answer["found_by"] = hit.key.content
    return answer | mark(memory.content)


def waiting_as_result(waiting: WaitingProposal) -> Result:
    """Return what waits for review as a night would tell of it, with what it is worth."""
    proposal = waiting.kept.proposal
    if waiting.stale is not None:
        return Result(proposal, "stale", waiting.stale)
    worth = savings_of(proposal, waiting.memories.__getitem__)
    return Result(proposal, "pending", waiting.decision.why, worth=worth)


def proposal_as_json(result: Result, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return a proposal: what it is about and would write first, then what became of it."""
    proposal, worth = result.proposal, result.worth
    return {
        "id": proposal.id,
        "operation": proposal.operation,
        "sources": [{"id": one, "content": texts.get(one)} for one in proposal.sources],
        "leaving": proposal.leaving,
        "draft": proposal.draft.text,
        "reason": proposal.reason,
        "state": result.state,
        "why": result.why,
        "derived": result.derived,
        "trust": worth.trust if worth else None,
        "tokens_before": worth.tokens_before if worth else None,
        "tokens_after": worth.tokens_after if worth else None,
    }


def run_as_json(run: Run, decided: Sequence[Decision]) -> dict[str, Any]:
    """Return a run with what it decided."""
    report = run.report or {}
    return {
        "id": run.id,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "outcome": run.outcome,
        "before": report.get("before"),
        "after": report.get("after"),
        "proposals": list(map(_decision, decided)),
    }


def _decision(decision: Decision) -> dict[str, Any]:
    names = ("operation", "state", "why", "reason", "sources", "survivor", "derived", "draft")
    return {"id": decision.key} | {name: getattr(decision, name) for name in names}


def judged_as_json(judged: Feedback) -> dict[str, Any]:
    """Return what came of an agent's word on a memory."""
    return {
        "memory": judged.memory.id,
        "trust_before": judged.memory.trust,
        "trust": judged.trust,
        "made_from_it": [{"id": one.id, "content": one.content} for one in judged.derived],
        "undone": judged.undone,
        "said": " ".join(_said(judged)),
    }


def _said(judged: Feedback) -> Iterable[str]:
    """Say what follows from an agent's word on a memory."""
    yield f"Trust in it is {judged.trust:.2f} now; it was {judged.memory.trust:.2f}."
    if judged.derived:
        yield f"{len(judged.derived)} made from it may mislead as well: look at them."
    if judged.undone:
        yield f"That is below {MIN_TRUST}: what the run had made of its sources was undone."
    if judged.why_not is not None:
        yield f"That is below {MIN_TRUST}, but it could not be undone: {judged.why_not}"
