"""Ask a model what to remember of a part of a conversation, and whether the messages support it.

The user's instructions come first, then the prompt: both are the same in every call, so that
providers can cache them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from slowwave.consolidation.model.answer_forms import MEMORIES, MemoriesAnswer
from slowwave.consolidation.model.objections import check_drafts
from slowwave.consolidation.model.prompts import Messages, fenced, json_line
from slowwave.consolidation.model.prompts import prompt as text_of_prompt
from slowwave.consolidation.model.question import Asking, Bill, Dialogue, Question, ask
from slowwave.consolidation.model.unanswered import Unanswered, UnreadableAnswer
from slowwave.consolidation.planning.estimates import Estimate
from slowwave.consolidation.text.token_count import count_tokens

from .candidates import Candidate, PartRead, RejectedText
from .options import IngestOptions
from .parts import Part
from .support import UncheckedCandidate, checked, speaker_of

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


def conversation_question(model: str, part: Part, known: Sequence[str]) -> Question[MemoriesAnswer]:
    """Return the question what to remember of a part. known: texts of known memories."""
    shown = [
        ShownMessage(
            speaker_of(message),
            (message.message.said_at or "")[:10],
            message.message.text,
            not message.is_new,
        )
        for message in part.said
    ]
    options = part.options
    messages, estimate = ask_about_conversation(
        shown, known, options.max_facts, options.instructions
    )
    return Question(model, MEMORIES, messages, estimate)


def part_dialogue(
    question: Question[MemoriesAnswer], part: Part, checker: str | None
) -> Dialogue[PartRead]:
    """Yield the questions about a part, then the candidates of its answer.

    An answer that is unreadable twice is kept as it is.
    """
    bill = Bill()
    try:
        answer = yield from ask(question, bill)
        found = [checked(memory, part) for memory in answer.memories]
    except UnreadableAnswer as error:
        why = f"the model's answer cannot be read: {error}"
        yield PartRead(part, raw=error.text, why=why, usage=bill.total)
        return
    except Unanswered as error:
        yield PartRead(part, error.state, why=str(error), usage=bill.total)
        return
    rejected = [item for item in found if isinstance(item, RejectedText)]
    unchecked = [item for item in found if isinstance(item, UncheckedCandidate)]
    candidates = [
        item.candidate if isinstance(item, UncheckedCandidate) else item
        for item in found
        if not isinstance(item, RejectedText)
    ]
    kept, too_many = within_limits(candidates, part.options)
    read = PartRead(part, "read", kept, (*rejected, *too_many))
    unchecked = [item for item in unchecked if item.candidate in kept]
    if unchecked and checker is not None:
        try:
            refused = yield from _unsupported(unchecked, checker, bill)
            read = without_refused(read, refused)
        except Unanswered as error:
            # The first answer is kept, and not paid for again.
            read = PartRead(part, error.state, why=str(error))
    yield replace(read, usage=bill.total)


def _unsupported(
    unchecked: Sequence[UncheckedCandidate], checker: str, bill: Bill
) -> Asking[dict[int, str]]:
    """Ask whether the messages support candidates; return why not, by the `id` of each.

    A memory may omit anything, so lost words are not an objection.
    """
    objections = yield from check_drafts(checker, [item.draft for item in unchecked], bill)
    return {
        id(item.candidate): "; ".join(found.reasons)
        for item, found in zip(unchecked, objections, strict=True)
        if found.reasons
    }


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
