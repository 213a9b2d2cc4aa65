"""Read the parts of conversations, with a model or by rules, in order."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from slowwave.consolidation.model.agent_writer import AgentWriter
from slowwave.consolidation.model.answer_forms import MemoriesAnswer
from slowwave.consolidation.model.question import Question
from slowwave.consolidation.model.writer import ModelWriter
from slowwave.consolidation.writing.answer_store import AnswerStore

from .candidates import PartRead, within_limits
from .extractive import read_part
from .known import KnownMemories
from .parts import Part
from .questions import conversation_question, part_dialogue

# The writers that answer questions about conversations.
Asker = ModelWriter | AgentWriter
# The length of the part's beginning, in characters, that known memories are searched with.
_ABOUT = 2_000


def read_parts(
    parts: Sequence[Part], model: Asker | None, known: KnownMemories, answers: AnswerStore
) -> Iterator[PartRead]:
    """Yield what to remember of the parts, in order. Raises `ModelError`.

    model: None reads by rules. known: the memories that a model is shown with a part.
    """
    read: Iterator[PartRead]
    if model is None:
        read = map(read_part, parts)
    else:
        dialogues = (
            part_dialogue(question_about(part, model, known), part, model.checker) for part in parts
        )
        batches = model.ask(dialogues, answers)
        read = _in_order(parts, (result for batch in batches for result in batch))
    yield from _distilled(read, parts)


def question_about(part: Part, model: Asker, known: KnownMemories) -> Question[MemoriesAnswer]:
    """Return the question about a part."""
    about = " ".join(message.message.text for message in part.new)[:_ABOUT]
    return conversation_question(model.models.writer, part, known.near(about))


def _in_order(parts: Sequence[Part], found: Iterator[PartRead]) -> Iterator[PartRead]:
    """Yield results in the order of the parts, so that runs are reproducible."""
    early: dict[int, PartRead] = {}
    due = deque(map(id, parts))
    for result in found:
        early[id(result.part)] = result
        while due and due[0] in early:
            yield early.pop(due.popleft())


def _distilled(found: Iterator[PartRead], parts: Sequence[Part]) -> Iterator[PartRead]:
    """Limit each distilled conversation to the best candidates of all its parts."""
    left = Counter(part.number for part in parts)
    read: dict[int, list[PartRead]] = {}
    for result in found:
        part = result.part
        if not part.options.distill:
            yield result
            continue
        left[part.number] -= 1
        read.setdefault(part.number, []).append(result)
        if not left[part.number]:
            yield from _best_of(read.pop(part.number))


def _best_of(results: Sequence[PartRead]) -> Iterator[PartRead]:
    candidates = [candidate for result in results for candidate in result.candidates]
    limited = iter(within_limits(candidates, results[0].part.options))
    for result in results:
        yield replace(result, candidates=tuple(islice(limited, len(result.candidates))))
