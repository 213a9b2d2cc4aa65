"""Data exports of ChatGPT and Claude: `conversations.json`, a list of conversations.

In ChatGPT's, a conversation is a tree of messages: editing a question starts a branch, and the
branch that the user saw last ends in `current_node`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from .messages import (
    Conversation,
    ConversationFormat,
    Message,
    RecordedFile,
    UnreadableConversation,
    to_message,
)


def _export_format(
    name: str,
    program: str,
    key: str,
    shape: type,
    title: str,
    ids: tuple[str, ...],
    messages_of: Callable[[dict[str, Any]], Iterator[Message]],
) -> ConversationFormat:
    """Return the format of a program's exports.

    key, shape: where a conversation has its messages, and their type. title, ids: the keys of its
    title and of its id.
    """

    def conversations_in(file: RecordedFile) -> list[dict[str, Any]]:
        return [
            conversation
            for conversation in (file.json if isinstance(file.json, list) else [file.json])
            if isinstance(conversation, dict) and isinstance(conversation.get(key), shape)
        ]

    def read(file: RecordedFile) -> list[Conversation]:
        values = conversations_in(file)
        if not values:
            raise UnreadableConversation(
                f"{file.name} is not a {program} export.",
                "Omit --from to have its format detected.",
            )
        return [
            Conversation(
                f"{file.name}#{value.get(title) or number}",
                tuple(messages_of(value)),
                next((value[key] for key in ids if isinstance(value.get(key), str)), None),
            )
            for number, value in enumerate(values, start=1)
        ]

    return ConversationFormat(name, lambda file: bool(conversations_in(file)), read)


def _messages_of_chatgpt(value: dict[str, Any]) -> Iterator[Message]:
    for node in _branch(value):
        message = _object(node, "message")
        author, content, metadata = (
            _object(message, key) for key in ("author", "content", "metadata")
        )
        hidden = metadata.get("is_visually_hidden_from_conversation")
        # A message to a tool is not an answer to the user.
        if hidden or message.get("recipient") not in (None, "all"):
            continue
        if content.get("content_type", "text") not in ("text", "multimodal_text"):
            continue
        fields = author.get("role"), content.get("parts"), message.get("create_time")
        if (parsed := to_message(*fields, ("text", "audio_transcription"))) is not None:
            yield parsed


def _object(value: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the object under a key; {} if there is none."""
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def _branch(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the nodes from the root to the last one that the user saw."""
    mapping = value["mapping"]
    key = value.get("current_node")
    if not isinstance(key, str) or key not in mapping:
        key = next(reversed(mapping), None)
    nodes: dict[str, dict[str, Any]] = {}
    while isinstance(key, str) and key not in nodes and isinstance(mapping.get(key), dict):
        nodes[key] = mapping[key]
        key = mapping[key].get("parent")
    return list(nodes.values())[::-1]


def _messages_of_claude(value: dict[str, Any]) -> Iterator[Message]:
    for message in value["chat_messages"]:
        if not isinstance(message, dict):
            continue
        role, time = message.get("sender"), message.get("created_at")
        # `content` separates the answer from thoughts and tool calls; older exports have `text`.
        contents = (message.get(name) for name in ("content", "text"))
        parsed = (to_message(role, content, time) for content in contents)
        yield from islice(filter(None, parsed), 1)


_CHATGPT_IDS = ("conversation_id", "id")
CHATGPT = _export_format(
    "chatgpt", "ChatGPT", "mapping", dict, "title", _CHATGPT_IDS, _messages_of_chatgpt
)
CLAUDE = _export_format(
    "claude", "Claude", "chat_messages", list, "name", ("uuid",), _messages_of_claude
)
