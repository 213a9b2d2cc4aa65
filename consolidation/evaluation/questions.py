"""Questions with their evidence, read from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from slowwave.consolidation.errors import QuestionsError
from slowwave.store.jsonl import describe_error
from slowwave.store.opening import read_text


class RecallQuestion(BaseModel):
    """A question, and the memories that answer it."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    id: Annotated[str, Field(min_length=1)]
    question: Annotated[str, Field(pattern=r"\S")]
    evidence_ids: tuple[str, ...] = Field(strict=False)
    # The tenant; None: all.
    tenant: str | None = None
    type: str | None = None
    # Ids of memories with an outdated value, which must not be presented as current.
    stale_ids: Annotated[tuple[str, ...], Field(strict=False)] = ()


def read_questions(path: Path) -> list[RecallQuestion]:
    """Read questions, a JSON object per line. Raises `QuestionsError` at the first wrong line."""
    try:
        text = read_text(path, "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise QuestionsError(f"The questions in '{path}' cannot be read: {why}.") from error
    # Not splitlines(): JSON strings may contain line separators.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    questions = [_question(path, number, line) for number, line in lines]
    if not questions:
        raise QuestionsError(f"{path} contains no questions.", "Write a JSON object per line.")
    return questions


def _question(path: Path, number: int, line: str) -> RecallQuestion:
    try:
        return RecallQuestion.model_validate_json(line)
    except ValidationError as error:
        raise QuestionsError(
            f"Line {number} of {path} is not a question: {describe_error(error)}.",
            'Write, for example: {"id": "q1", "question": "...", "evidence_ids": ["..."]}.',
        ) from error
