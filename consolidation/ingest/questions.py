"""Ask a model what to remember of a part of a conversation, and whether the messages support it.

The user's instructions come first, then the prompt: both are the same in every call, so that
providers can cache them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from slowwave.consolidation.model.answer_forms import CHECK, MEMORIES, CheckAnswer, MemoriesAnswer
from slowwave.consolidation.model.objections import objections_of
from slowwave.consolidation.model.parsing import UnreadableAnswer, parse_answer
from slowwave.consolidation.model.prompts import (
    DraftToCheck,
    Messages,
    ask_to_check,
    fenced,
    json_line,
    prompt,
)
from slowwave.consolidation.model.question import Question, Steps
from slowwave.consolidation.planning.estimates import Estimate, estimate_check
from slowwave.consolidation.proposals import State, Usage
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.store.conversations.messages import replace_half_pairs

from .candidates import PartRead, check_stated, within_limits
from .parts import Part, PlacedMessage

_FENCE = re.compile(r"^```\w*\s*|\s*```$")
# The tokens of a memory with its quotes in an answer.
_TOKENS_PER_MEMORY = 120
# The tokens of tags, schema and roles.
_TOKENS_AROUND = 300


class PartQuestion(Question[PartRead]):
    """A question about one part."""

    def __init__(self, model: str, messages: Messages, estimate: Estimate, read: PartRead) -> None:
        """Take the model, the messages, their estimate, and the part as read so far."""
        super().__init__(model, messages, estimate)
        self._read = read

    def handle_failure(self, state: State, why: str) -> Steps[PartRead]:
        """Yield the unread part; kept answers are not paid for again."""
        yield PartRead(
            self._read.part,
            "skipped" if state == "skipped" else "failed",
            why=why,
            usage=self._read.usage,
        )

    def charge(self, used: Usage) -> None:
        """Add usage for the part."""
        self._read = replace(self._read, usage=self._read.usage + used)


class ConversationQuestion(PartQuestion):
    """Asks what to remember of one part."""

    form = MEMORIES

    def __init__(self, model: str, checker: str | None, part: Part, known: Sequence[str]) -> None:
        """Take both models, the part, and the texts of known memories."""
        limit = part.options.max_facts
        shown = [f"At most {limit} memories."]
        if known:
            shown.append(fenced("memories", [json_line(content) for content in known]))
        shown.append(fenced("conversation", [_line(message) for message in part.messages]))
        instructions = part.options.instructions.strip()
        system = "\n\n".join(filter(None, (instructions, prompt("conversation"))))
        messages = [
            {"role": "system", "content": system},
            {"role": "user", "content": "\n".join(shown)},
        ]
        tokens = _TOKENS_AROUND + sum(count_tokens(message["content"]) for message in messages)
        answer = _TOKENS_PER_MEMORY * min(limit, max(1, len(part.messages)))
        super().__init__(model, messages, Estimate(tokens, answer), PartRead(part))
        self._checker = checker

    @property
    def tokens(self) -> int:
        """The estimated tokens of the question and of its check."""
        if self._checker is None:
            return self.estimate.total
        part = self._read.part
        drafts = min(part.options.max_facts, len(part.new))
        return self.estimate.total + estimate_check(self.messages[-1]["content"], drafts).total

    def handle_answer(self, text: str) -> Steps[PartRead]:
        """Yield the candidates; the raw answer if it is unreadable twice."""
        try:
            stated = parse_answer(MemoriesAnswer, _as_object(text)).memories
        except UnreadableAnswer as error:
            if self._is_repeated:
                why = f"the model's answer cannot be read: {error}"
                yield replace(self._read, raw=replace_half_pairs(text), why=why)
            else:
                yield from self._ask_to_reformat(text, str(error))
            return
        part = self._read.part
        candidates = [check_stated(memory, part) for memory in stated]
        read = replace(self._read, candidates=within_limits(candidates, part.options))
        drafts = _drafts(read)
        if self._checker is None or not drafts:
            yield read
        else:
            yield SupportQuestion(self._checker, read, drafts)

    def is_readable(self, text: str) -> bool:
        """Whether an answer has the requested form."""
        return super().is_readable(_as_object(text))


class SupportQuestion(PartQuestion):
    """Asks whether the quoted messages support the candidates of one part."""

    form = CHECK

    def __init__(self, model: str, read: PartRead, drafts: dict[int, DraftToCheck]) -> None:
        """Take the part, and what to check by the places of its candidates."""
        messages = ask_to_check(list(drafts.values()))
        estimate = estimate_check(messages[-1]["content"], len(drafts))
        super().__init__(model, messages, estimate, read)
        self._drafts = drafts

    def handle_answer(self, text: str) -> Steps[PartRead]:
        """Yield the part; unsupported candidates are not remembered.

        A memory may omit anything, so lost words are not an objection.
        """
        try:
            stated = parse_answer(CheckAnswer, text).groups
        except UnreadableAnswer as error:
            yield from self._ask_to_reformat(text, str(error))
            return
        by_number = {each.n: each for each in stated}
        candidates = list(self._read.candidates)
        for number, (place, draft) in enumerate(self._drafts.items(), start=1):
            reasons = objections_of(by_number.get(number), draft).reasons
            candidates[place] = replace(candidates[place], why="; ".join(reasons) or None)
        yield replace(self._read, candidates=tuple(candidates))


def _drafts(read: PartRead) -> dict[int, DraftToCheck]:
    """Return what a model must confirm, by the places of the candidates."""
    return {
        place: candidate.draft
        for place, candidate in enumerate(read.candidates)
        if candidate.draft is not None and candidate.why is None
    }


def _line(placed: PlacedMessage) -> str:
    marks = ["" if placed.is_new else "earlier", (placed.message.said_at or "")[:10]]
    # A name may contain anything, so it is within the JSON.
    return " ".join([*filter(None, marks), json_line({placed.speaker: placed.message.text})])


def _as_object(text: str) -> str:
    """Return a bare list, which some models answer, as the requested object."""
    bare = _FENCE.sub("", text.strip()).strip()
    if bare.startswith("[") and bare.endswith("]"):
        return f'{{"memories": {bare}, "reasoning": ""}}'
    return text
