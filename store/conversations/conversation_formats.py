"""The known conversation formats, and reading a file in one of them."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, replace

from slowwave.store.errors import NotFound
from slowwave.store.records import read_json

from .exports import CHATGPT, CLAUDE
from .messages import (
    Conversation,
    ConversationFormat,
    InvalidContent,
    UnreadableConversation,
    replace_half_pairs,
)
from .openai_messages import OPENAI
from .plain_text import TEXT
from .session_logs import CLAUDE_CODE, CODEX

# In the order in which they are tried: the most specific formats first.
FORMATS = (CHATGPT, CLAUDE, CLAUDE_CODE, CODEX, OPENAI, TEXT)
_NAMES = ", ".join(format.name for format in FORMATS)


@dataclass(frozen=True)
class Dates:
    """The times of a conversation whose messages have none. ISO 8601 in UTC."""

    # When they were said, according to the user.
    said_at: str | None = None
    # When their file was last changed.
    saved_at: str | None = None


@dataclass(frozen=True)
class SkippedLine:
    """A line that is not read, and the reason."""

    file: str
    line: int
    reason: str


def read_conversations(
    raw: bytes,
    name: str,
    format: str | None = None,
    dates: Dates = Dates(),
    skipped: list[SkippedLine] | None = None,
) -> list[Conversation]:
    """Return the conversations in a file, detecting its format unless `format` names it.

    Conversations without messages are omitted. dates: for messages without a time. skipped: takes
    the invalid lines of JSON Lines; None refuses them. Raises `UnreadableConversation`, and
    `NotFound` for an unknown format.
    """
    try:
        text = raw.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError:
        raise UnreadableConversation(f"{name} is not UTF-8.") from None
    if skipped is not None:
        text = _valid_lines(text, name, _named(format) if format else None, skipped)
    chosen = _named(format) if format else _detect(text, name)
    try:
        conversations = chosen.read(text, name)
    except InvalidContent as error:
        raise UnreadableConversation(
            f"A message of {name} has {error} where its text should be.",
            "Nothing was ingested. The content must be a string or a list of parts. "
            "--skip-invalid skips invalid lines of JSON Lines.",
        ) from None
    return [
        _clean(conversation, chosen.name, dates)
        for conversation in conversations
        if conversation.messages
    ]


def _named(name: str) -> ConversationFormat:
    for format in FORMATS:
        if format.name == name:
            return format
    raise NotFound(f"Unknown conversation format '{name}'.", f"Available: {_NAMES}.")


def _detect(text: str, name: str) -> ConversationFormat:
    if not text.strip():
        raise UnreadableConversation(f"{name} is empty.")
    for format in FORMATS:
        if format.recognises(text):
            return format
    raise UnreadableConversation(
        f"{name} is not a conversation in a known format.",
        f"Specify its format with --from: {_NAMES}. "
        "If there is only one speaker, or each speaks only once, use --from text.",
    )


def _valid_lines(
    text: str, name: str, format: ConversationFormat | None, skipped: list[SkippedLine]
) -> str:
    """Return JSON Lines without the invalid ones; any other text unchanged."""
    lines = text.split("\n")
    values = [read_json(line) if line.strip() else {} for line in lines]
    is_json_lines = read_json(text) is None and any(
        line.strip() and isinstance(value, dict) for line, value in zip(lines, values, strict=True)
    )
    if not is_json_lines or format is TEXT:
        return text
    valid = [line for line, value in zip(lines, values, strict=True) if value is not None]
    chosen = format or _detect("\n".join(valid), name)
    readable = []
    for number, (line, value) in enumerate(zip(lines, values, strict=True), start=1):
        reason = "it is not valid JSON" if value is None else _fault_of(line, name, chosen)
        if reason is None:
            readable.append(line)
        else:
            skipped.append(SkippedLine(name, number, reason))
    return "\n".join(readable)


def _fault_of(line: str, name: str, format: ConversationFormat) -> str | None:
    try:
        format.read(line, name)
    except InvalidContent as error:
        return f"it has {error} where a message's text should be"
    except UnreadableConversation:
        pass  # such as an event of the program
    return None


def _clean(conversation: Conversation, format: str, dates: Dates) -> Conversation:
    messages = tuple(
        replace(
            message,
            said_at=message.said_at or dates.said_at,
        )
        for message in conversation.messages
    )
    return replace(
        conversation,
        name=replace_half_pairs(conversation.name),
        messages=messages,
        session=conversation.session and replace_half_pairs(conversation.session),
        format=format,
        saved_at=dates.saved_at,
    )
