"""The questions to an agent that is the model of a night, and what became of its answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import clean, with_file
from slowwave.cli.terminal.wording import counted

from .asked import queued_parts_as_json, queued_parts_as_text

if TYPE_CHECKING:
    from slowwave.consolidation.agent.rounds import GivenAnswers, OpenQuestions
    from slowwave.consolidation.model.question import Question

# How a checking question must be answered: its checker must not know what the writer meant.
CHECK_NOTE = "Answer this in a fresh context that sees nothing else, such as a subagent."
# How much of an id is shown to people.
_SHORT = 8


def open_question_as_json(question: Question[Any]) -> dict[str, Any]:
    """Return a question as an agent answers it; a note says how a check must be answered."""
    fields = {
        "id": question.id,
        "kind": question.kind,
        "messages": question.messages,
        "schema": question.schema,
        "tokens": question.tokens,
    }
    return fields | ({"note": CHECK_NOTE} if question.kind == "check" else {})


def open_questions_as_json(
    open_questions: OpenQuestions, limit: int | None = None
) -> dict[str, Any]:
    """Return open questions up to a limit, the number of all, and how far the night is answered."""
    shown = open_questions.questions[:limit]
    return {
        "questions": list(map(open_question_as_json, shown)),
        "open": len(open_questions.questions),
        "windows": open_questions.windows,
        "answered": open_questions.answered,
        "about_conversations": open_questions.about_conversations,
        "tokens": sum(question.tokens for question in shown),
    }


def given_as_json(answers: GivenAnswers, limit: int | None = None) -> dict[str, Any]:
    """Return what became of answers, and what is asked next, up to a limit."""
    faults = [{"id": key, "why": why} for key, why in answers.faults.items()]
    ids = {"kept": answers.kept, "known": answers.known, "stale": answers.stale, "faults": faults}
    read = None if answers.read is None else queued_parts_as_json(answers.read)
    return ids | open_questions_as_json(answers.left, limit) | {"conversations": read}


def given_as_text(answers: GivenAnswers) -> Iterator[str]:
    """Yield what became of answers, and what is left."""
    if answers.kept:
        yield f"Kept {counted(len(answers.kept), 'answer')}."
    if answers.known:
        known_count = counted(len(answers.known), "question was", "questions were")
        yield f"{known_count} answered before: the first answer counts."
    for key in answers.stale:
        yield clean(f"  ! {key[:_SHORT]}: this id is unknown, or its question is no longer open.")
    for key, why in answers.faults.items():
        yield clean(f"  ! {key[:_SHORT]}: {why}. Answer again.")
    if answers.read is not None:
        yield from queued_parts_as_text(answers.read)
    if answers.questions:
        yield left_as_text(answers.left)
    if answers.outcome is not None and (answers.kept or answers.known or answers.unusable):
        yield ""


def left_as_text(open_questions: OpenQuestions) -> str:
    """Return how many questions are open, and how to see them; or that none is."""
    if not open_questions.questions:
        runs = with_file("'slowwave answer FILE' consolidates with the answers.")
        return f"No question is open. {runs if open_questions.answered else ''}".rstrip()
    count = counted(len(open_questions.questions), "question is", "questions are")
    return with_file(
        f"{count} open, about {open_questions.tokens:,} tokens: slowwave questions FILE. "
        "Nothing is changed before all are answered, and given answers are kept."
    )
