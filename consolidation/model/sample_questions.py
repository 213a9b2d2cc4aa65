"""Two small questions in the forms of a night, to see whether a model answers in these forms."""

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
from slowwave.store.model_answers import Answer

from .answer_forms import CHECK, WRITE
from .interface import Model, Opener
from .prompts import DraftToCheck, ask_to_check, ask_to_write
from .question import Bill, Question, Reply, ask, resume
from .unanswered import Unanswered
from .usage_limits import PendingCall, UsageLimits, UsageMeter, usage_of

# All calls of a check together.
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
    """How a model answered one question. `why` is None if it answered in the form asked for."""

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
    writer: Opener, checker: Opener | None
) -> tuple[tuple[SampleAnswer, ...], WindowPrice]:
    """Ask a question to write, and one to check if there is a checker.

    Return the answers and the price of a window. Raises `ModelError` if a model cannot be asked.
    """
    model = writer.open()
    questions = [(_write_question(writer.model), model)]
    if checker is not None:
        reader = model if checker == writer else checker.open()
        questions.append((_check_question(checker.model), reader))
    answers = []
    for question, asked in questions:
        answers.append(_ask(question, asked))
        if answers[-1].why is not None:
            break
    return tuple(answers), _price_of_window(model)


def _write_question(model: str) -> Question[Any]:
    return Question(model, WRITE, ask_to_write(_SAMPLE, frozenset()), estimate_window(_SAMPLE))


def _check_question(model: str) -> Question[Any]:
    messages = ask_to_check([DraftToCheck("synthesize", _SAMPLE, _SAMPLE[1].text)])
    return Question(model, CHECK, messages, estimate_check(messages[1]["content"], 1))


def _ask(question: Question[Any], model: Model) -> SampleAnswer:
    """Ask as a night does: once more if the answer is unreadable."""
    began, bill = time.monotonic(), Bill()
    meter = UsageMeter(UsageLimits(seconds=_MAX_SECONDS), model.terms.price)
    dialogue = ask(question, bill)
    why: str | None = None
    try:
        _, following = resume(dialogue)
        while following is not None:
            pending = meter.begin(following, model.terms.limit(following.max_tokens))
            _, following = resume(dialogue, _reply(pending, model))
    except Unanswered as error:
        why = str(error)
    return SampleAnswer(
        question.kind, question.model, round(time.monotonic() - began, 2), bill.total, why
    )


def _reply(pending: PendingCall, model: Model) -> Reply:
    outcome: Answer | Unanswered
    try:
        outcome = model.ask(pending)
    except Unanswered as error:
        outcome = error
    calls = Usage(calls=pending.requests)
    if isinstance(outcome, Unanswered):
        return Reply(outcome, calls + pending.wasted)
    return Reply(outcome.answer, usage_of(outcome, pending.requests) + pending.wasted)


def _price_of_window(model: Model) -> WindowPrice:
    """Return the price of a full window, written once."""
    prompt, answer = TOKENS_OF_WRITING + WINDOW_TOKENS, round(ANSWERED_SHARE * WINDOW_TOKENS)
    return WindowPrice(prompt, answer, model.terms.price(prompt, answer))
