"""The writer that asks a model, and checks every answer.

Calls run in threads of their own; their answers are kept, checked and yielded in one thread.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Generic, Literal

from slowwave.consolidation.proposals import AskedWindow, Result, State, Usage
from slowwave.consolidation.writing.answer_store import AnswerStore
from slowwave.consolidation.writing.writer import BATCH, Job
from slowwave.store.model_answers import Answer

from . import prompts
from .calls import Endpoint, open_model
from .dialogue import WindowDialogue
from .dispatcher import Dispatcher
from .groups import WindowGroups
from .interface import CallFailed, Model
from .model_pair import Models, ModelWithChecker
from .portions import BudgetOwner
from .question import Made, Question, Steps
from .recording import Recordings
from .usage_limits import LimitReached, UsageLimits, UsageMeter
from .window_questions import WriteQuestion

# How often overdue calls are looked for.
_POLL_S = 0.2


class ModelWriter:
    """Asks a model about windows."""

    name = "model"

    def __init__(
        self,
        endpoint: Endpoint,
        concurrency: int = 4,
        limits: UsageLimits | None = None,
        recordings: Recordings | None = None,
        checker: Endpoint | Literal["same", "none"] = "same",
        owner: BudgetOwner | None = None,
    ) -> None:
        """Take the endpoint, the maximum number of concurrent calls, and the usage limits.

        recordings: where answers are recorded to, or replayed from. checker: the model that checks
        the drafts; with "none" only a program does. owner: grants a shared budget.
        """
        self._endpoint = endpoint
        self._checker = checker
        self._recordings = recordings or Recordings()
        self._concurrency = concurrency
        self._limits = limits or UsageLimits()
        self._owner = owner
        self._opened: Model | None = None
        self._dispatcher: Dispatcher[Any] | None = None
        self._meter: UsageMeter | None = None

    @property
    def model(self) -> str | None:
        """The model's name."""
        return self._endpoint.model

    @property
    def checker(self) -> str | None:
        """The name of the model that checks the drafts; None if there is none."""
        if isinstance(self._checker, Endpoint):
            return self._checker.model
        return None if self._checker == "none" else self.model

    @property
    def refused(self) -> str | None:
        """Why the model refuses every call; None if it has not refused."""
        return None if self._dispatcher is None else self._dispatcher.refused

    @property
    def key(self) -> str:
        """The hash of the model, of a different checker, and of the prompts."""
        checker = "" if self.checker == self.model else f"\n{self.checker}"
        instructions = "\n".join(map(prompts.prompt, ("write", "check", "repair")))
        identity = f"{self._endpoint.model}{checker}\n{instructions}"
        return hashlib.sha256(identity.encode()).hexdigest()

    def make_ready(self) -> None:
        """Load litellm, unless all answers come from a recording.

        Raises `ModelError` if litellm does not know the model or a key is missing.
        """
        if self._opened is None:
            self._opened = self._open(self._endpoint)
            if isinstance(self._checker, Endpoint) and self._checker != self._endpoint:
                self._opened = ModelWithChecker(self._opened, self._open(self._checker))

    def give_back(self) -> None:
        """Return the rest of a shared budget."""
        if self._meter is not None:
            self._meter.give_back()

    def _open_meter(self, model: Model) -> UsageMeter:
        """Return the one meter of this writer; a trial night counts, too."""
        if self._meter is None:
            self._meter = UsageMeter(self._limits, model.price, self._owner)
        return self._meter

    def _open(self, endpoint: Endpoint) -> Model:
        return self._recordings.model(endpoint.model, partial(open_model, endpoint))

    def write(
        self, jobs: Sequence[Job], answers: AnswerStore
    ) -> Iterator[Sequence[Result | AskedWindow]]:
        """Yield the results of the windows as answers arrive. Raises `ModelError`."""
        if not jobs:
            return
        models = Models(self._endpoint.model, self.checker)
        questions = (
            WriteQuestion(
                WindowDialogue(job, WindowGroups(job.window, job.sources, self.key, models), models)
            )
            for job in jobs
        )
        yield from self.ask(questions, answers)

    def ask(
        self, questions: Iterator[Question[Made]], answers: AnswerStore
    ) -> Iterator[Sequence[Made]]:
        """Yield the results of questions as answers arrive. Raises `ModelError`."""
        self.make_ready()
        assert self._opened is not None  # noqa: S101 - make_ready has set it
        meter = self._open_meter(self._opened)
        dispatcher = Dispatcher[Made](self._opened, meter, self._concurrency)
        self._dispatcher = dispatcher
        session = ModelSession[Made](self._opened, dispatcher, answers)
        # Enough questions are queued that no call waits for the results of others.
        yield from session.run(questions, 4 * self._concurrency)


