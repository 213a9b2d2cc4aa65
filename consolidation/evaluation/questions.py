"""Questions with their evidence: read from a file, or made from the memories."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from slowwave.consolidation.errors import QuestionsError
from slowwave.consolidation.recall.search import words_of
from slowwave.consolidation.text.tokens import stem
from slowwave.store.opening import read_text
from slowwave.store.records import Memory

# The maximum number of questions made from a file; the selection is deterministic.
MAX_QUESTIONS = 500
# The number of a memory's rarest words in its question.
_WORDS_ASKED = 4


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
        return RecallQuestion.model_validate(json.loads(line))
    except ValidationError as error:
        first = error.errors()[0]
        why = f"{'.'.join(map(str, first['loc'])) or 'the line'}: {first['msg']}"
    except (ValueError, RecursionError) as error:
        why = f"it is not JSON ({getattr(error, 'msg', 'it is nested too deeply')})"
    raise QuestionsError(
        f"Line {number} of {path} is not a question: {why}.",
        'Write, for example: {"id": "q1", "question": "...", "evidence_ids": ["..."]}.',
    )


def make_questions(memories: Sequence[Memory]) -> list[RecallQuestion]:
    """Make questions from the rarest words of memories.

    Duplicates are each other's evidence. `MAX_QUESTIONS` memories are selected by their hashes.
    Memories without content words are left out.
    """
    texts: dict[tuple[str, str], list[Memory]] = {}
    for memory in memories:
        texts.setdefault((memory.tenant, memory.content_hash), []).append(memory)
    duplicates = sorted(
        texts.values(), key=lambda group: sha256(group[0].content_hash.encode()).digest()
    )
    counts = Counter(
        word for group in duplicates for word in set(map(stem, words_of(group[0].content)))
    )
    return [
        RecallQuestion(
            id=group[0].id,
            question=phrase,
            evidence_ids=tuple(memory.id for memory in group),
            tenant=group[0].tenant,
            type="self",
        )
        for group in duplicates[:MAX_QUESTIONS]
        if (phrase := _phrase(group[0].content, counts))
    ]


def _phrase(text: str, counts: Counter[str]) -> str:
    """Return the rarest words of a text, in their order. counts: of stems, by memory."""
    words = words_of(text)
    rarest = sorted(set(words), key=lambda word: (counts[stem(word)], word))[:_WORDS_ASKED]
    return " ".join(word for word in words if word in rarest)
