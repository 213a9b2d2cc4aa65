"""The writer that asks a model, and checks all that it says.

Calls run in threads of their own; what they bring is kept, checked and yielded in one thread.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal

from slowwave.consolidation.proposals import AskedWindow, VerifiedProposal
from slowwave.consolidation.writing.answer_store import AnswerStore
from slowwave.consolidation.writing.writer import Job

from . import prompts
from .calls import Endpoint, open_model
from .dialogue import WindowDialogue
from .dispatcher import Dispatcher
from .groups import WindowGroups
from .interface import Model
from .model_pair import Models, ModelWithChecker
from .portions import BudgetOwner
from .question import Made, Question
from .recording import Recordings
from .session import ModelSession
from .usage_limits import UsageLimits, UsageMeter
from .window_questions import WriteQuestion


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
        """Take the endpoint, how many calls may be under way, and the usage limits.

        recordings: where answers go, or come from. checker: who reads the drafts; with none
        they are checked by program alone. owner: who grants the budget, if it is shared.
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
        """The name of the model that reads the drafts; None if there is none."""
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
        instructions = "\n".join(map(prompts.prompt, ("write", "check", "repair")))
        identity = f"{self._endpoint.model}{checker}\n{instructions}"
        return hashlib.sha256(identity.encode()).hexdigest()

    def make_ready(self) -> None:
        """Load litellm, unless all answers come from a recording.

        Raises `ModelError` if litellm does not know the model, or a key is missing.
        """
        if self._opened is None:
            self._opened = self._open(self._endpoint)
            if isinstance(self._checker, Endpoint) and self._checker != self._endpoint:
                self._opened = ModelWithChecker(self._opened, self._open(self._checker))

    def give_back(self) -> None:
        """Give back what is left of a shared budget."""
        if self._meter is not None:
            self._meter.give_back()

    def _open_meter(self, model: Model) -> UsageMeter:
        """Return the one for all that this writer asks: a tried night spends of it, too."""
        if self._meter is None:
            self._meter = UsageMeter(self._limits, model.price, self._owner)
        return self._meter

    def _open(self, endpoint: Endpoint) -> Model:
        return self._recordings.model(endpoint.model, partial(open_model, endpoint))

    def write(
        self, jobs: Sequence[Job], answers: AnswerStore
    ) -> Iterator[Sequence[VerifiedProposal | AskedWindow]]:
        """Yield what comes of the windows, as the answers come. Raises `ModelError`."""
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
        """Yield what comes of questions, as the answers come. Raises `ModelError`."""
        self.make_ready()
        assert self._opened is not None  # noqa: S101 - make_ready has set it
        meter = self._open_meter(self._opened)
        dispatcher = Dispatcher[Made](self._opened, meter, self._concurrency)
        self._dispatcher = dispatcher
        session = ModelSession[Made](self._opened, dispatcher, answers)
        # So many wait ready for their call that none waits for what is done between two looks.
        yield from session.run(questions, 4 * self._concurrency)
