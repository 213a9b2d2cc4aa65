"""The questions to an agent that is the model of a night, and what became of its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slowwave.consolidation.agent.rounds import GivenAnswers, OpenQuestions
    from slowwave.consolidation.model.question import Question

# How a checking question must be answered: its checker must not know what the writer meant.
CHECK_NOTE = "Answer this in a fresh context that sees nothing else, such as a subagent."


def open_question_as_json(question: Question[Any]) -> dict[str, Any]:
    """Return a question as an agent answers it; a note says how a check must be answered."""
    found = {
        "id": question.id,
        "kind": question.kind,
        "messages": question.messages,
        "schema": question.schema,
        "tokens": question.tokens,
    }
    return found | ({"note": CHECK_NOTE} if question.kind == "check" else {})


def open_questions_as_json(found: OpenQuestions) -> dict[str, Any]:
    """Return all open questions, and how far the night is answered."""
    return {
        "questions": list(map(open_question_as_json, found.questions)),
        "windows": found.windows,
        "answered": found.answered,
        "tokens": found.tokens,
    }


def given_as_json(given: GivenAnswers) -> dict[str, Any]:
    """Return what became of answers, and what is asked next."""
    faults = [{"id": key, "why": why} for key, why in given.faults.items()]
    answers = {"kept": given.kept, "known": given.known, "stale": given.stale, "faults": faults}
    return answers | open_questions_as_json(given.left)
