"""`conversations.json` of Claude's data export: a list of conversations with `chat_messages`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .messages import (
    Conversation,
    Message,
    UnreadableConversation,
    moment_of,
    parsed,
    sided,
    text_of,
)


class ClaudeExport:
    """Claude's data export."""

    name = "claude"

    def recognises(self, text: str) -> bool:
        """Whether a text is of this format, by a look at it."""
        return '"chat_messages"' in text and bool(_conversations(text))

    def read(self, text: str, name: str) -> list[Conversation]:
        """Return the conversations in a text. Raises `UnreadableConversation`."""
        values = _conversations(text)
        if not values:
            raise UnreadableConversation(f"{name} is no export of Claude.")
        return [
            Conversation(
                f"{name}#{one.get('name') or number}",
                self.name,
                tuple(_messages(one["chat_messages"])),
                one.get("uuid") if isinstance(one.get("uuid"), str) else None,
            )
            for number, one in enumerate(values, start=1)
        ]


def _conversations(text: str) -> list[dict[str, Any]]:
    value = parsed(text)
    listed = value if isinstance(value, list) else [value]
    return [
        one
        for one in listed
        if isinstance(one, dict) and isinstance(one.get("chat_messages"), list)
    ]


def _messages(values: list[Any]) -> Iterator[Message]:
    for one in values:
        side = sided(one.get("sender")) if isinstance(one, dict) else None
        if side is None:
            continue
        # What it thought, and the tools that it used, stand in `content` and not in `text`.
        text = text_of(one.get("content")) or text_of(one.get("text"))
        if text:
            yield Message(side, text, moment_of(one.get("created_at")))
