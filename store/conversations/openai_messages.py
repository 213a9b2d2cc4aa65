"""Messages in the format of OpenAI's API: `{"role": "user", "content": "..."}`.

A list of messages, an object with `messages`, or JSON Lines: either of the messages of one
conversation, or of conversations, as in fine-tuning files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from slowwave.store.records import read_json

from .messages import (
    Conversation,
    ConversationFormat,
    Message,
    UnreadableConversation,
    first_objects,
    json_lines,
    parse_time,
    replace_half_pairs,
    to_message,
)

_TEXTS = ("text", "input_text", "output_text")
_TIMES = ("timestamp", "created_at", "createdAt", "create_time", "time", "date", "ts", "at")


def _recognises(text: str) -> bool:
    head = text.lstrip()[:1]
    if head == "[":
        value = read_json(text)
        return isinstance(value, list) and any(_is_message(item) for item in value[:3])
    if head != "{":
        return False
    lines = first_objects(text, 3)
    if any(_is_message(item) or _has_messages(item) for item in lines):
        return True
    return _has_messages(read_json(text))


def _read(text: str, name: str) -> list[Conversation]:
    value = read_json(text)
    if isinstance(value, dict):
        return [_conversation({"messages": [value]} if _is_message(value) else value, name)]
    values = list(json_lines(text, name)) if value is None else value
    conversations = list(filter(_has_messages, values)) if isinstance(values, list) else []
    if len(conversations) < 2:
        return [_conversation((conversations or [{"messages": values}])[0], name)]
    return [
        _conversation(conversation, f"{name}#{number}")
        for number, conversation in enumerate(conversations, start=1)
    ]


def _conversation(value: dict[str, Any], name: str) -> Conversation:
    messages, session = value.get("messages"), value.get("id")
    if not isinstance(messages, list):
        raise UnreadableConversation(f"The messages of {name} are not a list.")
    return Conversation(
        name, tuple(messages_of(messages)), None if session is None else str(session)
    )


def messages_of(values: Iterable[Any]) -> Iterable[Message]:
    """Yield the messages of users and assistants that have a text. Raises `InvalidContent`."""
    for value in values:
        if not isinstance(value, dict):
            continue
        time = next(filter(parse_time, (value[key] for key in _TIMES if key in value)), None)
        message = to_message(value.get("role"), value.get("content"), time, _TEXTS)
        if message is not None:
            name = value.get("name")
            speaker = replace_half_pairs(name) if isinstance(name, str) else None
            yield replace(message, speaker=speaker)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and "content" in value


def _has_messages(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return False
    return any(map(_is_message, value["messages"][:3])) or not value["messages"]


OPENAI = ConversationFormat("openai", _recognises, _read)
