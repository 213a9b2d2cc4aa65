"""Session logs of coding agents: JSON Lines, one event per line.

They are read without thoughts, tool calls and results.

- Claude Code: `~/.claude/projects/*/*.jsonl`; subagents are omitted, too.
- Codex: `~/.codex/sessions/**/rollout-*.jsonl`. Older logs have bare messages, newer ones wrap
  them in `payload`. A message that is logged twice, as a screen event and as a response item, is
  read once.
"""

from __future__ import annotations

from typing import Any

from .messages import Conversation, ConversationFormat, Message, RecordedFile, to_message

# The marks of events that are not of the conversation.
_INSERTED = ("isMeta", "isSidechain", "isCompactSummary")
_CODEX_TEXTS = ("input_text", "output_text", "text")
# How many events of a log are looked at to recognize it.
_FIRST = 20


def _is_claude_code(file: RecordedFile) -> bool:
    return any("sessionId" in event and "type" in event for event in file.objects[:_FIRST])


def _read_claude_code(file: RecordedFile) -> list[Conversation]:
    ids = (event.get("sessionId") for event in file.objects)
    session = next((session for session in ids if isinstance(session, str)), None)
    return [Conversation(file.name, tuple(file.read_objects(_claude_code_message)), session)]


def _claude_code_message(event: dict[str, Any]) -> Message | None:
    message = event.get("message")
    if not isinstance(message, dict) or any(map(event.get, _INSERTED)):
        return None
    return to_message(event.get("type"), message.get("content"), event.get("timestamp"))


def _is_codex(file: RecordedFile) -> bool:
    first = file.objects[:_FIRST]
    wrapped = any(
        event.get("type") in ("session_meta", "response_item") and "payload" in event
        for event in first
    )
    return wrapped or (bool(first) and {"id", "timestamp", "instructions"} <= first[0].keys())


def _read_codex(file: RecordedFile) -> list[Conversation]:
    metas = (_unwrapped(event, "session_meta") for event in file.objects)
    ids = (meta.get("id") for meta in metas if isinstance(meta, dict))
    session = next((session for session in ids if isinstance(session, str)), None)
    return [Conversation(file.name, tuple(file.read_objects(_codex_message)), session)]


def _codex_message(event: dict[str, Any]) -> Message | None:
    item = _unwrapped(event, "response_item")
    if not isinstance(item, dict) or item.get("type") != "message":
        return None
    return to_message(item.get("role"), item.get("content"), event.get("timestamp"), _CODEX_TEXTS)


def _unwrapped(event: dict[str, Any], wrapper: str) -> Any:
    return event.get("payload") if event.get("type") == wrapper else event


CLAUDE_CODE = ConversationFormat("claude-code", _is_claude_code, _read_claude_code)
CODEX = ConversationFormat("codex", _is_codex, _read_codex)
