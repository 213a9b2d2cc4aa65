"""A model that knows the labels: what is missed with it, no better model could find.

It is the real writer but for the request itself: batches, guards and verification act as in a run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from slowwave.consolidation.model.asking import Call
from slowwave.consolidation.model.calls import TIMEOUT_S, Endpoint
from slowwave.consolidation.model.prompts import Messages
from slowwave.consolidation.model.writer import ModelWriter
from slowwave.store.ledger import Answer

# Two texts that it may be asked about, in their order in the labelled file.
Texts = tuple[str, str]


class OracleWriter(ModelWriter):
    """The writer that asks a model, with the labels in the model's place."""

    def __init__(self, same: Mapping[Texts, bool]) -> None:
        """Take which pairs say the same."""
        super().__init__(Endpoint("oracle"))
        self._oracle = _Oracle(same)

    def make_ready(self) -> None:
        """Put the labels in the model's place."""
        self._opened = self._oracle


class _Oracle:
    patience_s = TIMEOUT_S

    def __init__(self, same: Mapping[Texts, bool]) -> None:
        self._same = same

    def price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        return 0.0

    def limit(self, answer_tokens: int) -> int:
        return answer_tokens

    def note_kept(self, messages: Messages, answer: Answer) -> None:
        pass

    def ask(self, call: Call) -> Answer:
        call.pending.permit()
        lines = call.messages[1]["content"].splitlines()[1:-1]
        judgements = [self._judged(json.loads(line)) for line in lines]
        return Answer(json.dumps({"judgements": judgements}), 0, 0, 0.0)

    def _judged(self, pair: Mapping[str, object]) -> dict[str, object]:
        memories = pair["memories"]
        assert isinstance(memories, list)  # noqa: S101 - the form that prompts gives a pair
        left, right = (memory["text"] for memory in memories)
        same = self._same.get((left, right), self._same.get((right, left), False))
        return {"pair": pair["pair"], "judgement": "same" if same else "different"}
