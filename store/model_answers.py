"""Cached answers of models, so that no question is paid for twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

from .file import MemoryFile


@dataclass(frozen=True)
class Answer:
    """An answer of a model, and its cost."""

    answer: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


# The key of a question, the model, and its answer.
CachedAnswer = tuple[str, str, Answer]


def read_answer(file: MemoryFile, key: str) -> Answer | None:
    """Return the cached answer to a question, or None."""
    rows = file.rows(
        "SELECT answer, prompt_tokens, completion_tokens, cost_usd FROM answers WHERE key = ?",
        [key],
    )
    return next((Answer(**row) for row in rows), None)


def read_answers(file: MemoryFile) -> list[CachedAnswer]:
    """Return all cached answers."""
    rows = file.conn.execute(
        "SELECT key, model, answer, prompt_tokens, completion_tokens, cost_usd FROM answers "
        "ORDER BY key"
    )
    return [(key, model, Answer(*answer)) for key, model, *answer in rows]


def cache_answers(file: MemoryFile, answers: Sequence[CachedAnswer], now: str) -> None:
    """Cache answers, in one transaction."""
    with file.transaction():
        write_answers(file, answers, now)


def write_answers(file: MemoryFile, answers: Sequence[CachedAnswer], now: str) -> None:
    """Cache answers in the caller's transaction."""
    file.conn.executemany(
        "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(key, model, *astuple(answer), now) for key, model, answer in answers],
    )


def cost_of_answers(file: MemoryFile, created_at: str) -> float:
    """Return what the answers of a run cost in USD, as far as that is known."""
    sql = "SELECT total(cost_usd) FROM answers WHERE created_at = ?"
    return float(file.value(sql, [created_at]))
