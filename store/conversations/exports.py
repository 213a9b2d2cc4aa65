"""Data exports of ChatGPT and Claude: `conversations.json`, a list of conversations.

In ChatGPT's, a conversation is a tree of messages: editing a question starts a branch, and the
branch that the user saw last ends in `current_node`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from slowwave.store.records import read_json

from .messages import (
    Conversation,
    ConversationFormat,
    Message,
    UnreadableConversation,
    to_message,
)


@dataclass(frozen=True)
class _Export:
    """The export of a program."""

    program: str
    # The key of a conversation's messages, and their type.
    key: str
    shape: type
    # The keys of its title and of its id.
    title: str
    ids: tuple[str, ...]
    messages: Callable[[dict[str, Any]], Iterator[Message]]

    def conversations(self, text: str) -> list[dict[str, Any]]:
        """Return the conversations in a text; [] if it has another format."""
        value = read_json(text) if f'"{self.key}"' in text else None
        return [
            item
            for item in (value if isinstance(value, list) else [value])
            if isinstance(item, dict) and isinstance(item.get(self.key), self.shape)
        ]

    def recognises(self, text: str) -> bool:
        """Whether a text has this format."""
        return bool(self.conversations(text))

    def read(self, text: str, name: str) -> list[Conversation]:
        """Return the conversations in a text. Raises `UnreadableConversation`."""
        values = self.conversations(text)
        if not values:
            raise UnreadableConversation(f"{name} is not a {self.program} export.")
        return [
            Conversation(
                f"{name}#{value.get(self.title) or number}",
                tuple(self.messages(value)),
                next((value[key] for key in self.ids if isinstance(value.get(key), str)), None),
            )
            for number, value in enumerate(values, start=1)
        ]


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
        if (found := to_message(*fields, ("text", "audio_transcription"))) is not None:
            yield found


def _object(value: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the object under a key; {} if there is none."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _branch(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the nodes from the root to the last one that the user saw."""
    mapping = value["mapping"]
    at = value.get("current_node")
    if not isinstance(at, str) or at not in mapping:
        at = next(reversed(mapping), None)
    found: dict[str, dict[str, Any]] = {}
    while isinstance(at, str) and at not in found and isinstance(mapping.get(at), dict):
        found[at] = mapping[at]
        at = mapping[at].get("parent")
    return list(found.values())[::-1]


def _messages_of_claude(value: dict[str, Any]) -> Iterator[Message]:
    for message in value["chat_messages"]:
        if not isinstance(message, dict):
            continue
        role, time = message.get("sender"), message.get("created_at")
        # `content` separates the answer from thoughts and tool calls; older exports have `text`.
        contents = (message.get(name) for name in ("content", "text"))
        found = (to_message(role, content, time) for content in contents)
        yield from islice(filter(None, found), 1)


_CHATGPT = _Export(
    "ChatGPT", "mapping", dict, "title", ("conversation_id", "id"), _messages_of_chatgpt
)
_CLAUDE = _Export("Claude", "chat_messages", list, "name", ("uuid",), _messages_of_claude)
CHATGPT = ConversationFormat("chatgpt", _CHATGPT.recognises, _CHATGPT.read)
CLAUDE = ConversationFormat("claude", _CLAUDE.recognises, _CLAUDE.read)
