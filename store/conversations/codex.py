"""Session logs of Codex: `~/.codex/sessions/**/rollout-*.jsonl`, one event per line.

Older logs have bare messages, newer ones wrap them in `payload`. A message that is logged twice,
as a screen event and as a response item, is read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .messages import Conversation, Message, first_objects, json_lines, parse_time, text_of, to_role

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
        """Whether a text looks like this format."""
        first = first_objects(text)
        wrapped = any(
            event.get("type") in ("session_meta", "response_item") and "payload" in event
            for event in first
        )
        older = bool(first) and {"id", "timestamp", "instructions"} <= first[0].keys()
        return wrapped or older

    def read(self, text: str, name: str) -> list[Conversation]:
        """Return the conversation in a text. Raises `UnreadableConversation`."""
        events = list(json_lines(text, name))
        return [Conversation(name, self.name, tuple(_messages(events)), _session(events))]


def _session(events: list[dict[str, Any]]) -> str | None:
    for event in events:
        meta = event.get("payload") if event.get("type") == "session_meta" else event
        if isinstance(meta, dict) and isinstance(meta.get("id"), str):
            return str(meta["id"])
    return None


def _messages(events: list[dict[str, Any]]) -> Iterator[Message]:
    for event in events:
        item = event.get("payload") if event.get("type") == "response_item" else event
        if not isinstance(item, dict) or item.get("type") != "message":
            continue
        side = to_role(item.get("role"))
        text = _INSERTED.sub("", text_of(item.get("content"), _TEXTS)).strip() if side else ""
        if side and text:
            yield Message(side, text, parse_time(event.get("timestamp")))
