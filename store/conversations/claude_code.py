"""Session logs of Claude Code: `~/.claude/projects/*/*.jsonl`, an event a line.

Only what the user typed and what the assistant said: no thoughts, no tools and their results, no
agents of its own, nothing that the program put in between.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .messages import Conversation, Message, first_objects, json_lines, moment_of, sided, text_of

# What the program writes into the user's messages.
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
        """Whether a text is of this format, by a look at it."""
        return any("sessionId" in one and "type" in one for one in first_objects(text))

    def read(self, text: str, name: str) -> list[Conversation]:
        """Return the conversation in a text. Raises `UnreadableConversation`."""
        events = list(json_lines(text, name))
        ids = (one["sessionId"] for one in events if isinstance(one.get("sessionId"), str))
        return [Conversation(name, self.name, tuple(_messages(events)), next(ids, None))]


def _messages(events: list[dict[str, Any]]) -> Iterator[Message]:
    for one in events:
        message, side = one.get("message"), sided(one.get("type"))
        if side is None or not isinstance(message, dict) or _is_inserted(one):
            continue
        text = _typed(text_of(message.get("content")))
        if text:
            yield Message(side, text, moment_of(one.get("timestamp")))


def _is_inserted(event: dict[str, Any]) -> bool:
    return any(event.get(mark) for mark in ("isMeta", "isSidechain", "isCompactSummary"))


def _typed(text: str) -> str:
    return _INTERRUPTED.sub("", _INSERTED.sub("", text)).strip()
