"""Ask a model what to remember of a part of a conversation, and whether the messages support it.

The user's instructions come first, then the prompt: both are the same in every call, so that
providers can cache them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowwave.consolidation.model.answer_forms import MEMORIES, MemoriesAnswer
from slowwave.consolidation.model.objections import check_drafts
from slowwave.consolidation.model.prompts import DraftToCheck, fenced, json_line, prompt
from slowwave.consolidation.model.question import Bill, Dialogue, Question, ask
from slowwave.consolidation.model.unanswered import Unanswered, UnreadableAnswer
from slowwave.consolidation.planning.estimates import Estimate, estimate_check
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.store.conversations.messages import replace_half_pairs

from .candidates import PartRead, check_stated, within_limits
from .parts import Part, PlacedMessage

# The tokens of a memory with its quotes in an answer.
_TOKENS_PER_MEMORY = 120
# The tokens of tags, schema and roles.
_TOKENS_AROUND = 300


def conversation_question(model: str, part: Part, known: Sequence[str]) -> Question[MemoriesAnswer]:
    """Return the question what to remember of a part. known: the texts of known memories."""
    limit = part.options.max_facts
    shown = [f"At most {limit} memories."]
    if known:
        shown.append(fenced("memories", [json_line(content) for content in known]))
    shown.append(fenced("conversation", [_line(message) for message in part.messages]))
    instructions = part.options.instructions.strip()
    system = "\n\n".join(filter(None, (instructions, prompt("conversation"))))
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": "\n".join(shown)},
    ]
    tokens = _TOKENS_AROUND + sum(count_tokens(message["content"]) for message in messages)
    answer = _TOKENS_PER_MEMORY * min(limit, max(1, len(part.messages)))
    return Question(model, MEMORIES, messages, Estimate(tokens, answer))


def estimate_tokens(question: Question[MemoriesAnswer], part: Part, checker: str | None) -> int:
    """Estimate the tokens of the question about a part, and of its check."""
    if checker is None:
        return question.estimate.total
    drafts = min(part.options.max_facts, len(part.new))
    shown = question.messages[-1]["content"]
    return question.estimate.total + estimate_check(shown, drafts).total


def part_dialogue(
    question: Question[MemoriesAnswer], part: Part, checker: str | None
) -> Dialogue[PartRead]:
    """Yield the questions about a part, then the part with its candidates.

    An answer that is unreadable twice is kept raw. A memory may omit anything, so lost words are
    not an objection.
    """
    bill = Bill()
    try:
        answer = yield from ask(question, bill)
        candidates = within_limits(
            [check_stated(memory, part) for memory in answer.memories], part.options
        )
    except UnreadableAnswer as error:
        why = f"the model's answer cannot be read: {error}"
        yield PartRead(part, raw=replace_half_pairs(error.text), why=why, usage=bill.total)
        return
    except Unanswered as error:
        yield PartRead(part, error.state, why=str(error), usage=bill.total)
        return
    reasoning = replace_half_pairs(answer.reasoning).strip()
    read = PartRead(part, candidates=candidates, reasoning=reasoning)
    drafts = _drafts(read)
    if checker is not None and drafts:
        try:
            objections = yield from check_drafts(checker, list(drafts.values()), bill)
        except Unanswered as error:
            # The first answer is kept, and not paid for again.
            read = PartRead(part, error.state, why=str(error))
        else:
            checked = list(candidates)
            for place, found in zip(drafts, objections, strict=True):
                why_not = "; ".join(found.reasons) or None
                checked[place] = replace(checked[place], why=why_not)
            read = replace(read, candidates=tuple(checked))
    yield replace(read, usage=bill.total)


def _drafts(read: PartRead) -> dict[int, DraftToCheck]:
    """Return what a model must confirm, by the places of the candidates."""
    return {
        place: candidate.draft
        for place, candidate in enumerate(read.candidates)
        if candidate.draft is not None and candidate.why is None
    }


def _line(placed: PlacedMessage) -> str:
    marks = ["" if placed.is_new else "earlier", (placed.message.said_at or "")[:10]]
    # A name may contain anything, so it is within the JSON.
    return " ".join([*filter(None, marks), json_line({placed.speaker: placed.message.text})])
