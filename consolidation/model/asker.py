"""Single questions to a model, one after the other, within a writer's budget."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel

from slowwave.consolidation.planning.estimates import Estimate
from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.writing.answer_store import AnswerStore
from slowwave.store.ledger import Answer
from slowwave.store.records import json_text

from .answer_forms import AnswerForm
from .asking import Call, CallFailed, Model
from .parsing import UnreadableAnswer, parse_answer
from .prompts import Messages, ask_for_the_form
from .usage_limits import UsageMeter

# The most tokens of an answer beyond what is expected.
_MARGIN = 1_000
_Form = TypeVar("_Form", bound=BaseModel)


@dataclass
class Asker:
    """Asks, reads the answer, and asks once more if that cannot be read."""

    model: Model
    name: str
    meter: UsageMeter
    usage: Usage = field(default_factory=Usage)

    def ask(
        self,
        form: AnswerForm,
        shape: type[_Form],
        messages: Messages,
        tokens: int,
        answers: AnswerStore,
    ) -> _Form:
        """Return the answer in its form; one that was paid for before is not paid for again.

        tokens: expected of the answer. Raises `CallFailed`, also where it cannot be read, and
        `LimitReached`.
        """
        key = hashlib.sha256(f"{self.name}\n{json_text(messages)}".encode()).hexdigest()
        if (kept := answers.find(key)) is not None:
            self.model.note_kept(messages, kept)
            self.usage += Usage(cached=1)
            return parse_answer(shape, kept.answer)
        answer = self._asked(form, messages, tokens)
        try:
            found = parse_answer(shape, answer.answer)
        except UnreadableAnswer as error:
            again = ask_for_the_form(messages, answer.answer, str(error))
            answer = self._asked(form, again, tokens)
            try:
                found = parse_answer(shape, answer.answer)
            except UnreadableAnswer as second:
                raise CallFailed(str(second)) from second
        answers.keep([(key, self.name, answer)])
        return found

    def _asked(self, form: AnswerForm, messages: Messages, tokens: int) -> Answer:
        prompt = sum(count_tokens(one["content"]) for one in messages)
        estimate = Estimate(prompt, tokens)
        pending = self.meter.begin(estimate, self.model.limit(2 * tokens + _MARGIN))
        used = Usage()
        try:
            answer = self.model.ask(Call(form, messages, pending))
            used = Usage(
                pending.requests,
                int(not pending.requests),
                answer.prompt_tokens,
                answer.completion_tokens,
                answer.cost_usd,
            )
            return answer
        finally:
            self.meter.end(pending, used)
            self.usage += (used or Usage(calls=pending.requests)) + pending.wasted
