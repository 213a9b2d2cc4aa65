"""What the tools of the MCP server answer, as JSON objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slowwave.cli.terminal.wording import time_of
from slowwave.cli.views.memory import findings_as_json, mark
from slowwave.cli.views.proposal import (
    ProposalView,
    decision_as_json,
    proposal_as_json,
    sources_as_json,
    view_decision,
)
from slowwave.cli.views.run import run_as_json
from slowwave.consolidation.recall.search import Hit
from slowwave.store.feedback import MIN_TRUST, Feedback
from slowwave.store.ledger import Decision, Run


def suspicious(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the first instruction of each text that contains one, by memory id."""
    marked = {memory_id: mark(text) for memory_id, text in texts.items()}
    return {memory_id: marks["tries_to_command"] for memory_id, marks in marked.items() if marks}


def hit_as_json(hit: Hit) -> dict[str, Any]:
    """Return a memory that was found."""
    memory = hit.memory
    answer: dict[str, Any] = {
        "id": memory.id,
        "content": memory.content,
        "kind": memory.kind,
        "layer": memory.layer,
        "status": memory.status,
        "observed_at": time_of(memory.observed_at),
        "trust": memory.trust,
        "tags": memory.tags,
        "session": memory.session,
        **findings_as_json(hit),
    }
    if hit.key.id != memory.id:
        answer["found_by"] = hit.key.content
    return answer


def shown_proposal(view: ProposalView) -> dict[str, Any]:
    """Return a proposal as format 1: first what it would do, with the texts of its sources."""
    first = {
        "id": view.proposal.id,
        "operation": view.proposal.operation,
        "sources": sources_as_json(view),
        "leaving": view.proposal.leaving,
        "draft": view.draft,
        "reason": view.proposal.reason,
    }
    return first | proposal_as_json(view) | first


def shown_run(run: Run, decisions: Sequence[Decision]) -> dict[str, Any]:
    """Return a run with its proposals, as `slowwave log RUN --json` does."""
    proposals = [decision_as_json(view_decision(row, {}), row) for row in decisions]
    return run_as_json(run) | {"proposals": proposals}


def feedback_as_json(feedback: Feedback) -> dict[str, Any]:
    """Return what became of a memory that an agent judged."""
    return {
        "memory": feedback.memory.id,
        "trust_before": feedback.memory.trust,
        "trust": feedback.trust,
        "made_from_it": [
            {"id": memory.id, "content": memory.content} for memory in feedback.derived
        ],
        "undone": feedback.undone,
        "said": " ".join(_consequences(feedback)),
    }


def _consequences(feedback: Feedback) -> Iterator[str]:
    before = feedback.memory.trust
    went = "fell" if feedback.trust < before else "rose"
    yield f"Its trust {went} from {before:.2f} to {feedback.trust:.2f}."
    if feedback.derived:
        yield f"{len(feedback.derived)} memories derived from it may also mislead: check them."
    if feedback.undone:
        yield f"Its trust is below {MIN_TRUST}, so the proposal that derived it was undone."
    if feedback.why_not is not None:
        yield f"That is below {MIN_TRUST}, but it could not be undone: {feedback.why_not}"
