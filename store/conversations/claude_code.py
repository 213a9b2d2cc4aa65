"""Session logs of Claude Code: `~/.claude/projects/*/*.jsonl`, one event per line.

Keeps what the user typed and the assistant answered, without thoughts, tool calls and results,
subagents, and text that the program inserted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .messages import Conversation, Message, first_objects, json_lines, parse_time, text_of, to_role

# Text that the program inserts into the user's messages.
_INSERTED = re.compile(
    r"<(system-reminder|local-command-\w+|command-\w+|bash-\w+|ide_\w+|user-prompt-submit-hook)\b"
    r"[^>]*>.*?</\1>",
    re.DOTALL,
)
_INTERRUPTED = re.compile(r"\[Request interrupted by user[^\]]*\]")


class ClaudeCodeLog:
    """A session log of Claude Code."""

    name = "claude-code"

    def recognises(self, text: str) -> bool:
        """Whether a text looks like this format."""
        return any("sessionId" in event and "type" in event for event in first_objects(text))

    def read(self, text: str, name: str) -> list[Conversation]:
        """Return the conversation in a text. Raises `UnreadableConversation`."""
        events = list(json_lines(text, name))
        ids = (event["sessionId"] for event in events if isinstance(event.get("sessionId"), str))
        return [Conversation(name, self.name, tuple(_messages(events)), next(ids, None))]


def _messages(events: list[dict[str, Any]]) -> Iterator[Message]:
    for event in events:
        message, side = event.get("message"), to_role(event.get("type"))
        if side is None or not isinstance(message, dict) or _is_inserted(event):
            continue
        text = _strip_inserted(text_of(message.get("content")))
        if text:
            yield Message(side, text, parse_time(event.get("timestamp")))


def _is_inserted(event: dict[str, Any]) -> bool:
    return any(event.get(mark) for mark in ("isMeta", "isSidechain", "isCompactSummary"))


def _strip_inserted(text: str) -> str:
    return _INTERRUPTED.sub("", _INSERTED.sub("", text)).strip()
