"""Questions to a model, as values, and the dialogues that yield them.

A dialogue is a generator that does no I/O. It yields questions and results; a driver sends it a
`Reply` to each question. So anybody can answer, in any order: a served model, a recording, or the
answers that a file keeps. A dialogue that is restarted with the same answers takes the same path.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

from slowwave.consolidation.planning.estimates import Estimate
from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.text.tokens import count_tokens
from slowwave.store.records import json_text

from .answer_forms import AnswerForm, Shape, read_answer, schema_of
from .prompts import Messages, ask_to_reformat
from .unanswered import Unanswered, UnreadableAnswer

# Tokens allowed beyond the expected answer; a model may be wordier than its sources.
ANSWER_MARGIN = 1_000

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Question(Generic[Shape]):
    """A question that a model answers in a form. Two are never equal, even with the same id."""

    # The name of the model that must answer.
    model: str
    form: AnswerForm[Shape]
    asked: Messages
    estimate: Estimate
    # An unreadable answer, and the request to answer again.
    correction: Messages = field(default_factory=list)

    @property
    def messages(self) -> Messages:
        """The messages to the model."""
        return [*self.asked, *self.correction]

    @property
    def kind(self) -> str:
        """What is asked for: `write`, `check`, or the name of another form."""
        return self.form.name

    @property
    def schema(self) -> dict[str, Any]:
        """The strict JSON schema of the answer."""
        return schema_of(self.form)

    @property
    def tokens(self) -> int:
        """The estimated tokens of the question and the answer."""
        return self.estimate.total

    @property
    def max_tokens(self) -> int:
        """The token limit of the answer."""
        return 2 * self.estimate.answer + ANSWER_MARGIN

    @cached_property
    def id(self) -> str:
        """The key of its answer in the file, the same for a correction."""
        digest = hashlib.sha256(json_text(self.asked).encode()).hexdigest()
        return hashlib.sha256(f"{self.model}\n{digest}".encode()).hexdigest()

    def is_answered_by(self, text: str) -> bool:
        """Whether a text has the requested form."""
        return self.fault_of(text) is None

    def fault_of(self, text: str) -> str | None:
        """Return why a text does not have the requested form; None if it has."""
        try:
            read_answer(self.form, text)
        except UnreadableAnswer as error:
            return str(error)
        return None

    def corrected(self, error: UnreadableAnswer) -> Question[Shape]:
        """Return the question that asks again after an unreadable answer."""
        added_tokens = count_tokens(error.text) + count_tokens(str(error))
        return replace(
            self,
            correction=ask_to_reformat(error.text, str(error)),
            estimate=replace(self.estimate, prompt=self.estimate.prompt + added_tokens),
        )


@dataclass(frozen=True)
class Reply:
    """The text of an answer, or why there is none, and the usage in either case."""

    outcome: str | Unanswered
    usage: Usage


# Yields questions and results, and is sent a reply to each question.
Dialogue = Generator[Question[Any] | Made, Reply, None]
# A part of a dialogue, which returns something.
Asking = Generator[Question[Any], Reply, Made]


@dataclass
class Bill:
    """The usage of a dialogue."""

    total: Usage = field(default_factory=Usage)
    # What is not yet divided among results.
    _unshared: Usage = field(default_factory=Usage)

    def add(self, used: Usage) -> None:
        """Add the usage of a question."""
        self.total += used
        self._unshared += used

    def share(self, count: int) -> list[Usage]:
        """Divide the usage since the last time among `count` results.

        What cannot be divided counts with the first result.
        """
        used, self._unshared = self._unshared, Usage()
        cost = None if used.cost_usd is None else used.cost_usd / count
        part = Usage(0, 0, used.prompt_tokens // count, used.completion_tokens // count, cost)
        first = replace(
            used,
            prompt_tokens=used.prompt_tokens - (count - 1) * part.prompt_tokens,
            completion_tokens=used.completion_tokens - (count - 1) * part.completion_tokens,
            cost_usd=cost,
        )
        return [first, *[part] * (count - 1)]


def ask(question: Question[Shape], bill: Bill) -> Asking[Shape]:
    """Ask, and once more if the answer is unreadable. Raises `Unanswered`."""
    try:
        return (yield from _ask_once(question, bill))
    except UnreadableAnswer as error:
        correction = question.corrected(error)
    return (yield from _ask_once(correction, bill))


def _ask_once(question: Question[Shape], bill: Bill) -> Asking[Shape]:
    reply = yield question
    bill.add(reply.usage)
    if isinstance(reply.outcome, Unanswered):
        raise reply.outcome
    return read_answer(question.form, reply.outcome)


def resume(
    dialogue: Dialogue[Made], reply: Reply | None = None
) -> tuple[list[Made], Question[Any] | None]:
    """Return the results up to the next question, and the question; None at the end.

    reply: to the last question; None begins a dialogue.
    """
    results: list[Made] = []
    try:
        step = next(dialogue) if reply is None else dialogue.send(reply)
        while not isinstance(step, Question):
            results.append(step)
            step = next(dialogue)
    except StopIteration:
        return results, None
    return results, step
