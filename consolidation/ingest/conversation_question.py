"""Ask a model what to remember of a part of a conversation.

The user's instructions come first, then the prompt: both are the same in every call, so that
providers can cache them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from slowwave.consolidation.model.answer_forms import MEMORIES, MemoriesAnswer
from slowwave.consolidation.model.model_pair import Models
from slowwave.consolidation.model.parsing import UnreadableAnswer, parse_answer
from slowwave.consolidation.model.prompts import Messages, fenced, json_line
from slowwave.consolidation.model.prompts import prompt as text_of_prompt
from slowwave.consolidation.model.question import Question, Steps
from slowwave.consolidation.planning.estimates import Estimate
from slowwave.consolidation.proposals import State, Usage
from slowwave.consolidation.text.token_count import count_tokens

from .candidates import Candidate, PartRead, RejectedText
from .options import IngestOptions
from .parts import Part
from .support import UncheckedCandidate, checked, speaker_of
from .support_question import SupportQuestion

_FENCE = re.compile(r"^```\w*\s*|\s*```$")
# The tokens of a memory with its quotes in an answer.
_TOKENS_PER_MEMORY = 120
# The tokens of tags, schema and roles.
_TOKENS_AROUND = 300


class ShownMessage(NamedTuple):
    """A message as the model is shown it."""

    # `user`, `assistant`, or the speaker's name.
    who: str
    day: str | None
    text: str
    # Whether it is only context.
    earlier: bool


class ConversationQuestion(Question[PartRead]):
    """Asks what to remember of one part."""

    form = MEMORIES

    def __init__(self, models: Models, part: Part, known: Sequence[str]) -> None:
        """Take the models, the part, and the texts of known memories."""
        shown = [
            ShownMessage(
                speaker_of(message),
                (message.message.said_at or "")[:10],
                message.message.text,
                not message.is_new,
            )
            for message in part.said
        ]
        messages, estimate = ask_about_conversation(
            shown, known, part.options.max_facts, part.options.instructions
        )
        super().__init__(models.writer, messages, estimate)
        self._checker = models.checker
        self._part = part
        self._usage = Usage()

    def handle_answer(self, text: str) -> Steps[PartRead]:
        """Yield the candidates; the raw answer if it is unreadable twice."""
        try:
            stated = parse_answer(MemoriesAnswer, _as_object(text)).memories
        except UnreadableAnswer as error:
            if self._is_repeated:
                why = f"the model's answer cannot be read: {error}"
                yield PartRead(self._part, raw=text, why=why, usage=self._usage)
            else:
                yield from self._ask_to_reformat(text, str(error))
            return
        yield from self._without_doubts([checked(memory, self._part) for memory in stated])

    def _without_doubts(
        self, found: Sequence[Candidate | UncheckedCandidate | RejectedText]
    ) -> Steps[PartRead]:
        """Yield the candidates, or the question whether the messages support them."""
        refused = [item for item in found if isinstance(item, RejectedText)]
        doubted = [item for item in found if isinstance(item, UncheckedCandidate)]
        candidates = [
            item.candidate if isinstance(item, UncheckedCandidate) else item
            for item in found
            if not isinstance(item, RejectedText)
        ]
        kept, too_many = within_limits(candidates, self._part.options)
        doubts = [doubt for doubt in doubted if doubt.candidate in kept]
        read = PartRead(self._part, "read", kept, (*refused, *too_many), usage=self._usage)
        if not doubts or self._checker is None:
            yield read
        else:
            yield SupportQuestion(self._checker, read, doubts)

    def handle_failure(self, state: State, why: str) -> Steps[PartRead]:
        """Yield the unread part."""
        yield PartRead(
            self._part, "skipped" if state == "skipped" else "failed", why=why, usage=self._usage
        )

    def charge(self, used: Usage) -> None:
        """Add usage for the part."""
        self._usage += used

    def is_readable(self, text: str) -> bool:
        """Whether an answer has the requested form."""
        try:
            parse_answer(MemoriesAnswer, _as_object(text))
        except UnreadableAnswer:
            return False
        return True


def ask_about_conversation(
    messages: Sequence[ShownMessage], known: Sequence[str], most: int, instructions: str
) -> tuple[Messages, Estimate]:
    """Return the messages that ask what to remember, and their estimate.

    known: texts of known memories. most: the maximum number of memories. instructions: the user's.
    """
    parts = [f"At most {most} memories."]
    if known:
        parts.append(fenced("memories", [json_line(content) for content in known]))
    parts.append(fenced("conversation", [_line(message) for message in messages]))
    system = "\n\n".join(filter(None, (instructions.strip(), text_of_prompt("conversation"))))
    asked = [
        {"role": "system", "content": system},
        {"role": "user", "content": "\n".join(parts)},
    ]
    prompt = _TOKENS_AROUND + sum(count_tokens(message["content"]) for message in asked)
    return asked, Estimate(prompt, _TOKENS_PER_MEMORY * min(most, max(1, len(messages))))


def _line(message: ShownMessage) -> str:
    marks = [*(["earlier"] if message.earlier else []), *([message.day] if message.day else [])]
    # A name may contain anything, so it is within the JSON.
    return " ".join([*marks, json_line({message.who: message.text})])


def _as_object(text: str) -> str:
    """Return a bare list, which some models answer, as the requested object."""
    bare = _FENCE.sub("", text.strip()).strip()
    if bare.startswith("[") and bare.endswith("]"):
        return f'{{"memories": {bare}, "reasoning": ""}}'
    return text


def within_limits(
    candidates: Sequence[Candidate], options: IngestOptions
) -> tuple[tuple[Candidate, ...], tuple[RejectedText, ...]]:
    """Return the most important candidates within the limits, and the rejected ones."""
    least = options.min_importance
    enough = [candidate for candidate in candidates if candidate.importance >= least]
    refused = [
        RejectedText(
            candidate.content,
            f"its importance is {candidate.importance}, but must be at least {least}",
        )
        for candidate in candidates
        if candidate.importance < least
    ]
    best = sorted(enough, key=lambda candidate: -candidate.importance)[: options.max_facts]
    refused += [
        RejectedText(candidate.content, f"at most {options.max_facts} are kept at a time")
        for candidate in enough
        if candidate not in best
    ]
    return tuple(candidate for candidate in enough if candidate in best), tuple(refused)
