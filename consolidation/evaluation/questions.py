"""Questions with the memories that answer them: from a file, or made from the memories."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from math import log
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from slowwave.consolidation.errors import QuestionsError
from slowwave.consolidation.recall.search import words_of
from slowwave.consolidation.text.tokens import stem
from slowwave.store.opening import read_text
from slowwave.store.records import Memory

# Of a file with more memories so many are asked for, the same ones every time.
MOST_OF_A_FILE = 500
# So many of its rarest words ask for a memory.
_WORDS_ASKED = 4


class RecallQuestion(BaseModel):
    """What is asked, and which memories answer it."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    id: Annotated[str, Field(min_length=1)]
    question: Annotated[str, Field(pattern=r"\S")]
    evidence_ids: tuple[str, ...] = Field(strict=False)
    # Which tenant is asked; None: all of them.
    tenant: str | None = None
    type: str | None = None
    # Memories whose value is an old one: to hand them over as what is so would be wrong.
    stale_ids: Annotated[tuple[str, ...], Field(strict=False)] = ()


def read_questions(path: Path) -> list[RecallQuestion]:
    """Read questions, a JSON object a line. Raises `QuestionsError` with the first wrong line."""
    try:
        text = read_text(path, "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise QuestionsError(f"The questions in '{path}' cannot be read: {why}.") from error
    # Not splitlines(): JSON lets a line separator stand in a text.
    lines = [(number, one) for number, one in enumerate(text.split("\n"), 1) if one.strip()]
    questions = [_question(path, number, line) for number, line in lines]
    if not questions:
        raise QuestionsError(f"There is no question in {path}.", "Write a JSON object a line.")
    return questions


def _question(path: Path, number: int, line: str) -> RecallQuestion:
    try:
        return RecallQuestion.model_validate(json.loads(line))
    except ValidationError as error:
        first = error.errors()[0]
        why = f"{'.'.join(map(str, first['loc'])) or 'the line'}: {first['msg']}"
    except (ValueError, RecursionError) as error:
        why = f"it is no JSON ({getattr(error, 'msg', 'nobody can read it')})"
    raise QuestionsError(
        f"Line {number} of {path} is no question: {why}.",
        'One is {"id": "q1", "question": "...", "evidence_ids": ["..."]}.',
    )


def questions_of(memories: Sequence[Memory]) -> list[RecallQuestion]:
    """Ask for memories by the rarest of their own words: for files that nobody has questions for.

    Twins answer for each other. Of many memories `MOST_OF_A_FILE` are drawn, by their hashes. A
    memory without a word that says something is left out.
    """
    texts: dict[tuple[str, str], list[Memory]] = {}
    for memory in memories:
        texts.setdefault((memory.tenant, memory.content_hash), []).append(memory)
    firsts = [twins[0] for twins in texts.values()]
    counts = Counter(one for memory in firsts for one in set(_stems(memory.content)))
    drawn = sorted(firsts, key=lambda one: sha256(one.content_hash.encode()).digest())
    return [
        RecallQuestion(
            id=memory.id,
            question=phrase,
            evidence_ids=tuple(one.id for one in texts[memory.tenant, memory.content_hash]),
            tenant=memory.tenant,
            type="self",
        )
        for memory in drawn[:MOST_OF_A_FILE]
        for phrase in _phrase(memory.content, counts, len(firsts))
    ]


def _phrase(text: str, counts: Counter[str], total: int) -> Iterator[str]:
    """Yield the words of a text that are rarest among all texts, in their order, if it has any."""
    words = words_of(text)
    rarity = {one: log(total / counts[stem(one)]) for one in words if counts[stem(one)]}
    chosen = set(sorted(rarity, key=lambda one: (-rarity[one], one))[:_WORDS_ASKED])
    if chosen:
        yield " ".join(one for one in words if one in chosen)


def _stems(text: str) -> Iterator[str]:
    return map(stem, words_of(text))
