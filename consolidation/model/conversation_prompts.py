"""What a model is asked about a conversation.

The user's own instructions come first and ours behind them: both stay the same from call to call,
so that providers can cache them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from slowwave.consolidation.planning.estimates import Estimate
from slowwave.consolidation.text.token_count import count_tokens

from .prompts import Messages, fenced, json_line
from .prompts import prompt as text_of_prompt

# What a memory and its quotes take in an answer.
_TOKENS_A_MEMORY = 120
# What the marks, the schema and the roles of the messages take.
_TOKENS_AROUND = 300


class ShownMessage(NamedTuple):
    """A message as it is shown."""

    # `user`, `assistant`, or the name of who speaks.
    who: str
    day: str | None
    text: str
    # Whether it only stands before those that are read.
    earlier: bool


def ask_about_conversation(
    messages: Sequence[ShownMessage], known: Sequence[str], most: int, instructions: str
) -> tuple[Messages, Estimate]:
    """Return the messages that ask what to remember, and what that will take.

    known: memories that are there already. most: how many are wanted at the most. instructions: the
    user's own.
    """
    parts = [f"At most {most} memories."]
    if known:
        parts.append(fenced("memories", [json_line(one) for one in known]))
    parts.append(fenced("conversation", [_line(one) for one in messages]))
    system = "\n\n".join(filter(None, (instructions.strip(), text_of_prompt("conversation"))))
    asked = [
        {"role": "system", "content": system},
        {"role": "user", "content": "\n".join(parts)},
    ]
    prompt = _TOKENS_AROUND + sum(count_tokens(one["content"]) for one in asked)
    return asked, Estimate(prompt, _TOKENS_A_MEMORY * min(most, max(1, len(messages))))


def _line(one: ShownMessage) -> str:
    marks = [*(["earlier"] if one.earlier else []), *([one.day] if one.day else [])]
    # A name may hold anything: it stands within the JSON, too.
    return " ".join([*marks, json_line({one.who: one.text})])
