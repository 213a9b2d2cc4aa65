"""The parts of conversations read, by a model or by rules, in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from slowwave.consolidation.model.model_pair import Models
from slowwave.consolidation.model.writer import ModelWriter
from slowwave.consolidation.planning.estimates import estimate_check
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.answer_store import AnswerStore

from .candidates import PartRead
from .conversation_question import ConversationQuestion, within_limits
from .extractive import read_part
from .known import KnownMemories
from .parts import Part

# So much of a part stands for what it is about when memories are looked for, in characters.
_ABOUT = 2_000


@dataclass(frozen=True)
class Reader:
    """Reads parts: with a model, or without one by rules."""

    writer: ModelWriter | None
    embedder: Embedder
    known: KnownMemories

    def read(self, parts: Sequence[Part], answers: AnswerStore) -> Iterator[PartRead]:
        """Yield what was made of each part, in their order. Raises `ModelError`."""
        found: Iterator[PartRead]
        if self.writer is None:
            found = (read_part(one) for one in parts)
        else:
            found = _in_order(parts, self._asked(self.writer, parts, answers))
        yield from _distilled(found, parts)

    def question(self, part: Part, writer: ModelWriter) -> ConversationQuestion:
        """Return what a model is asked about a part."""
        about = " ".join(one.message.text for one in part.new)[:_ABOUT]
        models = Models(writer.model or "", writer.checker)
        return ConversationQuestion(models, part, self.known.near(about))

    def estimate(self, part: Part, writer: ModelWriter) -> int:
        """Estimate the tokens of asking about a part, and for checking what it says."""
        question = self.question(part, writer)
        if writer.checker is None:
            return question.estimate.total
        shown = question.messages[-1]["content"]
        most = min(part.options.max_facts, len(part.new))
        return question.estimate.total + estimate_check(shown, most).total

    def _asked(
        self, writer: ModelWriter, parts: Sequence[Part], answers: AnswerStore
    ) -> Iterator[PartRead]:
        questions = (self.question(one, writer) for one in parts)
        for some in writer.ask(questions, answers):
            yield from some


def _in_order(parts: Sequence[Part], found: Iterator[PartRead]) -> Iterator[PartRead]:
    """Yield what came of parts in their order, whichever answer comes first: nights are alike."""
    come: dict[int, PartRead] = {}
    places = {id(part): place for place, part in enumerate(parts)}
    due = 0
    for one in found:
        come[places[id(one.part)]] = one
        while due in come:
            yield come.pop(due)
            due += 1


def _distilled(found: Iterator[PartRead], parts: Sequence[Part]) -> Iterator[PartRead]:
    """Keep of each conversation that is to be distilled only what matters most in all its parts."""
    left: Mapping[int, list[Part]] = {
        number: [one for one in parts if one.number == number]
        for number in dict.fromkeys(one.number for one in parts)
    }
    come: dict[int, list[PartRead]] = {}
    for one in found:
        if not one.part.options.distill:
            yield one
            continue
        number = one.part.number
        come.setdefault(number, []).append(one)
        if len(come[number]) == len(left[number]):
            yield from _best_of(come.pop(number))


def _best_of(several: Sequence[PartRead]) -> Iterator[PartRead]:
    everything = [candidate for one in several for candidate in one.candidates]
    best, refused = within_limits(everything, several[0].part.options)
    too_many = {one.content: one for one in refused}
    for one in several:
        kept = tuple(candidate for candidate in one.candidates if candidate in best)
        others = (
            too_many[candidate.content]
            for candidate in one.candidates
            if candidate not in best and candidate.content in too_many
        )
        yield replace(one, candidates=kept, turned_down=(*one.turned_down, *others))
