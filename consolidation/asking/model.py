"""The writer that asks a model, and believes nothing that it says.

One thread keeps the books; calls run in threads and come back to it. A proposal is asked about
once, and once more if its answer cannot be read or does not verify.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from functools import partial

from slowwave.consolidation.aside import begin_aside
from slowwave.consolidation.proposals import Operation, State, Usage, Written
from slowwave.consolidation.write import Answers, Check, Job
from slowwave.store.ledger import Answer

from . import prompts
from .budget import Books, Budget, BudgetSpent, Flight
from .calls import Call, CallFailed, Endpoint, Model, ModelRefuses, open_model
from .questions import Asking, Turn, Writing, batches, decide, kept_judgement, share

# How often it is looked whether a call takes too long.
_TICK_S = 0.2


class ModelWriter:
    """Writes with a model. Merges that need a judgement are judged, the others are not asked."""

    name = "model"

    def __init__(self, endpoint: Endpoint, concurrency: int = 4, budget: Budget | None = None):
        """Take where the model is, how many calls may be under way, and what they may use."""
        self._endpoint = endpoint
        self._concurrency = concurrency
        self._budget = budget or Budget()
        self._opened: Model | None = None

    @property
    def model(self) -> str | None:
        """The model's name."""
        return self._endpoint.model

    def prompt_hash(self, operation: Operation) -> str:
        """Give the hash of the instructions and of the model."""
        text = f"{self._endpoint.model}\n{prompts.instructions_of(operation)}"
        return hashlib.sha256(text.encode()).hexdigest()

    def make_ready(self) -> None:
        """Load litellm. Raises `ModelError` if it does not know the model, or a key is missing."""
        if self._opened is None:
            self._opened = open_model(self._endpoint)

    def write(self, jobs: Sequence[Job], check: Check, answers: Answers) -> Iterator[Written]:
        """Give what became of each proposal, as the answers come. Raises `ModelError`."""
        if not jobs:
            return
        self.make_ready()
        assert self._opened is not None  # noqa: S101 - make_ready has set it
        name = self._endpoint.model
        to_judge = []
        for turn in (Turn(job) for job in jobs if job.proposal.operation == "merge"):
            judgement = kept_judgement(name, turn.job, answers)
            if judgement is None:
                to_judge.append(turn)
            else:
                turn.usage += Usage(cached=1)
                yield turn.end(decide(turn.job, judgement, check))
        writing = [Writing(name, job) for job in jobs if job.proposal.operation != "merge"]
        session = _Session(self._opened, Books(self._budget, self._opened.price), check, answers)
        yield from session.run(deque([*writing, *batches(name, to_judge)]), self._concurrency)


