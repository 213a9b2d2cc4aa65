"""The writer that asks a model, and keeps each answer of the requested form.

Calls run in threads of their own; their answers are kept, checked and yielded in one thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal

from slowwave.consolidation.proposals import AskedWindow, Result, Usage
from slowwave.consolidation.writing.writer import BATCH, AnswerStore, Job, Writer
from slowwave.store.model_answers import Answer

from .dispatcher import Dispatcher
from .interface import Model, Models
from .question import Dialogue, Made, Question, Reply, resume
from .recording import Recordings
from .unanswered import CallFailed, Unanswered
from .usage_limits import Call, MakeMeter, UsageLimits, UsageMeter
from .window_dialogue import WindowDialogue

# How often overdue calls are looked for.
_POLL_S = 0.2


class ModelWriter(Writer):
    """Asks a model about windows."""

    name = "model"

    def __init__(
        self,
        model: Model,
        concurrency: int = 4,
        limits: UsageLimits | None = None,
        recordings: Recordings | None = None,
        checker: Model | Literal["same", "none"] = "same",
        make_meter: MakeMeter = UsageMeter,
    ) -> None:
        """concurrency: the maximum number of concurrent calls.

        recordings: where answers are recorded to, or replayed from. checker: the model that checks
        the drafts; with "none" only a program does.
        """
        reader = model if checker == "same" else None if checker == "none" else checker
        reader_name = None if reader is None else reader.model
        self.models = Models(model.model, reader_name, self._full_name)
        self.model, self.checker, self.key = model.model, reader_name, self.models.key
        self._recordings = recordings or Recordings()
        # The models to ask, first the writing one; none if all answers come from a recording.
        self._asked: list[Model] = [model] if self._recordings.asks else []
        if self._asked and reader is not None and reader != model:
            self._asked.append(reader)
        self._concurrency = concurrency
        self._limits = limits or UsageLimits()
        self._make_meter = make_meter
        self._dispatcher: Dispatcher | None = None
        self._session: _Session[Any] | None = None
        # Counts the usage, once a model was asked.
        self.meter: UsageMeter | None = None

    @property
    def refused(self) -> str | None:
        """Why the model was not called again; None if no call was refused."""
        return None if self._dispatcher is None else self._dispatcher.refused

    @property
    def overspent(self) -> str | None:
        """The usage that exceeds a limit, and the limit; None if none is exceeded."""
        return None if self.meter is None else self.meter.overspent()

    @property
    def unfinished(self) -> Usage:
        """The usage of questions whose results were not yielded, since the run was interrupted."""
        return Usage() if self._session is None else self._session.unfinished

    def make_ready(self) -> None:
        """Open the models. Raises `ModelError` if one cannot be asked."""
        for model in self._asked:
            model.open()

    def _full_name(self, name: str) -> str:
        """Return a model's name, and the one that its answers give it, if any."""
        for model in self._asked:
            if model.model == name and model.answered_as:
                return f"{name} ({model.answered_as})"
        return name

    def _model_of(self, question: Question[Any]) -> Model:
        """Return the model that a question is for."""
        return self._asked[-1 if question.kind == "check" else 0]

    def _answer(self, call: Call) -> Answer:
        """Return the answer of the model that the question is for, and record it."""
        answer = self._model_of(call.question).answer(call)
        self._recordings.record(call.question, answer)
        return answer

    def _price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        """Return the highest price of the models; None if one of them is unknown."""
        prices = [model.price(prompt_tokens, answer_tokens) for model in self._asked]
        known_prices = [price for price in prices if price is not None]
        return max(known_prices, default=0.0) if len(known_prices) == len(prices) else None

    def write(
        self, jobs: Sequence[Job], answers: AnswerStore
    ) -> Iterator[Sequence[Result | AskedWindow]]:
        """Yield the results of the windows as answers arrive. Raises `ModelError`."""
        dialogues = (WindowDialogue(job, self.models).run() for job in jobs)
        return self.run_dialogues(dialogues, answers) if jobs else iter(())

    def run_dialogues(
        self, dialogues: Iterator[Dialogue[Made]], answers: AnswerStore
    ) -> Iterator[Sequence[Made]]:
        """Yield the results of dialogues as answers arrive. Raises `ModelError`."""
        self.make_ready()
        if self.meter is None:
            # One for this writer: a trial night counts, too.
            self.meter = self._make_meter(self._limits, self._price)
        self._dispatcher = Dispatcher(self._answer, self._model_of, self.meter, self._concurrency)
        self._session = session = _Session[Made](self._dispatcher, answers, self._recordings)
        # Enough questions are queued that no call waits for the results of others.
        yield from session.run(dialogues, 4 * self._concurrency)


