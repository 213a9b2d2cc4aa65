"""Messages in the format of OpenAI's API: `{"role": "user", "content": "..."}`.

A list of messages, an object with `messages`, or JSON lines: either of the messages of one
conversation, or of conversations, as in fine-tuning files.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .messages import (
    Conversation,
    Message,
    UnreadableConversation,
    first_objects,
    json_lines,
    parse_json,
    parse_time,
    text_of,
    to_role,
)

_TEXTS = ("text", "input_text", "output_text")


class OpenAIMessages:
    """Messages with roles, as JSON or JSON lines."""

    name = "openai"

    def recognises(self, text: str) -> bool:
        """Whether a text looks like this format."""
        head = text.lstrip()[:1]
        if head == "[":
            value = parse_json(text)
            return isinstance(value, list) and any(_is_message(item) for item in value[:3])
        if head != "{":
            return False
        lines = first_objects(text, 3)
        if any(_is_message(item) or _has_messages(item) for item in lines):
            return True
        return _has_messages(parse_json(text))

    def read(self, text: str, name: str) -> list[Conversation]:
        """Return the conversations in a text. Raises `UnreadableConversation`."""
        value = parse_json(text)
        if value is None:
            return self._read_lines(text, name)
        if _is_message(value):
            value = [value]
        if isinstance(value, dict):
            return [self._conversation(value.get("messages"), name, value.get("id"))]
        if isinstance(value, list) and any(_has_messages(item) for item in value):
            return self._conversations([item for item in value if _has_messages(item)], name)
        return [self._conversation(value, name)]

    def _read_lines(self, text: str, name: str) -> list[Conversation]:
        lines = list(json_lines(text, name))
        conversations = [line for line in lines if _has_messages(line)]
        if conversations:
            return self._conversations(conversations, name)
        return [self._conversation(lines, name)]

    def _conversations(self, values: list[dict[str, Any]], name: str) -> list[Conversation]:
        if len(values) == 1:
            return [self._conversation(values[0]["messages"], name, values[0].get("id"))]
        return [
            self._conversation(value["messages"], f"{name}#{number}", value.get("id"))
            for number, value in enumerate(values, start=1)
        ]

    def _conversation(self, values: Any, name: str, session: Any = None) -> Conversation:
        if not isinstance(values, list):
            raise UnreadableConversation(f"The messages of {name} are not a list.")
        return Conversation(
            name,
            self.name,
            tuple(_messages(values)),
            str(session) if session is not None else None,
        )


def _messages(values: Iterable[Any]) -> Iterable[Message]:
    for value in values:
        side = to_role(value.get("role")) if isinstance(value, dict) else None
        text = text_of(value.get("content"), _TEXTS) if side else ""
        if side and text:
            speaker = value.get("name")
            when = value.get("timestamp", value.get("created_at"))
            yield Message(
                side, text, parse_time(when), speaker if isinstance(speaker, str) else None
            )


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and "content" in value


def _has_messages(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return False
    return any(map(_is_message, value["messages"][:3])) or not value["messages"]
