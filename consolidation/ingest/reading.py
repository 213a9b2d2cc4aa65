"""Read the parts of conversations with a model, in order.

A model is asked what to remember of a part, and whether the messages support it. The user's
instructions come first, then the prompt: both are the same in every call, so that providers can
cache them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

from slowwave.consolidation.model.agent_writer import AgentWriter
from slowwave.consolidation.model.answer_forms import MEMORIES
from slowwave.consolidation.model.model_writer import ModelWriter
from slowwave.consolidation.model.objections import check_drafts
from slowwave.consolidation.model.prompts import Messages, fenced, json_line, prompt
from slowwave.consolidation.model.question import Bill, Dialogue, Question, ask
from slowwave.consolidation.model.unanswered import Unanswered, UnreadableAnswer
from slowwave.consolidation.planning.estimates import Estimate, estimate_check
from slowwave.consolidation.text.tokens import count_tokens
from slowwave.consolidation.writing.writer import AnswerStore

from .candidates import PartReading, check_stated, within_limits
from .known import KnownMemories
from .parts import Part, PlacedMessage

# The writers that answer questions about conversations.
Asker = ModelWriter | AgentWriter
# The length of the part's beginning, in characters, that known memories are searched with.
_ABOUT = 2_000
# The tokens of a memory with its quotes in an answer.
_TOKENS_PER_MEMORY = 120
# The tokens of tags, schema and roles.
_TOKENS_AROUND = 300


def read_parts(
    parts: Sequence[Part], model: Asker, memories: KnownMemories, answers: AnswerStore
) -> Iterator[PartReading]:
    """Yield what to remember of the parts, in order. Raises `ModelError`.

    memories: the memories that a model is shown with a part.
    """
    batches = model.run_dialogues((_dialogue(part, model, memories) for part in parts), answers)
    # The parts that are yielded together: those of a distilled conversation share their limits.
    groups: dict[tuple[bool, int], list[int]] = {}
    for part in parts:
        is_distilled = part.options.distill
        key = is_distilled, part.number if is_distilled else id(part)
        groups.setdefault(key, []).append(id(part))
    # In order, so that runs are reproducible.
    due, early = deque(groups.values()), dict[int, PartReading]()
    for reading in chain.from_iterable(batches):
        early[id(reading.part)] = reading
        while due and early.keys() >= set(due[0]):
            yield from _limited([early.pop(key) for key in due.popleft()])


def estimate_tokens(part: Part, memories: KnownMemories, is_checked: bool) -> int:
    """Estimate the tokens of the question about a part, and of its check."""
    messages, estimate = _asked(part, memories)
    if not is_checked:
        return estimate.total
    drafts = min(part.options.max_facts, len(part.new))
    return estimate.total + estimate_check(messages[-1]["content"], drafts).total


def _asked(part: Part, memories: KnownMemories) -> tuple[Messages, Estimate]:
    """Return the messages that ask what to remember of a part, and their estimate."""
    limit = part.options.max_facts
    lines = [f"At most {limit} memories."]
    about = " ".join(message.text for message in part.new)[:_ABOUT]
    if near_texts := memories.near(about):
        lines.append(fenced("memories", list(map(json_line, near_texts))))
    lines.append(fenced("conversation", list(map(_line, part.messages))))
    instructions = part.options.instructions.strip()
    system = "\n\n".join(filter(None, (instructions, prompt("conversation"))))
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": "\n".join(lines)},
    ]
    tokens = _TOKENS_AROUND + sum(count_tokens(message["content"]) for message in messages)
    answer = _TOKENS_PER_MEMORY * min(limit, max(1, len(part.messages)))
    return messages, Estimate(tokens, answer)


def _line(message: PlacedMessage) -> str:
    marks = ["" if message.is_new else "earlier", (message.said_at or "")[:10]]
    # A name may contain anything, so it is within the JSON.
    return " ".join([*filter(None, marks), json_line({message.sender: message.text})])


def _dialogue(part: Part, model: Asker, memories: KnownMemories) -> Dialogue[PartReading]:
    """Yield the questions about a part, then the part with its candidates.

    An answer that is unreadable twice is kept raw. A memory may omit anything, so lost words are
    not an objection.
    """
    bill = Bill()
    try:
        question = Question(model.models.writer, MEMORIES, *_asked(part, memories))
        answer = yield from ask(question, bill)
    except UnreadableAnswer as error:
        why = f"the model's answer cannot be read: {error}"
        yield PartReading(part, raw=error.text, why=why, usage=bill.total)
        return
    except Unanswered as error:
        yield PartReading(part, error.state, why=str(error), usage=bill.total)
        return
    stated = [check_stated(memory, part) for memory in answer.memories]
    checked = list(within_limits(stated, part.options))
    reasoning = answer.reasoning.strip()
    # What a model must confirm, by the places of the candidates.
    drafts = {
        place: candidate.draft
        for place, candidate in enumerate(checked)
        if candidate.draft is not None and candidate.why is None
    }
    if model.checker is not None and drafts:
        try:
            objections = yield from check_drafts(model.checker, list(drafts.values()), bill)
        except Unanswered as error:
            # The first answer is kept, and not paid for again.
            yield PartReading(part, error.state, why=str(error), usage=bill.total)
            return
        for place, faults in zip(drafts, objections, strict=True):
            checked[place] = replace(checked[place], why="; ".join(faults.reasons) or None)
    yield PartReading(part, candidates=tuple(checked), reasoning=reasoning, usage=bill.total)


def _limited(readings: Sequence[PartReading]) -> Iterator[PartReading]:
    """Limit the parts of a distilled conversation to the best candidates of all of them."""
    if len(readings) == 1:
        yield from readings
        return
    candidates = [candidate for reading in readings for candidate in reading.candidates]
    limited = iter(within_limits(candidates, readings[0].part.options))
    for reading in readings:
        yield replace(reading, candidates=tuple(islice(limited, len(reading.candidates))))
