"""`conversations.json` of ChatGPT's data export: a list of conversations, each a tree of messages.

Editing a question starts a branch; the branch that the user saw last ends in `current_node`.
"""

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


class ChatGPTExport:
    """ChatGPT's data export."""

    name = "chatgpt"

    def recognises(self, text: str) -> bool:
        """Whether a text looks like this format."""
        if '"mapping"' not in text:
            return False
        value = parse_json(text)
        return any(_is_conversation(item) for item in _as_list(value)[:3])

    def read(self, text: str, name: str) -> list[Conversation]:
        """Return the conversations in a text. Raises `UnreadableConversation`."""
        values = [item for item in _as_list(parse_json(text)) if _is_conversation(item)]
        if not values:
            raise UnreadableConversation(f"{name} is not a ChatGPT export.")
        return [
            Conversation(
                f"{name}#{item.get('title') or number}",
                self.name,
                tuple(_messages(item)),
                _session(item),
            )
            for number, item in enumerate(values, start=1)
        ]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_conversation(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("mapping"), dict)


def _session(value: dict[str, Any]) -> str | None:
    found = value.get("conversation_id") or value.get("id")
    return found if isinstance(found, str) else None


def _messages(value: dict[str, Any]) -> Iterator[Message]:
    for node in _branch(value):
        message = node.get("message")
        if not isinstance(message, dict):
            continue
        author, content = message.get("author") or {}, message.get("content") or {}
        side = to_role(author.get("role")) if isinstance(author, dict) else None
        hidden = (message.get("metadata") or {}).get("is_visually_hidden_from_conversation")
        # A message to a tool is not an answer to the user.
        if side is None or hidden or message.get("recipient", "all") != "all":
            continue
        if content.get("content_type", "text") not in ("text", "multimodal_text"):
            continue
        text = text_of(content.get("parts"))
        if text:
            yield Message(side, text, parse_time(message.get("create_time")))


def _branch(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the nodes from the root to the last one that the user saw."""
    mapping = value["mapping"]
    at = value.get("current_node") or next(reversed(mapping), None)
    found: list[dict[str, Any]] = []
    seen: set[str] = set()
    while isinstance(at, str) and at not in seen and isinstance(mapping.get(at), dict):
        seen.add(at)
        found.append(mapping[at])
        at = mapping[at].get("parent")
    return found[::-1]