@dataclass(eq=False)
class _Session(Generic[Made]):
    """Drives the dialogues of one run: asks their questions, and sends them the answers."""

    _dispatcher: Dispatcher
    _answers: AnswerStore
    _recordings: Recordings
    # The dialogues whose questions are dispatched.
    _asking: dict[Question[Any], Dialogue[Made]] = field(default_factory=dict)
    # The dialogues to resume, each with the reply to its question.
    _replied: deque[tuple[Dialogue[Made], Reply]] = field(default_factory=deque)
    # The usage of each dialogue that has not ended.
    _bills: dict[Dialogue[Made], Usage] = field(default_factory=dict)
    # Results that were not yielded yet.
    _results: list[Made] = field(default_factory=list)

    def run(self, dialogues: Iterator[Dialogue[Made]], ahead: int) -> Iterator[Sequence[Made]]:
        """Yield the results of all dialogues in batches."""
        try:
            self._begin(dialogues, ahead)
            while self._results or self._replied or self._asking:
                self._collect(0 if self._results or self._replied else _POLL_S)
                while self._replied and len(self._results) < BATCH:
                    self._resume(*self._replied.popleft())
                    self._collect(0)
                    self._begin(dialogues, ahead)
                if self._results:
                    results, self._results = self._results, []
                    yield results
                self._begin(dialogues, ahead)
        finally:
            # An interrupted run makes no further calls.
            self._dispatcher.close()

    @property
    def unfinished(self) -> Usage:
        """The usage of dialogues that have not ended, with that of calls in flight."""
        replied = (reply.usage for _, reply in self._replied)
        return sum((*self._bills.values(), *replied), start=self._dispatcher.unfinished())

    def _begin(self, dialogues: Iterator[Dialogue[Made]], ahead: int) -> None:
        """Begin dialogues until enough questions are queued."""
        while self._dispatcher.queued < ahead and len(self._replied) < ahead:
            dialogue = next(dialogues, None)
            if dialogue is None:
                return
            self._resume(dialogue)

    def _resume(self, dialogue: Dialogue[Made], reply: Reply | None = None) -> None:
        """Resume a dialogue up to its next question, and ask that unless its answer is kept."""
        if reply is not None:
            self._bills[dialogue] = self._bills.get(dialogue, Usage()) + reply.usage
        results, question = resume(dialogue, reply)
        self._results += results
        if question is None:
            self._bills.pop(dialogue, None)
            return
        known_reply = self._known_reply(question)
        if known_reply is not None:
            self._replied.append((dialogue, known_reply))
        else:
            self._asking[question] = dialogue
            # Windows that are begun are completed first.
            self._dispatcher.queue(question, first=reply is not None)

    def _known_reply(self, question: Question[Any]) -> Reply | None:
        """Return the reply of the file or the recording; None if a model must be asked."""
        answer = self._answers.find(question.id)
        if answer is not None and question.is_answered_by(answer.answer):
            text = answer.answer
        else:
            try:
                answer = self._recordings.find(question)
            except CallFailed as missing:
                return Reply(missing, Usage())
            if answer is None:
                return None
            text = self._keep(question, Answer(answer.answer, 0, 0, 0.0))
        self._recordings.record(question, answer)
        return Reply(text, Usage(cached=1))

    def _collect(self, seconds: float) -> None:
        """Keep every answer that has arrived, at once: it is paid for."""
        self._dispatcher.abandon_overdue()
        completed = list(self._dispatcher.completed(seconds))
        outcomes = [
            self._keep(call.question, call.outcome)
            if isinstance(call.outcome, Answer)
            else call.outcome
            for call in completed
        ]
        for call, outcome in zip(completed, outcomes, strict=True):
            if not isinstance(outcome, str | Unanswered):
                raise outcome
            dialogue = self._asking.pop(call.question)
            self._replied.append((dialogue, Reply(outcome, call.used)))

    def _keep(self, question: Question[Any], answer: Answer) -> str:
        """Keep an answer if it has the requested form; return it without secrets."""
        text = self._answers.masked(answer.answer, question.messages)
        if question.is_answered_by(text):
            self._answers.keep(question.id, question.model, replace(answer, answer=text))
        return text
