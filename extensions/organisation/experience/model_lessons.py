"""The lessons that a model learns from traces, as far as the traces support them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, Field

from slowwave.consolidation.model.answer_forms import AnswerForm
from slowwave.consolidation.model.interface import Models
from slowwave.consolidation.model.objections import check_drafts
from slowwave.consolidation.model.prompts import DraftToCheck, Messages, fenced
from slowwave.consolidation.model.question import Bill, Dialogue, Question, ask
from slowwave.consolidation.model.unanswered import Unanswered
from slowwave.consolidation.planning.estimates import Estimate
from slowwave.consolidation.proposals import Source
from slowwave.consolidation.text.tokens import count_tokens
from slowwave.consolidation.thresholds import WINDOW_TOKENS
from slowwave.consolidation.writing.draft_check import find_text_faults
from slowwave.store.records import Claim

from .compression import Compressed, Learned, Lesson, Task, facts_of, first_of, prose_of


class StatedClaim(BaseModel):
    """A sentence, and the short ids of the traces that say it."""

    text: str = Field(min_length=1)
    sources: list[str]


class StatedDecision(StatedClaim):
    """A decision with its outcome, and the short ids of the traces that say so."""

    outcome: Literal["worked", "failed"]


class ExperienceAnswer(BaseModel):
    """The answer about the traces of a task."""

    decisions: list[StatedDecision]
    contexts: list[StatedClaim]


EXPERIENCE = AnswerForm("experience", ExperienceAnswer)

# The expected length of an answer.
_ANSWER_TOKENS = 600


def experience_question(
    model: str, task: Task, shown: Sequence[Source]
) -> Question[ExperienceAnswer]:
    """Return the question about the traces of a task. shown: the traces."""
    entries = [
        {"task": task.name},
        *({"id": f"t{number}", "trace": trace.text} for number, trace in enumerate(shown, start=1)),
    ]
    # The traces are data, and cannot end the fence.
    lines = [json.dumps(line, ensure_ascii=False) for line in entries]
    messages: Messages = [
        {"role": "system", "content": _prompt()},
        {"role": "user", "content": fenced("traces", lines)},
    ]
    prompt = sum(count_tokens(message["content"]) for message in messages)
    return Question(model, EXPERIENCE, messages, Estimate(prompt, _ANSWER_TOKENS))


def experience_dialogue(
    models: Models, task: Task, shown: Sequence[Source]
) -> Dialogue[Compressed]:
    """Yield the questions about the traces of a task, then the lessons learned from them.

    A checking model is asked about what is not quoted. Lost words are not an objection: they stay
    in the trace.
    """
    bill = Bill()
    try:
        answer = yield from ask(experience_question(models.writer, task, shown), bill)
        stated = list(_stated_lessons(answer, shown, models.writer))
        faults = [_fault(lesson, shown, task) for lesson in stated]
        judgments = list(zip(stated, faults, strict=True))
        turned_down = [f"{claim.text}: {fault}" for (_, claim), fault in judgments if fault]
        lessons = first_of([lesson for lesson, fault in judgments if fault is None])
        unchecked = [claim for _, claim in lessons if claim.written_by is not None]
        if unchecked and models.checker is not None:
            drafts = [
                DraftToCheck("synthesize", _cited(claim, shown), claim.text) for claim in unchecked
            ]
            objections = yield from check_drafts(models.checker, drafts, bill)
            pairs = zip(unchecked, objections, strict=True)
            refused = {claim: objection.reasons for claim, objection in pairs if objection.reasons}
            turned_down += (f"{claim.text}: {'; '.join(why)}" for claim, why in refused.items())
            checker = models.checker
            lessons = tuple(
                Lesson(outcome, replace(claim, checked_by=claim.written_by and checker))
                for outcome, claim in lessons
                if claim not in refused
            )
    except Unanswered as error:
        # The answers so far are kept.
        yield Compressed(task, error.state, str(error), usage=bill.total)
        return
    learned = Learned(task, lessons, facts_of(task), models.writer, tuple(turned_down))
    yield Compressed(task, "planned", learned=learned, usage=bill.total)


def shown_to_a_model(task: Task) -> list[Source]:
    """Return the traces that a model may be shown: the latest that fit, ordered by time."""
    import numpy as np

    no_vector = np.zeros(1, dtype=np.float32)  # traces are not searched
    shown: list[Source] = []
    remaining_tokens = WINDOW_TOKENS
    for attempt in reversed(task.attempts):
        text = prose_of(attempt.trace)
        remaining_tokens -= count_tokens(text)
        if remaining_tokens < 0:
            break
        if text:
            shown.append(Source(attempt.memory.id, text, attempt.memory.observed_at, no_vector))
    return shown[::-1]


def _stated_lessons(
    answer: ExperienceAnswer, shown: Sequence[Source], model: str
) -> Iterator[Lesson]:
    """Yield the decisions and contexts of an answer, marked unless they quote a cited trace."""
    sources = {f"t{number}": source for number, source in enumerate(shown, start=1)}
    for stated in (*answer.decisions, *answer.contexts):
        text = " ".join(stated.text.split())
        cited = [sources[short] for short in stated.sources if short in sources]
        claim = Claim(text, tuple(source.id for source in cited))
        if not any(text in source.text for source in cited):
            claim = replace(claim, written_by=model)
        yield Lesson(stated.outcome if isinstance(stated, StatedDecision) else None, claim)


def _cited(claim: Claim, shown: Sequence[Source]) -> list[Source]:
    return [source for source in shown if source.id in claim.sources]


def _fault(lesson: Lesson, shown: Sequence[Source], task: Task) -> str | None:
    """Return why the traces that a lesson cites do not support it; None if they do."""
    outcome, claim = lesson
    if not claim.sources:
        return "it does not cite a trace that was shown"
    if not claim.text:
        return "it is empty"
    traces = (attempt.trace for attempt in task.attempts if attempt.memory.id in claim.sources)
    if outcome is not None and not any(
        outcome in (trace.outcome, *(step.outcome for step in trace.steps)) for trace in traces
    ):
        return f"no trace that it cites contains something that {outcome}"
    return next(iter(find_text_faults(claim.text, _cited(claim, shown))), None)


@cache
def _prompt() -> str:
    return files(__package__).joinpath("prompt.md").read_text("utf-8").strip()
