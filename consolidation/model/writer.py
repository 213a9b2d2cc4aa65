"""The writer that asks a model, and believes nothing that it says.

Calls run in threads of their own; what they bring is kept, checked and told in one. A window is
asked about once, and once more about those of its groups that cannot be used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal

from slowwave.consolidation.proposals import AskedWindow, CheckedProposal
from slowwave.consolidation.writing.checking import Check
from slowwave.consolidation.writing.writer import Answers, Job

from . import prompts
from .asking import Model
from .budget import Budget, Ledger
from .calls import Endpoint, open_model
from .checker import Models, ModelWithChecker
from .dispatcher import Dispatcher
from .groups import Suggestions
from .question import Made, Question
from .questions import GroupsQuestion, WindowDialogue
from .recording import Recordings
from .session import Session


class ModelWriter:
    """Asks a model about windows."""

    name = "model"

    def __init__(
        self,
        endpoint: Endpoint,
        concurrency: int = 4,
        budget: Budget | None = None,
        recordings: Recordings | None = None,
        checker: Endpoint | Literal["same", "none"] = "same",
    ) -> None:
        """Take the endpoint, how many calls may be under way, and the budget.

        recordings: where answers go, or come from. checker: who gives the second opinions; with
        none, what needs one counts as turned down.
        """
        self._endpoint = endpoint
        self._checker = checker
        self._recordings = recordings or Recordings()
        self._concurrency = concurrency
        self._budget = budget or Budget()
        self._opened: Model | None = None
        self._dispatcher: Dispatcher[Any] | None = None
        self._ledger: Ledger | None = None

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
        """The hash of the model, of who checks it if that is another, and of what it is told."""
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
                self._opened = ModelWithChecker(self._opened, self._open(self._checker))

    def _open(self, endpoint: Endpoint) -> Model:
        return self._recordings.model(endpoint.model, partial(open_model, endpoint))

    def write(
        self, jobs: Sequence[Job], check: Check, answers: Answers
    ) -> Iterator[Sequence[CheckedProposal | AskedWindow]]:
        """Yield what comes of the windows, as the answers come. Raises `ModelError`."""
        if not jobs:
            return
        models = Models(self._endpoint.model, self.checker)
        questions = (
            GroupsQuestion(
                WindowDialogue(job, Suggestions(job.window, job.sources, self.key), models)
            )
            for job in jobs
        )
        yield from self.ask(questions, check, answers)

    def ask(
        self, questions: Iterator[Question[Made]], check: Check, answers: Answers
    ) -> Iterator[Sequence[Made]]:
        """Yield what comes of questions, as the answers come. Raises `ModelError`."""
        self.make_ready()
        assert self._opened is not None  # noqa: S101 - make_ready has set it
        if self._ledger is None:
            # One for all that this writer writes: a night that was tried before spends of it, too.
            self._ledger = Ledger(self._budget, self._opened.price)
        dispatcher = Dispatcher[Made](self._opened, self._ledger, self._concurrency)
        self._dispatcher = dispatcher
        session = Session[Made](self._opened, dispatcher, check, answers)
        # So many wait ready for their call that none waits for what is done between two looks.
        yield from session.run(questions, 4 * self._concurrency)
