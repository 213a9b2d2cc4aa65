"""Session logs of coding agents: JSON Lines, one event per line.

They are read without thoughts, tool calls and results.

- Claude Code: `~/.claude/projects/*/*.jsonl`; subagents are omitted, too.
- Codex: `~/.codex/sessions/**/rollout-*.jsonl`. Older logs have bare messages, newer ones wrap
  them in `payload`. A message that is logged twice, as a screen event and as a response item, is
  read once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .messages import (
    Conversation,
    ConversationFormat,
    Message,
    first_objects,
    json_lines,
    to_message,
)

_CODEX_TEXTS = ("input_text", "output_text", "text")


def _is_claude_code(text: str) -> bool:
    return any("sessionId" in event and "type" in event for event in first_objects(text))


def _read_claude_code(text: str, name: str) -> list[Conversation]:
    events = list(json_lines(text, name))
    ids = (event["sessionId"] for event in events if isinstance(event.get("sessionId"), str))
    return [Conversation(name, tuple(_claude_code_messages(events)), next(ids, None))]


def _claude_code_messages(events: list[dict[str, Any]]) -> Iterator[Message]:
    for event in events:
        message = event.get("message")
        is_inserted = any(map(event.get, ("isMeta", "isSidechain", "isCompactSummary")))
        if not isinstance(message, dict) or is_inserted:
            continue
        found = to_message(event.get("type"), message.get("content"), event.get("timestamp"))
        if found is not None:
            yield found


def _is_codex(text: str) -> bool:
    first = first_objects(text)
    wrapped = any(
        event.get("type") in ("session_meta", "response_item") and "payload" in event
        for event in first
    )
    return wrapped or (bool(first) and {"id", "timestamp", "instructions"} <= first[0].keys())


def _read_codex(text: str, name: str) -> list[Conversation]:
    events = list(json_lines(text, name))
    metas = (
        event.get("payload") if event.get("type") == "session_meta" else event for event in events
    )
    ids = (meta.get("id") for meta in metas if isinstance(meta, dict))
    session = next((found for found in ids if isinstance(found, str)), None)
    return [Conversation(name, tuple(_codex_messages(events)), session)]


def _codex_messages(events: list[dict[str, Any]]) -> Iterator[Message]:
    for event in events:
        item = event.get("payload") if event.get("type") == "response_item" else event
        if not isinstance(item, dict) or item.get("type") != "message":
            continue
        fields = item.get("role"), item.get("content"), event.get("timestamp")
        if (found := to_message(*fields, _CODEX_TEXTS)) is not None:
            yield found


CLAUDE_CODE = ConversationFormat("claude-code", _is_claude_code, _read_claude_code)
CODEX = ConversationFormat("codex", _is_codex, _read_codex)
