"""The questions of one run: asked, answered, and what comes of each."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Generic

from slowwave.consolidation.proposals import State, Usage
from slowwave.consolidation.writing.answer_store import AnswerStore
from slowwave.consolidation.writing.writer import TOGETHER
from slowwave.store.model_answers import Answer

from .dispatcher import Dispatcher
from .interface import CallFailed, Model
from .question import Made, Question, Steps
from .usage_limits import LimitReached

# How often it is looked whether a call takes too long.
_TICK_S = 0.2


class ModelSession(Generic[Made]):
    """One run's questions: which are to be asked, and what comes of them."""

    def __init__(self, model: Model, dispatcher: Dispatcher[Made], answers: AnswerStore) -> None:
        """Take who answers, through what, and where answers are kept."""
        self._model = model
        self._dispatcher = dispatcher
        self._answers = answers
        # What is to be asked once more.
        self._again: deque[Question[Made]] = deque()
        # What came of questions, and was not looked at yet: of those answered before, of others.
        self._known: deque[Steps[Made]] = deque()
        self._completed: deque[Steps[Made]] = deque()

    def run(self, questions: Iterator[Question[Made]], ahead: int) -> Iterator[Sequence[Made]]:
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

    def _feed(self, questions: Iterator[Question[Made]], ahead: int) -> None:
        """Queue the questions that were not answered before."""
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
                self._completed.append(one.question.handle_answer(one.outcome.answer))
            else:
                self._completed.append(_failed(one.question, one.outcome))

    def _next_portion(self, questions: Iterator[Question[Made]], ahead: int) -> list[Made]:
        """Return what came of questions, several at once, while other answers arrive."""
        found: list[Made] = []
        while (self._known or self._completed) and len(found) < TOGETHER:
            for one in (self._known or self._completed).popleft():
                if isinstance(one, Question):
                    self._again.append(one)
                else:
                    found.append(one)
            self._collect(0)
            self._feed(questions, ahead)
        return found


def _failed(question: Question[Made], error: BaseException) -> Steps[Made]:
    """Return what becomes of a question that was not answered."""
    if not isinstance(error, LimitReached | CallFailed):
        raise error
    state: State = "skipped" if isinstance(error, LimitReached) else "failed"
    return question.handle_failure(state, str(error))
