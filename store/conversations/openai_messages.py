"""Messages in the format of OpenAI's API: `{"role": "user", "content": "..."}`.

A list of messages, an object with `messages`, or JSON Lines: either of the messages of one
conversation, or of conversations, as in fine-tuning files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Any

from .messages import (
    Conversation,
    ConversationFormat,
    Message,
    RecordedFile,
    parse_time,
    replace_half_pairs,
    to_message,
)

_TEXTS = ("text", "input_text", "output_text")
_TIMES = ("timestamp", "created_at", "createdAt", "create_time", "time", "date", "ts", "at")


def _recognises(file: RecordedFile) -> bool:
    values = file.json[:3] if isinstance(file.json, list) else [file.json, *file.objects[:3]]
    return any(_is_message(value) or _has_messages(value) for value in values)


def _read(file: RecordedFile) -> list[Conversation]:
    if file.json is None:
        objects = file.read_objects(_with_messages)
    else:
        values = file.json if isinstance(file.json, list) else [file.json]
        objects = [_with_messages(value) for value in values if isinstance(value, dict)]
    conversations = [
        Conversation(file.name, messages, None if value.get("id") is None else str(value["id"]))
        for value, messages in objects
        if _has_messages(value)
    ]
    if not conversations:
        return [Conversation(file.name, tuple(chain(*(messages for _, messages in objects))))]
    if len(conversations) == 1:
        return conversations
    return [
        replace(conversation, name=f"{file.name}#{number}")
        for number, conversation in enumerate(conversations, start=1)
    ]


def _with_messages(value: dict[str, Any]) -> tuple[dict[str, Any], tuple[Message, ...]]:
    """Return an object with the messages of its conversation, or with the message that it is."""
    return value, tuple(messages_of(value["messages"] if _has_messages(value) else [value]))


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
