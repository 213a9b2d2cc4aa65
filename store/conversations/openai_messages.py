"""Messages as OpenAI's interface takes them: `{"role": "user", "content": "..."}`.

A list of them, an object with `messages`, or JSON lines of either: of messages, which make one
conversation, or of conversations, as files for fine-tuning have them.
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
    moment_of,
    parsed,
    sided,
    text_of,
)

_TEXTS = ("text", "input_text", "output_text")


class OpenAIMessages:
    """Messages with roles, as JSON or JSON lines."""

    name = "openai"

    def recognises(self, text: str) -> bool:
        """Whether a text is of this format, by a look at it."""
        head = text.lstrip()[:1]
        if head == "[":
            value = parsed(text)
            return isinstance(value, list) and any(_is_message(one) for one in value[:3])
        if head != "{":
            return False
        lines = first_objects(text, 3)
        if any(_is_message(one) or _has_messages(one) for one in lines):
            return True
        return _has_messages(parsed(text))

    def read(self, text: str, name: str) -> list[Conversation]:
        """Return the conversations in a text. Raises `UnreadableConversation`."""
        value = parsed(text)
        if value is None:
            return self._of_lines(text, name)
        if _is_message(value):
            value = [value]
        if isinstance(value, dict):
            return [self._conversation(value.get("messages"), name, value.get("id"))]
        if isinstance(value, list) and any(_has_messages(one) for one in value):
            return self._several([one for one in value if _has_messages(one)], name)
        return [self._conversation(value, name)]

    def _of_lines(self, text: str, name: str) -> list[Conversation]:
        lines = list(json_lines(text, name))
        several = [one for one in lines if _has_messages(one)]
        if several:
            return self._several(several, name)
        return [self._conversation(lines, name)]

    def _several(self, values: list[dict[str, Any]], name: str) -> list[Conversation]:
        if len(values) == 1:
            return [self._conversation(values[0]["messages"], name, values[0].get("id"))]
        return [
            self._conversation(one["messages"], f"{name}#{number}", one.get("id"))
            for number, one in enumerate(values, start=1)
        ]

    def _conversation(self, values: Any, name: str, session: Any = None) -> Conversation:
        if not isinstance(values, list):
            raise UnreadableConversation(f"The messages of {name} are no list.")
        return Conversation(
            name,
            self.name,
            tuple(_messages(values)),
            str(session) if session is not None else None,
        )


def _messages(values: Iterable[Any]) -> Iterable[Message]:
    for one in values:
        side = sided(one.get("role")) if isinstance(one, dict) else None
        text = text_of(one.get("content"), _TEXTS) if side else ""
        if side and text:
            speaker = one.get("name")
            when = one.get("timestamp", one.get("created_at"))
            yield Message(
                side, text, moment_of(when), speaker if isinstance(speaker, str) else None
            )


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and "content" in value


def _has_messages(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return False
    return any(map(_is_message, value["messages"][:3])) or not value["messages"]
