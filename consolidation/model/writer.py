"""The writer that asks a model, and believes nothing that it says.

Calls run in threads of their own; what they bring is kept, checked and told in one. A window is
asked about once, and once more about those of its groups that cannot be used.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

from slowwave.consolidation.proposals import AskedWindow, State, Usage, VerifiedProposal
from slowwave.consolidation.writing.answer_store import AnswerStore
from slowwave.consolidation.writing.verifier import Verifier
from slowwave.consolidation.writing.writer import TOGETHER, Job
from slowwave.store.ledger import Answer

from . import prompts
from .asking import CallFailed, Model
from .calls import Endpoint, open_model
from .dialogue import WindowDialogue
from .dispatcher import Dispatcher
from .groups import Suggestions
from .question import NextSteps, Question
from .questions import GroupsQuestion
from .recording import Recordings
from .second_opinions import Models, ModelWithSecondOpinions
from .usage_limits import LimitReached, UsageLimits, UsageMeter

# How often it is looked whether a call takes too long.
_TICK_S = 0.2


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
    ) -> None:
        """Take the endpoint, how many calls may be under way, and the usage limits.

        recordings: where answers go, or come from. checker: who gives the second opinions; with
        none, what needs one counts as turned down.
        """
        self._endpoint = endpoint
        self._checker = checker
        self._recordings = recordings or Recordings()
        self._concurrency = concurrency
        self._limits = limits or UsageLimits()
        self._opened: Model | None = None
        self._dispatcher: Dispatcher | None = None
        self._meter: UsageMeter | None = None

    @property
    def model(self) -> str | None:
        """The model's name."""
        return self._endpoint.model

    @property
    def checker(self) -> str | None:
        """The name of the model that gives the second opinions; None if there is none."""
        if isinstance(self._checker, Endpoint):
            return self._checker.model
        return None if self._checker == "none" else self.model

    @property
    def refused(self) -> str | None:
        """Why the model refuses every call; None if it does not, as far as is known."""
        return None if self._dispatcher is None else self._dispatcher.refused

    @property
    def key(self) -> str:
        """The hash of the model, of its checker if that is another, and of its instructions."""
        checker = "" if self.checker == self.model else f"\n{self.checker}"
        told = f"{self._endpoint.model}{checker}\n{prompts.INSTRUCTIONS}"
        return hashlib.sha256(told.encode()).hexdigest()

    def make_ready(self) -> None:
        """Load litellm, unless all answers come from a recording.

        Raises `ModelError` if litellm does not know the model, or a key is missing.
        """
        if self._opened is None:
            self._opened = self._open(self._endpoint)
            if isinstance(self._checker, Endpoint) and self._checker != self._endpoint:
                self._opened = ModelWithSecondOpinions(self._opened, self._open(self._checker))

    def _open(self, endpoint: Endpoint) -> Model:
        return self._recordings.model(endpoint.model, partial(open_model, endpoint))

    def write(
        self, jobs: Sequence[Job], verifier: Verifier, answers: AnswerStore
    ) -> Iterator[Sequence[VerifiedProposal | AskedWindow]]:
        """Yield what comes of the windows, as the answers come. Raises `ModelError`."""
        if not jobs:
            return
        self.make_ready()
        assert self._opened is not None  # noqa: S101 - make_ready has set it
        models = Models(self._endpoint.model, self.checker)
        questions = (
            GroupsQuestion(
                WindowDialogue(job, Suggestions(job.window, job.sources, self.key), models)
            )
            for job in jobs
        )
        if self._meter is None:
            # One for all that this writer writes: a night that was tried before spends of it, too.
            self._meter = UsageMeter(self._limits, self._opened.price)
        self._dispatcher = Dispatcher(self._opened, self._meter, self._concurrency)
        session = _Session(self._opened, self._dispatcher, verifier, answers)
        # So many wait ready for their call that none waits for what is done between two looks.
        yield from session.run(questions, 4 * self._concurrency)


class _Session:
    """One run's questions: which are to be asked, and what comes of them."""

    def __init__(
        self, model: Model, dispatcher: Dispatcher, verifier: Verifier, answers: AnswerStore
    ) -> None:
        self._model = model
        self._dispatcher = dispatcher
        self._verifier = verifier
        self._answers = answers
        # What is to be asked once more.
        self._again: deque[Question] = deque()
        # What came of questions, and was not looked at yet: of those answered before, of others.
        self._known: deque[NextSteps] = deque()
        self._completed: deque[NextSteps] = deque()

    def run(
        self, questions: Iterator[Question], ahead: int
    ) -> Iterator[Sequence[VerifiedProposal | AskedWindow]]:
        """Ask all questions and yield what came of them, in the portions in which it comes."""
        try:
            while True:
                self._feed(questions, ahead)
                is_idle = self._dispatcher.is_idle
                self._collect(0 if self._known or self._completed or is_idle else _TICK_S)
                if self._known or self._completed:
                    yield self._next_portion(questions, ahead)
                elif is_idle:
                    return
        finally:
            # After an interruption nothing more is paid for.
            self._dispatcher.close()

    def _feed(self, questions: Iterator[Question], ahead: int) -> None:
        """Queue the questions that were not answered before."""
        while self._again:
            self._ask(self._again.popleft(), first=True)
        while self._dispatcher.waiting < ahead and len(self._known) < ahead:
            question = next(questions, None)
            if question is None:
                return
            self._ask(question)

    def _ask(self, question: Question, first: bool = False) -> None:
        kept = question.kept(self._answers)
        if kept is None:
            self._dispatcher.ask(question, first)
        else:
            self._model.note_kept(question.messages, kept)
            question.charge(Usage(cached=1))
            self._known.append(question.handle_answer(kept.answer, self._verifier))

    def _collect(self, seconds: float) -> None:
        """Keep every answer that has come: it is paid for, and the next moment may be the last."""
        self._dispatcher.give_up_what_takes_too_long()
        completed = list(self._dispatcher.completed(seconds))
        answered = [(one, one.outcome) for one in completed if isinstance(one.outcome, Answer)]
        kept = [kept for one, answer in answered for kept in one.question.to_keep(answer)]
        if kept:
            self._answers.keep(kept)
        for one in completed:
            one.question.charge(one.used)
            if isinstance(one.outcome, Answer):
                self._completed.append(
                    one.question.handle_answer(one.outcome.answer, self._verifier)
                )
            else:
                self._completed.append(_failed(one.question, one.outcome, self._verifier))

    def _next_portion(
        self, questions: Iterator[Question], ahead: int
    ) -> list[VerifiedProposal | AskedWindow]:
        """Return what came of questions, some at once, while others land."""
        found: list[VerifiedProposal | AskedWindow] = []
        while (self._known or self._completed) and len(found) < TOGETHER:
            for one in (self._known or self._completed).popleft():
                if isinstance(one, Question):
                    self._again.append(one)
                else:
                    found.append(one)
            self._collect(0)
            self._feed(questions, ahead)
        return found


def _failed(question: Question, error: BaseException, verifier: Verifier) -> NextSteps:
    """Return what becomes of a question that was not answered."""
    if not isinstance(error, LimitReached | CallFailed):
        raise error
    state: State = "skipped" if isinstance(error, LimitReached) else "failed"
    return question.handle_failure(state, str(error), verifier)
