"""The question what to remember of a part of a conversation, and what its answer comes to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from slowwave.consolidation.model.answer_forms import MEMORIES, MemoriesAnswer
from slowwave.consolidation.model.conversation_prompts import ShownMessage, ask_about_conversation
from slowwave.consolidation.model.model_pair import Models
from slowwave.consolidation.model.parsing import UnreadableAnswer, parse_answer
from slowwave.consolidation.model.question import Question, Steps
from slowwave.consolidation.proposals import State, Usage

from .candidates import Candidate, PartRead, TurnedDown
from .options import IngestOptions
from .parts import Part
from .support import Doubted, checked, shown_as
from .support_question import SupportQuestion

_FENCE = re.compile(r"^```\w*\s*|\s*```$")


class ConversationQuestion(Question[PartRead]):
    """A question about one part."""

    form = MEMORIES

    def __init__(self, models: Models, part: Part, known: Sequence[str]) -> None:
        """Take who is asked, the part, and the memories that are there already."""
        shown = [
            ShownMessage(
                shown_as(one), (one.message.said_at or "")[:10], one.message.text, not one.is_new
            )
            for one in part.said
        ]
        messages, estimate = ask_about_conversation(
            shown, known, part.options.max_facts, part.options.instructions
        )
        super().__init__(models.writer, messages, estimate)
        self._checker = models.checker
        self._part = part
        self._usage = Usage()

    def handle_answer(self, text: str) -> Steps[PartRead]:
        """Yield what is to be remembered; an answer that cannot be read, twice, as it is."""
        try:
            stated = parse_answer(MemoriesAnswer, _as_object(text)).memories
        except UnreadableAnswer as error:
            if self._is_repeated:
                why = f"the model's answer cannot be read: {error}"
                yield PartRead(self._part, raw=text, why=why, usage=self._usage)
            else:
                yield from self._ask_for_form(text, str(error))
            return
        yield from self._without_doubts([checked(one, self._part) for one in stated])

    def _without_doubts(self, found: Sequence[Candidate | Doubted | TurnedDown]) -> Steps[PartRead]:
        """Yield what is to be remembered, or the question whether that was said."""
        refused = [one for one in found if isinstance(one, TurnedDown)]
        doubted = [one for one in found if isinstance(one, Doubted)]
        candidates = [
            one.candidate if isinstance(one, Doubted) else one
            for one in found
            if not isinstance(one, TurnedDown)
        ]
        kept, too_many = within_limits(candidates, self._part.options)
        doubts = [one for one in doubted if one.candidate in kept]
        read = PartRead(self._part, "read", kept, (*refused, *too_many), usage=self._usage)
        if not doubts or self._checker is None:
            yield read
        else:
            yield SupportQuestion(self._checker, read, doubts)

    def handle_failure(self, state: State, why: str) -> Steps[PartRead]:
        """Yield that the part could not be read."""
        yield PartRead(
            self._part, "skipped" if state == "skipped" else "failed", why=why, usage=self._usage
        )

    def charge(self, used: Usage) -> None:
        """Note what was used for it."""
        self._usage += used

    def is_readable(self, text: str) -> bool:
        """Whether an answer is in the form that was asked for."""
        try:
            parse_answer(MemoriesAnswer, _as_object(text))
        except UnreadableAnswer:
            return False
        return True


def _as_object(text: str) -> str:
    """Return an answer that is a bare list, as models give it too, as the object asked for."""
    bare = _FENCE.sub("", text.strip()).strip()
    if bare.startswith("[") and bare.endswith("]"):
        return f'{{"memories": {bare}, "reasoning": ""}}'
    return text


def within_limits(
    candidates: Sequence[Candidate], options: IngestOptions
) -> tuple[tuple[Candidate, ...], tuple[TurnedDown, ...]]:
    """Return the candidates that matter enough, the most important of them, and the others."""
    least = options.min_importance
    enough = [one for one in candidates if one.importance >= least]
    refused = [
        TurnedDown(one.content, f"its importance is {one.importance}, and at least {least} counts")
        for one in candidates
        if one.importance < least
    ]
    best = sorted(enough, key=lambda one: -one.importance)[: options.max_facts]
    refused += [
        TurnedDown(one.content, f"no more than {options.max_facts} are kept at a time")
        for one in enough
        if one not in best
    ]
    return tuple(one for one in enough if one in best), tuple(refused)
