"""The known conversation formats, and reading a file in one of them."""

from __future__ import annotations

import codecs
from dataclasses import replace

from slowwave.store.errors import NotFound

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


def read_conversations(raw: bytes, name: str, format: str | None = None) -> list[Conversation]:
    """Return the conversations in a file, detecting its format unless `format` names it.

    Conversations without messages are omitted. Raises `UnreadableConversation`, and `NotFound` for
    an unknown format.
    """
    try:
        text = raw.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError:
        raise UnreadableConversation(f"{name} is not UTF-8.") from None
    chosen = _named(format) if format else _detect(text, name)
    try:
        found = chosen.read(text, name)
    except InvalidContent as error:
        raise UnreadableConversation(
            f"A message of {name} has {error} where its text should be.",
            "Nothing was ingested. The content must be a string or a list of parts.",
        ) from None
    return [_clean(conversation, chosen.name) for conversation in found if conversation.messages]


def _named(name: str) -> ConversationFormat:
    for format in FORMATS:
        if format.name == name:
            return format
    raise NotFound(f"Unknown conversation format '{name}'.", f"Known formats: {_NAMES}.")


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


def _clean(conversation: Conversation, format: str) -> Conversation:
    messages = tuple(
        replace(
            message,
            text=replace_half_pairs(message.text),
            speaker=message.speaker and replace_half_pairs(message.speaker),
        )
        for message in conversation.messages
    )
    name = replace_half_pairs(conversation.name)
    return replace(conversation, name=name, messages=messages, format=format)
