"""The question for a second opinion: whether messages say what is to be remembered of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowwave.consolidation.model.answer_forms import AnswerForm, OpinionsAnswer
from slowwave.consolidation.model.opinions import objections_to
from slowwave.consolidation.model.parsing import UnreadableAnswer, parse_answer
from slowwave.consolidation.model.prompts import ask_for_opinions
from slowwave.consolidation.model.question import Question, Steps
from slowwave.consolidation.planning.estimates import estimate_opinions
from slowwave.consolidation.proposals import State, Usage
from slowwave.consolidation.writing.verifier import Verifier

from .candidates import PartRead, TurnedDown
from .support import Doubted


class SupportQuestion(Question[PartRead]):
    """A question about all that is in doubt of one part."""

    form: AnswerForm = "opinions"

    def __init__(self, model: str, read: PartRead, doubts: Sequence[Doubted]) -> None:
        """Take what was read, and what of its candidates is in doubt."""
        messages = ask_for_opinions([one.item for one in doubts])
        super().__init__(model, messages, estimate_opinions(messages[-1]["content"], len(doubts)))
        self._read = read
        self._doubts = doubts

    def handle_answer(self, text: str, verifier: Verifier) -> Steps[PartRead]:
        """Yield what was read without what the opinions do not clear.

        The network is not asked: of 71 memories put honestly in other words it found 24 out of the
        question, of 35 false ones 9 (ten conversations, written and read blind).
        """
        try:
            opinions = parse_answer(OpinionsAnswer, text).opinions
        except UnreadableAnswer as error:
            yield from self._ask_for_form(text, str(error), verifier)
            return
        objections = objections_to([one.item for one in self._doubts], opinions)
        refused = {
            id(doubt.candidate): f"{doubt.why} ({objection})"
            for doubt, objection in zip(self._doubts, objections, strict=True)
            if objection is not None
        }
        yield without(self._read, refused)

    def handle_failure(self, state: State, why: str, verifier: Verifier) -> Steps[PartRead]:
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
