"""Session logs of coding agents: JSON Lines, one event per line.

They are read without thoughts, tool calls and results.

- Claude Code: `~/.claude/projects/*/*.jsonl`; subagents are omitted, too.
- Codex: `~/.codex/sessions/**/rollout-*.jsonl`. Older logs have bare messages, newer ones wrap
  them in `payload`. A message that is logged twice, as a screen event and as a response item, is
  read once.
"""

from __future__ import annotations

from .messages import (
    Conversation,
    ConversationFormat,
    first_objects,
    json_lines,
    to_message,
)

# The marks of events that are not of the conversation.
_INSERTED = ("isMeta", "isSidechain", "isCompactSummary")
_CODEX_TEXTS = ("input_text", "output_text", "text")


def _is_claude_code(text: str) -> bool:
    return any("sessionId" in event and "type" in event for event in first_objects(text))


def _read_claude_code(text: str, name: str) -> list[Conversation]:
    events = list(json_lines(text, name))
    ids = (event["sessionId"] for event in events if isinstance(event.get("sessionId"), str))
    messages = (
        to_message(event.get("type"), event["message"].get("content"), event.get("timestamp"))
        for event in events
        if isinstance(event.get("message"), dict) and not any(map(event.get, _INSERTED))
    )
    return [Conversation(name, tuple(filter(None, messages)), next(ids, None))]


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
    session = next((session for session in ids if isinstance(session, str)), None)
    items = (
        (event.get("payload") if event.get("type") == "response_item" else event, event)
        for event in events
    )
    messages = (
        to_message(item.get("role"), item.get("content"), event.get("timestamp"), _CODEX_TEXTS)
        for item, event in items
        if isinstance(item, dict) and item.get("type") == "message"
    )
    return [Conversation(name, tuple(filter(None, messages)), session)]


CLAUDE_CODE = ConversationFormat("claude-code", _is_claude_code, _read_claude_code)
CODEX = ConversationFormat("codex", _is_codex, _read_codex)
