"""The guard of recall: what is asked for, and what it found, for people and for programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.memory_texts import counted
from slowwave.cli.terminal.output import clean

if TYPE_CHECKING:
    from slowwave.consolidation.evaluation.guarded_night import RecallGuard, Verdict


def guard_of(questions: str | None, limit: float) -> RecallGuard | None:
    """Return what --guard asks for; None where it asks for nothing. Raises `QuestionsError`."""
    if questions in (None, "none"):
        return None
    from slowwave.consolidation.evaluation.guarded_night import RecallGuard
    from slowwave.consolidation.evaluation.questions import read_questions

    return RecallGuard(None if questions == "self" else read_questions(Path(questions)), limit)


def guard_as_json(verdict: Verdict | None) -> dict[str, Any]:
    """Return what was found, under a key of its own; nothing without a guard."""
    if verdict is None:
        return {}
    return {
        "guard": {
            "questions": verdict.questions,
            "limit": verdict.limit,
            "recall@10": {
                "before": round(verdict.before, 4),
                "unguarded": round(verdict.unguarded, 4),
                "guarded": round(verdict.guarded, 4),
            },
            # Whether what waits for a person was measured as if it were approved.
            "as_if_approved": verdict.options.review != "never",
            "calls": verdict.usage.calls,
            "left_out": [
                {"id": one.id, "operation": one.operation, "sources": list(one.sources)}
                for one in verdict.excluded
            ],
        }
    }


def guard_as_text(verdict: Verdict | None) -> list[str]:
    """Return what was found, in words."""
    if verdict is None:
        return []
    asked = counted(verdict.questions, "question", "questions")
    lines = [
        f"Guarded by {asked}: recall@10 {verdict.before:.3f} before, {verdict.guarded:.3f} after "
        "(tried on a copy)."
    ]
    if verdict.options.review != "never":
        lines.append(
            "That is so if all that this night lets wait is approved; what waits from before was "
            "not tried."
        )
    if verdict.excluded:
        count = counted(len(verdict.excluded), "proposal", "proposals")
        lines.append(
            f"Left out: {count}; with them recall@10 would be {verdict.unguarded:.3f}, and it may "
            f"fall by {verdict.limit:g}:"
        )
        lines += [
            clean(f"- {one.operation} {one.id[:12]}: {one.reason}") for one in verdict.excluded
        ]
    return ["", *lines]
