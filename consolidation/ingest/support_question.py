"""Ask a model whether messages support the candidates taken from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowwave.consolidation.model.answer_forms import CHECK, CheckAnswer
from slowwave.consolidation.model.objections import objections_of
from slowwave.consolidation.model.parsing import UnreadableAnswer, parse_answer
from slowwave.consolidation.model.prompts import ask_to_check
from slowwave.consolidation.model.question import Question, Steps
from slowwave.consolidation.planning.estimates import estimate_check
from slowwave.consolidation.proposals import State, Usage

from .candidates import PartRead, RejectedText
from .support import UncheckedCandidate


class SupportQuestion(Question[PartRead]):
    """Asks about all unchecked candidates of one part."""

    form = CHECK

    def __init__(self, model: str, read: PartRead, doubts: Sequence[UncheckedCandidate]) -> None:
        """Take the part that was read, and its unchecked candidates."""
        messages = ask_to_check([doubt.draft for doubt in doubts])
        super().__init__(model, messages, estimate_check(messages[-1]["content"], len(doubts)))
        self._read = read
        self._doubts = doubts

    def handle_answer(self, text: str) -> Steps[PartRead]:
        """Yield the part without unsupported candidates.

        A memory may omit anything, so lost words are not an objection.
        """
        try:
            stated = parse_answer(CheckAnswer, text).groups
        except UnreadableAnswer as error:
            yield from self._ask_to_reformat(text, str(error))
            return
        by_number = {each.n: each for each in stated}
        refused = {}
        for number, doubt in enumerate(self._doubts, start=1):
            objections = objections_of(by_number.get(number), doubt.draft)
            if objections.reasons:
                refused[id(doubt.candidate)] = "; ".join(objections.reasons)
        yield without_refused(self._read, refused)

    def handle_failure(self, state: State, why: str) -> Steps[PartRead]:
        """Yield the unread part: its first answer is kept, and not paid for again."""
        yield PartRead(
            self._read.part,
            "skipped" if state == "skipped" else "failed",
            why=why,
            usage=self._read.usage,
        )

    def charge(self, used: Usage) -> None:
        """Add usage for the part."""
        self._read = replace(self._read, usage=self._read.usage + used)


def without_refused(read: PartRead, refused: dict[int, str]) -> PartRead:
    """Reject candidates of a part. refused: the reasons by their `id`."""
    return replace(
        read,
        candidates=tuple(
            candidate for candidate in read.candidates if id(candidate) not in refused
        ),
        turned_down=(
            *read.turned_down,
            *(
                RejectedText(candidate.content, refused[id(candidate)])
                for candidate in read.candidates
                if id(candidate) in refused
            ),
        ),
    )
