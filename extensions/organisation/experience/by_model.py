"""The lessons that a model learns from traces, as far as the traces support them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, Field

from slowwave.consolidation.model.answer_forms import AnswerForm
from slowwave.consolidation.model.interface import Models
from slowwave.consolidation.model.objections import check_drafts
from slowwave.consolidation.model.prompts import DraftToCheck, Messages, fenced
from slowwave.consolidation.model.question import Asking, Bill, Dialogue, Question, ask
from slowwave.consolidation.model.unanswered import Unanswered
from slowwave.consolidation.planning.estimates import Estimate
from slowwave.consolidation.proposals import Source
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.thresholds import WINDOW_TOKENS
from slowwave.consolidation.writing.draft_check import find_text_faults
from slowwave.store.records import Claim

from .compression import Attempt, Compressed, Learned, Lesson, Task, facts_of, first_of, prose_of
from .traces import Worked


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
    """Yield the questions about the traces of a task, then the lessons learned from them."""
    bill = Bill()
    try:
        stated = yield from ask(experience_question(models.writer, task, shown), bill)
        learned = _learned(stated, task, shown, models.writer)
        unchecked = [claim for _, claim in learned.lessons if claim.written_by is not None]
        if unchecked and models.checker is not None:
            refused = yield from _unsupported(unchecked, shown, models.checker, bill)
            learned = _without(learned, refused, models.checker)
    except Unanswered as error:
        # The answers so far are kept.
        yield Compressed(task, error.state, str(error), usage=bill.total)
    else:
        yield Compressed(task, "planned", learned=learned, usage=bill.total)


def _unsupported(
    claims: Sequence[Claim], shown: Sequence[Source], checker: str, bill: Bill
) -> Asking[dict[Claim, str]]:
    """Ask whether the traces say what a model wrote in its own words; return why not.

    Lost words are not an objection: they stay in the trace.
    """
    drafts = [
        DraftToCheck(
            "synthesize", [source for source in shown if source.id in claim.sources], claim.text
        )
        for claim in claims
    ]
    objections = yield from check_drafts(checker, drafts, bill)
    return {
        claim: "; ".join(found.reasons)
        for claim, found in zip(claims, objections, strict=True)
        if found.reasons
    }


def _without(learned: Learned, refused: Mapping[Claim, str], checker: str) -> Learned:
    supported = (lesson for lesson in learned.lessons if lesson.claim not in refused)
    turned_down = (f"{claim.text}: {why}" for claim, why in refused.items())
    return replace(
        learned,
        lessons=tuple(
            Lesson(outcome, replace(claim, checked_by=checker) if claim.written_by else claim)
            for outcome, claim in supported
        ),
        turned_down=(*learned.turned_down, *turned_down),
    )


def _learned(stated: ExperienceAnswer, task: Task, shown: Sequence[Source], model: str) -> Learned:
    ids = {f"t{number}": source.id for number, source in enumerate(shown, start=1)}
    lessons = [
        *(Lesson(decision.outcome, _claim(decision, ids)) for decision in stated.decisions),
        *(Lesson(None, _claim(context, ids)) for context in stated.contexts),
    ]
    sound, turned_down = _sound(lessons, shown, task, model)
    return Learned(task, first_of(sound), facts_of(task), model, tuple(turned_down))


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


def _claim(stated: StatedClaim, ids: Mapping[str, str]) -> Claim:
    return Claim(
        " ".join(stated.text.split()),
        tuple(ids[source] for source in stated.sources if source in ids),
    )


def _sound(
    lessons: Sequence[Lesson], sources: Sequence[Source], task: Task, model: str
) -> tuple[list[Lesson], list[str]]:
    """Return the lessons that the traces support, and why the others are omitted."""
    attempts = {attempt.memory.id: attempt for attempt in task.attempts}
    text_of = {source.id: source.text for source in sources}
    sound: list[Lesson] = []
    turned_down: list[str] = []
    for outcome, claim in lessons:
        why = _fault(outcome, claim, sources, attempts)
        if why is not None:
            turned_down.append(f"{claim.text}: {why}")
            continue
        is_quoted = any(claim.text in text_of[trace] for trace in claim.sources)
        sound.append(Lesson(outcome, claim if is_quoted else replace(claim, written_by=model)))
    return sound, turned_down


def _fault(
    outcome: Worked | None, claim: Claim, sources: Sequence[Source], attempts: Mapping[str, Attempt]
) -> str | None:
    if not claim.sources:
        return "it does not cite a trace that was shown"
    if not claim.text:
        return "it is empty"
    cited_traces = (attempts[source].trace for source in claim.sources)
    if outcome is not None and not any(
        outcome in (trace.outcome, *(step.outcome for step in trace.steps))
        for trace in cited_traces
    ):
        return f"no trace that it cites contains something that {outcome}"
    cited = [source for source in sources if source.id in claim.sources]
    return next(iter(find_text_faults(claim.text, cited)), None)


@cache
def _prompt() -> str:
    return files(__package__).joinpath("prompt.md").read_text("utf-8").strip()
