"""Session logs of Codex: `~/.codex/sessions/**/rollout-*.jsonl`, an event a line.

Older ones have the messages as they are, newer ones within `payload`. What is said twice, as an
event for the screen and as an item of the answer, is read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .messages import Conversation, Message, first_objects, json_lines, moment_of, sided, text_of

_TEXTS = ("input_text", "output_text", "text")
_INSERTED = re.compile(
    r"<(environment_context|user_instructions|INSTRUCTIONS|turn_aborted|permissions instructions)>"
    r".*?</\1>|^# AGENTS\.md instructions for .*?$",
    re.DOTALL | re.MULTILINE,
)


class CodexLog:
    """A session log of Codex."""

    name = "codex"

    def recognises(self, text: str) -> bool:
        """Whether a text is of this format, by a look at it."""
        first = first_objects(text)
        wrapped = any(
            one.get("type") in ("session_meta", "response_item") and "payload" in one
            for one in first
        )
        older = bool(first) and {"id", "timestamp", "instructions"} <= first[0].keys()
        return wrapped or older

    def read(self, text: str, name: str) -> list[Conversation]:
        """Return the conversation in a text. Raises `UnreadableConversation`."""
        events = list(json_lines(text, name))
        return [Conversation(name, self.name, tuple(_messages(events)), _session(events))]


def _session(events: list[dict[str, Any]]) -> str | None:
    for one in events:
        meta = one.get("payload") if one.get("type") == "session_meta" else one
        if isinstance(meta, dict) and isinstance(meta.get("id"), str):
            return str(meta["id"])
    return None


def _messages(events: list[dict[str, Any]]) -> Iterator[Message]:
    for one in events:
        item = one.get("payload") if one.get("type") == "response_item" else one
        if not isinstance(item, dict) or item.get("type") != "message":
            continue
        side = sided(item.get("role"))
        text = _INSERTED.sub("", text_of(item.get("content"), _TEXTS)).strip() if side else ""
        if side and text:
            yield Message(side, text, moment_of(one.get("timestamp")))
