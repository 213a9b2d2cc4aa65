"""Questions made from the rarest words of memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

from slowwave.consolidation.evaluation.questions import RecallQuestion
from slowwave.consolidation.recall.search import words_of
from slowwave.store.records import Memory

# The maximum number of questions made from a file; the selection is deterministic.
MAX_QUESTIONS = 500
# The number of a memory's rarest words in its question.
_WORDS_ASKED = 4


def make_questions(memories: Sequence[Memory]) -> list[RecallQuestion]:
    """Make questions from the rarest words of memories.

    Duplicates are each other's evidence. `MAX_QUESTIONS` memories are selected by their hashes.
    Memories without content words are omitted.
    """
    texts: dict[tuple[str, str], list[Memory]] = {}
    for memory in memories:
        texts.setdefault((memory.tenant, memory.content_hash), []).append(memory)
    duplicates = sorted(
        texts.values(), key=lambda group: sha256(group[0].content_hash.encode()).digest()
    )
    counts = Counter(word for group in duplicates for word in set(words_of(group[0].content)))
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
    """Return the rarest words of a text, in their order. counts: of words, by memory."""
    words = words_of(text)
    rarest = sorted(set(words), key=lambda word: (counts[word], word))[:_WORDS_ASKED]
    return " ".join(word for word in words if word in rarest)
