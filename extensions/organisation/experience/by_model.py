"""What a model says was learned from traces, as far as the traces bear it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from slowwave.consolidation.model.answer_forms import CHECK, CheckAnswer
from slowwave.consolidation.model.model_pair import Models
from slowwave.consolidation.model.objections import objections_of
from slowwave.consolidation.model.parsing import UnreadableAnswer, parse_answer
from slowwave.consolidation.model.prompts import DraftToCheck, ask_to_check
from slowwave.consolidation.model.question import Question, Steps
from slowwave.consolidation.planning.estimates import Estimate, estimate_check
from slowwave.consolidation.proposals import Claim, Source, State, Usage
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.thresholds import WINDOW_TOKENS
from slowwave.consolidation.writing.program_check import find_text_faults

from .answer_form import EXPERIENCE, ExperienceAnswer, StatedClaim
from .compression import (
    MOST_CONTEXTS,
    MOST_DECISIONS,
    Attempt,
    Learned,
    LearnedDecision,
    Task,
    facts_of,
    told_to_a_model,
)
from .experience_outcome import Compressed, ExperienceState
from .question_text import ask_about_traces
from .traces import Worked

# Expected of an answer.
_ANSWER_TOKENS = 600


class ExperienceQuestion(Question[Compressed]):
    """A question about the traces of one task; of each claim that does not hold it says why."""

    form = EXPERIENCE

    def __init__(self, models: Models, task: Task, shown: Sequence[Source]) -> None:
        """Take who is asked, the task, and what of its traces is shown."""
        messages = ask_about_traces(task.name, shown)
        prompt = sum(count_tokens(one["content"]) for one in messages)
        super().__init__(models.writer, messages, Estimate(prompt, _ANSWER_TOKENS))
        self._models = models
        self._task = task
        self._shown = shown
        self._usage = Usage()

    def handle_answer(self, text: str) -> Steps[Compressed]:
        """Yield what was learned, or the question whether the traces say it."""
        try:
            stated = parse_answer(ExperienceAnswer, text)
        except UnreadableAnswer as error:
            yield from self._ask_to_reformat(text, str(error))
            return
        learned = _learned(stated, self._task, self._shown, self._models.writer)
        compressed = Compressed(self._task, "planned", learned=learned, usage=self._usage)
        unread = [claim for claim in learned.claims if claim.written_by is not None]
        if unread and self._models.checker is not None:
            yield ExperienceCheck(self._models.checker, compressed, learned, unread, self._shown)
        else:
            yield compressed

    def handle_failure(self, state: State, why: str) -> Steps[Compressed]:
        """Yield that nobody has compressed the traces."""
        missed: ExperienceState = "skipped" if state == "skipped" else "failed"
        yield Compressed(self._task, missed, why, usage=self._usage)

    def charge(self, used: Usage) -> None:
        """Note what was used for it."""
        self._usage += used


class ExperienceCheck(Question[Compressed]):
    """A question whether the traces say what a model wrote in its own words."""

    form = CHECK

    def __init__(
        self,
        checker: str,
        compressed: Compressed,
        learned: Learned,
        unread: Sequence[Claim],
        shown: Sequence[Source],
    ) -> None:
        """Take what was learned, and the claims of it that are read."""
        self._compressed = compressed
        self._learned = learned
        self._unread = unread
        self._checker = checker
        self._drafts = [
            DraftToCheck(
                "synthesize", [one for one in shown if one.id in claim.sources], claim.text
            )
            for claim in unread
        ]
        messages = ask_to_check(self._drafts)
        super().__init__(checker, messages, estimate_check(messages[-1]["content"], len(unread)))

    def handle_answer(self, text: str) -> Steps[Compressed]:
        """Yield what was learned without what the traces do not say.

        What a trace says besides is kept with the trace: what is lost is not an objection.
        """
        try:
            stated = {each.n: each for each in parse_answer(CheckAnswer, text).groups}
        except UnreadableAnswer as error:
            yield from self._ask_to_reformat(text, str(error))
            return
        refused: dict[Claim, str] = {}
        for number, (claim, draft) in enumerate(
            zip(self._unread, self._drafts, strict=True), start=1
        ):
            reasons = objections_of(stated.get(number), draft).reasons
            if reasons:
                refused[claim] = "; ".join(reasons)
        yield replace(self._compressed, learned=self._without(refused))

    def handle_failure(self, state: State, why: str) -> Steps[Compressed]:
        """Yield that nobody has compressed the traces: the first answer is kept."""
        missed: ExperienceState = "skipped" if state == "skipped" else "failed"
        yield Compressed(self._compressed.task, missed, why, usage=self._compressed.usage)

    def charge(self, used: Usage) -> None:
        """Note what was used for it."""
        self._compressed = replace(self._compressed, usage=self._compressed.usage + used)

    def _without(self, refused: Mapping[Claim, str]) -> Learned:
        learned = self._learned

        def read(claim: Claim) -> Claim:
            return replace(claim, checked_by=self._checker) if claim.written_by else claim

        return replace(
            learned,
            decisions=tuple(
                replace(one, claim=read(one.claim))
                for one in learned.decisions
                if one.claim not in refused
            ),
            contexts=tuple(read(claim) for claim in learned.contexts if claim not in refused),
            turned_down=(
                *learned.turned_down,
                *(f"{claim.text}: {why}" for claim, why in refused.items()),
            ),
        )


def _learned(stated: ExperienceAnswer, task: Task, shown: Sequence[Source], model: str) -> Learned:
    """Return what a model says was learned, as far as the traces bear it out."""
    ids = {f"t{number}": one.id for number, one in enumerate(shown, start=1)}
    said: list[tuple[Worked | None, Claim]] = [
        *((one.outcome, _claim(one, ids)) for one in stated.decisions),
        *((None, _claim(one, ids)) for one in stated.contexts),
    ]
    sound, turned_down = _sound(said, shown, task, model)
    decisions = tuple(LearnedDecision(how, claim) for how, claim in sound if how is not None)
    contexts = tuple(claim for how, claim in sound if how is None)
    return Learned(
        task,
        decisions[:MOST_DECISIONS],
        contexts[:MOST_CONTEXTS],
        facts_of(task),
        model,
        tuple(turned_down),
    )


def shown_to_a_model(task: Task) -> list[Source]:
    """Return the traces that a model may be shown: the latest that fit, in the order of time."""
    import numpy as np

    nowhere = np.zeros(1, dtype=np.float32)  # traces have no vectors: nothing is searched by them
    shown: list[Source] = []
    left = WINDOW_TOKENS
    for one in reversed(task.attempts):
        text = told_to_a_model(one.trace)
        left -= count_tokens(text)
        if left < 0:
            break
        if text:
            shown.append(Source(one.memory.id, text, one.memory.observed_at, nowhere))
    return shown[::-1]


def _claim(stated: StatedClaim, ids: Mapping[str, str]) -> Claim:
    return Claim(
        " ".join(stated.text.split()), tuple(ids[one] for one in stated.sources if one in ids)
    )


def _sound(
    said: Sequence[tuple[Worked | None, Claim]], sources: Sequence[Source], task: Task, model: str
) -> tuple[list[tuple[Worked | None, Claim]], list[str]]:
    """Return what the traces bear out, and why the rest is left out."""
    attempts = {one.memory.id: one for one in task.attempts}
    text_of = {one.id: one.text for one in sources}
    sound: list[tuple[Worked | None, Claim]] = []
    turned_down: list[str] = []
    for how, claim in said:
        why = _fault(how, claim, sources, attempts)
        if why is not None:
            turned_down.append(f"{claim.text}: {why}")
            continue
        own_words = not any(claim.text in text_of[trace] for trace in claim.sources)
        worded = Claim(claim.text, claim.sources, written_by=model) if own_words else claim
        sound.append((how, worded))
    return sound, turned_down


def _fault(
    how: Worked | None, claim: Claim, sources: Sequence[Source], attempts: Mapping[str, Attempt]
) -> str | None:
    if not claim.sources:
        return "it cites no trace that was shown"
    if not claim.text:
        return "it says nothing"
    if how is not None and not any(_went(attempts[one], how) for one in claim.sources):
        return f"no trace that it cites says that something {how}"
    cited = [one for one in sources if one.id in claim.sources]
    return next(iter(find_text_faults(claim.text, cited)), None)


def _went(attempt: Attempt, how: Worked) -> bool:
    trace = attempt.trace
    return how in (trace.outcome, *(one.outcome for one in trace.steps))