class ModelSession(Generic[Made]):
    """Asks the questions of one run, and yields their results."""

    def __init__(self, model: Model, dispatcher: Dispatcher[Made], answers: AnswerStore) -> None:
        """Take the model, its dispatcher, and where answers are kept."""
        self._model = model
        self._dispatcher = dispatcher
        self._answers = answers
        # Questions to ask next.
        self._again: deque[Question[Made]] = deque()
        # Unread results: of answers kept from earlier runs, and of new ones.
        self._known: deque[Steps[Made]] = deque()
        self._completed: deque[Steps[Made]] = deque()

    def run(self, questions: Iterator[Question[Made]], ahead: int) -> Iterator[Sequence[Made]]:
        """Ask all questions and yield their results in batches."""
        try:
            while True:
                self._feed(questions, ahead)
                is_idle = self._dispatcher.is_idle
                self._collect(0 if self._known or self._completed or is_idle else _POLL_S)
                if self._known or self._completed:
                    yield self._next_batch(questions, ahead)
                elif is_idle:
                    return
        finally:
            # After an interruption no more calls are made.
            self._dispatcher.close()

    def _feed(self, questions: Iterator[Question[Made]], ahead: int) -> None:
        """Queue questions that have no kept answer."""
        while self._again:
            self._ask(self._again.popleft(), first=True)
        while self._dispatcher.waiting < ahead and len(self._known) < ahead:
            question = next(questions, None)
            if question is None:
                return
            self._ask(question)

    def _ask(self, question: Question[Made], first: bool = False) -> None:
        kept = question.kept(self._answers)
        if kept is None:
            self._dispatcher.ask(question, first)
        else:
            self._model.note_kept(question.messages, kept)
            question.charge(Usage(cached=1))
            self._known.append(question.handle_answer(kept.answer))

    def _collect(self, seconds: float) -> None:
        """Keep every answer that has arrived, at once: it is paid for."""
        self._dispatcher.abandon_overdue()
        completed = list(self._dispatcher.completed(seconds))
        answered = [(call, call.outcome) for call in completed if isinstance(call.outcome, Answer)]
        kept = [kept for call, answer in answered for kept in call.question.to_keep(answer)]
        if kept:
            self._answers.keep(kept)
        for call in completed:
            call.question.charge(call.used)
            if isinstance(call.outcome, Answer):
                self._completed.append(call.question.handle_answer(call.outcome.answer))
            else:
                self._completed.append(_failed(call.question, call.outcome))

    def _next_batch(self, questions: Iterator[Question[Made]], ahead: int) -> list[Made]:
        """Return a batch of results, while more answers arrive."""
        found: list[Made] = []
        while (self._known or self._completed) and len(found) < BATCH:
            for step in (self._known or self._completed).popleft():
                if isinstance(step, Question):
                    self._again.append(step)
                else:
                    found.append(step)
            self._collect(0)
            self._feed(questions, ahead)
        return found


def _failed(question: Question[Made], error: BaseException) -> Steps[Made]:
    """Return the results of a question that was not answered."""
    if not isinstance(error, LimitReached | CallFailed):
        raise error
    state: State = "skipped" if isinstance(error, LimitReached) else "failed"
    return question.handle_failure(state, str(error))
