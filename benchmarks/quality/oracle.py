"""A model that knows the labels: what is missed with it, no better model could find.

It is the real writer but for the request itself: batches, guards and verification act as in a run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from slowwave.consolidation.model.calls import TIMEOUT_S, Endpoint
from slowwave.consolidation.model.interface import Call
from slowwave.consolidation.model.prompts import Messages
from slowwave.consolidation.model.writer import ModelWriter
from slowwave.store.model_answers import Answer

from .knowing import approving, shown_in

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
    """Of two memories that say the same it lets the longer one stay."""

    patience_s = TIMEOUT_S

    def __init__(self, same: Mapping[Texts, bool]) -> None:
        self._same = {frozenset(pair) for pair, says_the_same in same.items() if says_the_same}

    def price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        return 0.0

    def limit(self, answer_tokens: int) -> int:
        return answer_tokens

    def note_kept(self, messages: Messages, answer: Answer) -> None:
        pass

    def ask(self, call: Call) -> Answer:
        call.pending.permit()
        if call.form == "opinions":
            said = {"opinions": approving(call.messages[1]["content"])}
            return Answer(json.dumps(said), 0, 0, 0.0)
        texts = {short: text for short, _, text in shown_in(call.messages[1]["content"])}
        groups = []
        if frozenset(texts.values()) in self._same:
            stay = max(texts, key=lambda short: len(texts[short]))
            groups = [{"kind": "same", "ids": list(texts), "stay": [stay], "claims": []}]
        return Answer(json.dumps({"groups": groups}), 0, 0, 0.0)
