"""The question whether messages say what is to be remembered of them."""

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

from .candidates import PartRead, TurnedDown
from .support import Doubted


class SupportQuestion(Question[PartRead]):
    """A question about all that is in doubt of one part."""

    form = CHECK

    def __init__(self, model: str, read: PartRead, doubts: Sequence[Doubted]) -> None:
        """Take what was read, and what of its candidates is in doubt."""
        messages = ask_to_check([doubt.draft for doubt in doubts])
        super().__init__(model, messages, estimate_check(messages[-1]["content"], len(doubts)))
        self._read = read
        self._doubts = doubts

    def handle_answer(self, text: str) -> Steps[PartRead]:
        """Yield what was read without what its messages do not say.

        A memory may leave out what it likes: what is lost is not an objection.
        """
        try:
            stated = parse_answer(CheckAnswer, text).groups
        except UnreadableAnswer as error:
            yield from self._ask_for_form(text, str(error))
            return
        by_number = {each.n: each for each in stated}
        refused = {}
        for number, doubt in enumerate(self._doubts, start=1):
            objections = objections_of(by_number.get(number), doubt.draft)
            if objections.reasons:
                refused[id(doubt.candidate)] = "; ".join(objections.reasons)
        yield without(self._read, refused)

    def handle_failure(self, state: State, why: str) -> Steps[PartRead]:
        """Yield that the part waits: the first answer is kept, and is not paid for again."""
        yield PartRead(
            self._read.part,
            "skipped" if state == "skipped" else "failed",
            why=why,
            usage=self._read.usage,
        )

    def charge(self, used: Usage) -> None:
        """Note what was used for it."""
        self._read = replace(self._read, usage=self._read.usage + used)


def without(read: PartRead, refused: dict[int, str]) -> PartRead:
    """Return what was read without some candidates; refused: why, by the `id` of each."""
    return replace(
        read,
        candidates=tuple(one for one in read.candidates if id(one) not in refused),
        turned_down=(
            *read.turned_down,
            *(
                TurnedDown(one.content, refused[id(one)])
                for one in read.candidates
                if id(one) in refused
            ),
        ),
    )
