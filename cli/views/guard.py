"""The guard of recall: what was requested, and what was measured, in JSON and text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted

if TYPE_CHECKING:
    from slowwave.consolidation.evaluation.guarded_night import GuardedNight, RecallGuard


def guard_of(questions: str | None, limit: float) -> RecallGuard | None:
    """Return the guard that --guard requests; None if it requests none. Raises `QuestionsError`."""
    if questions in (None, "none"):
        return None
    from slowwave.consolidation.evaluation.guarded_night import RecallGuard
    from slowwave.consolidation.evaluation.questions import read_questions

    return RecallGuard(None if questions == "self" else read_questions(Path(questions)), limit)


def guard_as_json(night: GuardedNight | None) -> dict[str, Any]:
    """Return what was measured, under a key of its own; nothing without a guard."""
    if night is None:
        return {}
    return {
        "guard": {
            "questions": night.questions,
            "limit": night.limit,
            "recall@10": {
                "before": round(night.before, 4),
                "unguarded": round(night.unguarded, 4),
                "guarded": round(night.guarded, 4),
            },
            # Whether what waits for a person was measured as if it were approved.
            "as_if_approved": night.options.review != "never",
            "calls": night.usage.calls,
            "left_out": [
                {
                    "id": proposal.id,
                    "operation": proposal.operation,
                    "sources": list(proposal.sources),
                }
                for proposal in night.excluded
            ],
        }
    }


def guard_as_text(night: GuardedNight | None) -> list[str]:
    """Return what was measured, line by line; nothing without a guard."""
    if night is None:
        return []
    questions = counted(night.questions, "question", "questions")
    lines = [
        f"Guarded by {questions}: recall@10 {night.before:.3f} before, {night.guarded:.3f} after "
        "(tried on a copy)."
    ]
    if night.options.review != "never":
        lines.append(
            "This holds if all proposals that this night lets wait are approved; those that waited "
            "before were not tried."
        )
    if night.excluded:
        count = counted(len(night.excluded), "proposal", "proposals")
        lines.append(
            f"Left out: {count}; with them recall@10 would be {night.unguarded:.3f}, and it may "
            f"fall by {night.limit:g}:"
        )
        lines += [
            clean(f"- {proposal.operation} {proposal.id[:12]}: {proposal.reason}")
            for proposal in night.excluded
        ]
    return ["", *lines]