class _Session:
    """One run's questions: which are waiting, which are under way, what comes of them."""

    def __init__(self, model: Model, books: Books, check: Check, answers: Answers) -> None:
        self._model = model
        self._books = books
        self._check = check
        self._answers = answers
        self._waiting: deque[Asking] = deque()
        self._flying: dict[Future[Answer], tuple[Asking, Flight]] = {}
        # What came of questions, and was not asked for yet.
        self._landed: deque[Iterator[Written]] = deque()
        # Why nothing can be asked any more.
        self._refused: str | None = None

    def run(self, questions: deque[Asking], concurrency: int) -> Iterator[Written]:
        """Ask all questions, so many at a time, and give what came of them."""
        self._waiting = questions
        while self._waiting or self._flying or self._landed:
            while self._waiting and len(self._flying) < concurrency:
                written = self._start(self._waiting[0])
                if written is None:
                    break
                self._landed.append(written)
            if not self._landed:
                self._take_in(_TICK_S)
            for written in self._taken():
                yield from self._while_others_land(written)

    def _taken(self) -> Iterator[Iterator[Written]]:
        while self._landed:
            yield self._landed.popleft()

    def _while_others_land(self, outcome: Iterator[Written]) -> Iterator[Written]:
        """Give what came of a question; whoever takes it may take his time over it."""
        for written in outcome:
            self._take_in(0)
            yield written

    def _take_in(self, seconds: float) -> None:
        """Keep every answer that has come: it is paid for, and the next moment may be the last."""
        done, flying = wait(self._flying, seconds, return_when=FIRST_COMPLETED)
        for future in done:
            self._landed.append(self._land(future))
        for future in flying:
            _, flight = self._flying[future]
            why = self._books.out_of_time()
            if why is not None:
                self._landed.append(self._give_up(future, BudgetSpent(why)))
            elif flight.seconds > self._model.patience_s:
                why = f"the model did not answer within {self._model.patience_s:g} seconds"
                self._landed.append(self._give_up(future, CallFailed(why)))

    def _start(self, question: Asking) -> Iterator[Written] | None:
        """Ask the next question, or give what comes of it without; None if it has to wait."""
        kept = question.kept(self._answers)
        if kept is not None:
            self._waiting.popleft()
            _charge(question, Usage(cached=1))
            return self._settle(question, kept)
        refusal = self._refused
        if refusal is None:
            try:
                flight = self._books.begin(question.estimate, question.most_tokens)
            except BudgetSpent as spent:
                refusal = str(spent)
            else:
                self._waiting.popleft()
                call = Call(question.kind, question.messages, flight)
                self._flying[begin_aside(partial(self._model.ask, call))] = (question, flight)
                return iter(())
        # Those under way may leave room in the budget: they count with the most they can take.
        if self._flying:
            return None
        self._waiting.popleft()
        return _given_up(question, "skipped", refusal)

    def _land(self, future: Future[Answer]) -> Iterator[Written]:
        """Take a call's answer, or its failure, into the books."""
        question, flight = self._flying.pop(future)
        error = future.exception()
        answer = future.result() if error is None else None
        self._end(question, flight, answer)
        if answer is None:
            return self._failed(question, error)
        question.keep(self._answers, answer)
        return self._settle(question, answer)

    def _give_up(self, future: Future[Answer], why: BudgetSpent | CallFailed) -> Iterator[Written]:
        """Wait no longer for a call; its thread ends when the server lets go of it."""
        question, flight = self._flying.pop(future)
        flight.given_up = str(why)
        flight.lose()
        self._end(question, flight, None)
        return self._failed(question, why)

    def _end(self, question: Asking, flight: Flight, answer: Answer | None) -> None:
        used = _used(flight.requests, answer)
        self._books.end(flight, used)
        # An answer that did not come may be charged for: nobody here knows how much.
        _charge(question, replace(used, cost_usd=None) if flight.lost else used)

    def _failed(self, question: Asking, error: BaseException | None) -> Iterator[Written]:
        if isinstance(error, BudgetSpent):
            return _given_up(question, "skipped", str(error))
        if isinstance(error, ModelRefuses) and self._refused is not None:
            return _given_up(question, "skipped", self._refused)
        if isinstance(error, ModelRefuses):
            self._refused = str(error)
        if isinstance(error, CallFailed):
            return _given_up(question, "failed", str(error))
        assert error is not None  # noqa: S101 - without an error there is an answer
        raise error

    def _settle(self, question: Asking, answer: Answer) -> Iterator[Written]:
        """Give what became of proposals, and put in front what is to be asked once more."""
        for one in question.settle(answer.answer, self._check):
            if isinstance(one, Written):
                yield one
            else:
                self._waiting.appendleft(one)


def _used(requests: int, answer: Answer | None) -> Usage:
    if answer is None:
        return Usage(calls=requests)
    return Usage(requests, 0, answer.prompt_tokens, answer.completion_tokens, answer.cost_usd)


def _charge(question: Asking, used: Usage) -> None:
    for turn, part in zip(question.turns, share(used, len(question.turns)), strict=True):
        turn.usage += part


def _given_up(question: Asking, state: State, why: str) -> Iterator[Written]:
    for turn in question.turns:
        yield turn.end(Written(turn.proposal, None, state, why))
