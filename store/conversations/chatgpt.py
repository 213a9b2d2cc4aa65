"""`conversations.json` of ChatGPT's data export: a list of conversations, each a tree of messages.

Whoever edits a question begins a branch; the one that the user saw last ends in `current_node`.
"""

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


class ChatGPTExport:
    """ChatGPT's data export."""

    name = "chatgpt"

    def recognises(self, text: str) -> bool:
        """Whether a text is of this format, by a look at it."""
        if '"mapping"' not in text:
            return False
        value = parsed(text)
        return any(_is_conversation(one) for one in _listed(value)[:3])

    def read(self, text: str, name: str) -> list[Conversation]:
        """Return the conversations in a text. Raises `UnreadableConversation`."""
        values = [one for one in _listed(parsed(text)) if _is_conversation(one)]
        if not values:
            raise UnreadableConversation(f"{name} is no export of ChatGPT.")
        return [
            Conversation(
                f"{name}#{one.get('title') or number}",
                self.name,
                tuple(_messages(one)),
                _id_of(one),
            )
            for number, one in enumerate(values, start=1)
        ]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_conversation(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("mapping"), dict)


def _id_of(value: dict[str, Any]) -> str | None:
    found = value.get("conversation_id") or value.get("id")
    return found if isinstance(found, str) else None


def _messages(value: dict[str, Any]) -> Iterator[Message]:
    for node in _branch(value):
        message = node.get("message")
        if not isinstance(message, dict):
            continue
        author, content = message.get("author") or {}, message.get("content") or {}
        side = sided(author.get("role")) if isinstance(author, dict) else None
        hidden = (message.get("metadata") or {}).get("is_visually_hidden_from_conversation")
        # What goes to a tool is no answer to the user.
        if side is None or hidden or message.get("recipient", "all") != "all":
            continue
        if content.get("content_type", "text") not in ("text", "multimodal_text"):
            continue
        text = text_of(content.get("parts"))
        if text:
            yield Message(side, text, moment_of(message.get("create_time")))


def _branch(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the nodes from the root to the one that the user saw last."""
    mapping = value["mapping"]
    at = value.get("current_node") or next(reversed(mapping), None)
    found: list[dict[str, Any]] = []
    seen: set[str] = set()
    while isinstance(at, str) and at not in seen and isinstance(mapping.get(at), dict):
        seen.add(at)
        found.append(mapping[at])
        at = mapping[at].get("parent")
    return found[::-1]
