"""Two sample questions that show whether a model can be asked, and what a window costs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from slowwave.consolidation.planning.estimates import (
    TOKENS_OF_WRITING,
    estimate_check,
    estimate_window,
)
from slowwave.consolidation.proposals import Source, Usage
from slowwave.consolidation.thresholds import ANSWERED_SHARE, WINDOW_TOKENS
from slowwave.consolidation.writing.writer import AnswerStore

from .answer_forms import CHECK, WRITE
from .interface import Model
from .model_writer import ModelWriter
from .prompts import DraftToCheck, ask_to_check, ask_to_write
from .question import Bill, Dialogue, Question, ask
from .unanswered import Unanswered
from .usage_limits import UsageLimits

# The calls of a sample question together.
_MAX_SECONDS = 60
_NO_VECTOR = np.zeros(0, dtype=np.float32)
_SAMPLE = (
    Source("a", "The backup job runs at 02:00.", "2026-03-02T00:00:00.000Z", _NO_VECTOR),
    Source(
        "b", "The backup job runs at 02:00 on host nas-2.", "2026-03-05T00:00:00.000Z", _NO_VECTOR
    ),
)


@dataclass(frozen=True)
class SampleAnswer:
    """How a model answered one question. `why` is None if it answered in the requested format."""

    kind: str
    model: str
    seconds: float
    usage: Usage
    why: str | None = None


@dataclass(frozen=True)
class WindowPrice:
    """The tokens of a full window, and what they cost in USD; None if the price is unknown."""

    prompt_tokens: int
    answer_tokens: int
    cost_usd: float | None


def ask_samples(
    writer: Model, checker: Model | None
) -> tuple[tuple[SampleAnswer, ...], WindowPrice]:
    """Ask a question to write, and one to check if there is a checker.

    Return the answers and the price of a window. Raises `ModelError` if a model cannot be asked.
    """
    price = writer.open().price
    if checker is not None:
        checker.open()
    messages = ask_to_write(_SAMPLE, frozenset())
    answers = [
        _ask_sample(writer, Question(writer.model, WRITE, messages, estimate_window(_SAMPLE)))
    ]
    if checker is not None and answers[0].why is None:
        messages = ask_to_check([DraftToCheck("synthesize", _SAMPLE, _SAMPLE[1].text)])
        estimate = estimate_check(messages[1]["content"], 1)
        answers.append(_ask_sample(checker, Question(checker.model, CHECK, messages, estimate)))
    prompt, answer = TOKENS_OF_WRITING + WINDOW_TOKENS, round(ANSWERED_SHARE * WINDOW_TOKENS)
    return tuple(answers), WindowPrice(prompt, answer, price(prompt, answer))


def _ask_sample(model: Model, question: Question[Any]) -> SampleAnswer:
    """Ask as a night does: once more if the answer is unreadable."""

    def dialogue() -> Dialogue[SampleAnswer]:
        began, bill, why = time.monotonic(), Bill(), None
        try:
            yield from ask(question, bill)
        except Unanswered as error:
            why = str(error)
        seconds = round(time.monotonic() - began, 2)
        yield SampleAnswer(question.kind, question.model, seconds, bill.total, why)

    asking = ModelWriter(model, 1, UsageLimits(seconds=_MAX_SECONDS))
    ((answer,),) = asking.run_dialogues(iter([dialogue()]), AnswerStore())
    return answer
