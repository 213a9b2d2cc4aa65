"""`conversations.json` of Claude's data export: a list of conversations with `chat_messages`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .messages import (
    Conversation,
    Message,
    UnreadableConversation,
    parse_json,
    parse_time,
    text_of,
    to_role,
)


class ClaudeExport:
    """Claude's data export."""

    name = "claude"

    def recognises(self, text: str) -> bool:
        """Whether a text looks like this format."""
        return '"chat_messages"' in text and bool(_conversations(text))

    def read(self, text: str, name: str) -> list[Conversation]:
        """Return the conversations in a text. Raises `UnreadableConversation`."""
        values = _conversations(text)
        if not values:
            raise UnreadableConversation(f"{name} is not a Claude export.")
        return [
            Conversation(
                f"{name}#{item.get('name') or number}",
                self.name,
                tuple(_messages(item["chat_messages"])),
                item.get("uuid") if isinstance(item.get("uuid"), str) else None,
            )
            for number, item in enumerate(values, start=1)
        ]


def _conversations(text: str) -> list[dict[str, Any]]:
    value = parse_json(text)
    listed = value if isinstance(value, list) else [value]
    return [
        item
        for item in listed
        if isinstance(item, dict) and isinstance(item.get("chat_messages"), list)
    ]


def _messages(values: list[Any]) -> Iterator[Message]:
    for value in values:
        side = to_role(value.get("sender")) if isinstance(value, dict) else None
        if side is None:
            continue
        # `content` separates the answer from thoughts and tool calls; older exports have `text`.
        text = text_of(value.get("content")) or text_of(value.get("text"))
        if text:
            yield Message(side, text, parse_time(value.get("created_at")))
