"""Read the parts of conversations, with a model or by rules, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from slowwave.consolidation.model.answer_forms import MemoriesAnswer
from slowwave.consolidation.model.question import Question
from slowwave.consolidation.model.writer import ModelWriter
from slowwave.consolidation.planning.estimates import estimate_check
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.answer_store import AnswerStore

from .candidates import PartRead
from .conversation_question import conversation_question, part_dialogue, within_limits
from .extractive import read_part
from .known import KnownMemories
from .parts import Part

# The length of the part's beginning, in characters, that known memories are searched with.
_ABOUT = 2_000


@dataclass(frozen=True)
class Reader:
    """Reads parts with a model, or by rules without one."""

    writer: ModelWriter | None
    embedder: Embedder
    known: KnownMemories

    def read(self, parts: Sequence[Part], answers: AnswerStore) -> Iterator[PartRead]:
        """Yield the results of the parts in order. Raises `ModelError`."""
        found: Iterator[PartRead]
        if self.writer is None:
            found = (read_part(part) for part in parts)
        else:
            found = _in_order(parts, self._ask(self.writer, parts, answers))
        yield from _distilled(found, parts)

    def question(self, part: Part, writer: ModelWriter) -> Question[MemoriesAnswer]:
        """Return the question about a part."""
        about = " ".join(message.message.text for message in part.new)[:_ABOUT]
        return conversation_question(writer.models.writer, part, self.known.near(about))

    def estimate(self, part: Part, writer: ModelWriter) -> int:
        """Estimate the tokens of the question about a part and of its check."""
        question = self.question(part, writer)
        if writer.checker is None:
            return question.estimate.total
        shown = question.messages[-1]["content"]
        most = min(part.options.max_facts, len(part.new))
        return question.estimate.total + estimate_check(shown, most).total

    def _ask(
        self, writer: ModelWriter, parts: Sequence[Part], answers: AnswerStore
    ) -> Iterator[PartRead]:
        dialogues = (
            part_dialogue(self.question(part, writer), part, writer.checker) for part in parts
        )
        for results in writer.ask(dialogues, answers):
            yield from results


def _in_order(parts: Sequence[Part], found: Iterator[PartRead]) -> Iterator[PartRead]:
    """Yield results in the order of the parts, so that runs are reproducible."""
    come: dict[int, PartRead] = {}
    places = {id(part): place for place, part in enumerate(parts)}
    due = 0
    for result in found:
        come[places[id(result.part)]] = result
        while due in come:
            yield come.pop(due)
            due += 1


def _distilled(found: Iterator[PartRead], parts: Sequence[Part]) -> Iterator[PartRead]:
    """Limit each distilled conversation to the best candidates of all its parts."""
    left: Mapping[int, list[Part]] = {
        number: [part for part in parts if part.number == number]
        for number in dict.fromkeys(part.number for part in parts)
    }
    come: dict[int, list[PartRead]] = {}
    for result in found:
        if not result.part.options.distill:
            yield result
            continue
        number = result.part.number
        come.setdefault(number, []).append(result)
        if len(come[number]) == len(left[number]):
            yield from _best_of(come.pop(number))


def _best_of(results: Sequence[PartRead]) -> Iterator[PartRead]:
    candidates = [candidate for result in results for candidate in result.candidates]
    best, refused = within_limits(candidates, results[0].part.options)
    too_many = {refusal.content: refusal for refusal in refused}
    for result in results:
        kept = tuple(candidate for candidate in result.candidates if candidate in best)
        rejected = (
            too_many[candidate.content]
            for candidate in result.candidates
            if candidate not in best and candidate.content in too_many
        )
        yield replace(result, candidates=kept, turned_down=(*result.turned_down, *rejected))
