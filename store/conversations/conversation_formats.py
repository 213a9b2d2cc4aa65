"""The formats of conversations that are known, and a file read as one of them."""

from __future__ import annotations

import codecs
import re

from slowwave.store.errors import NotFound

from .chatgpt import ChatGPTExport
from .claude_code import ClaudeCodeLog
from .claude_export import ClaudeExport
from .codex import CodexLog
from .messages import Conversation, ConversationFormat, NoContent, UnreadableConversation
from .openai_messages import OpenAIMessages
from .plain_text import PlainText

_HALF_PAIR = re.compile("[\ud800-\udfff]")

# In the order in which they are tried: what is told apart more surely comes first.
FORMATS: tuple[ConversationFormat, ...] = (
    ChatGPTExport(),
    ClaudeExport(),
    ClaudeCodeLog(),
    CodexLog(),
    OpenAIMessages(),
    PlainText(),
)


def format_named(name: str) -> ConversationFormat:
    """Return the format of this name. Raises `NotFound`."""
    for one in FORMATS:
        if one.name == name:
            return one
    known = ", ".join(one.name for one in FORMATS)
    raise NotFound(f"There is no format of conversations named '{name}'.", f"Known are: {known}.")


def read_conversations(raw: bytes, name: str, format: str | None = None) -> list[Conversation]:
    """Return the conversations in a file, whose format is found out unless it is named.

    Those without a message are left out. Raises `UnreadableConversation`, and `NotFound` for a
    format that is not known.
    """
    try:
        text = raw.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError:
        raise UnreadableConversation(f"{name} is not UTF-8.") from None
    chosen = format_named(format) if format else _recognised(text, name)
    # Half a surrogate pair, which JSON can spell, is no text that a file could hold.
    try:
        found = [_sound(one) for one in chosen.read(text, name)]
    except NoContent as error:
        raise UnreadableConversation(
            f"A message of {name} has {error} where its text should be.",
            "Nothing was taken in: a text belongs there, or a list of parts.",
        ) from None
    return [one for one in found if one.messages]


def _recognised(text: str, name: str) -> ConversationFormat:
    if not text.strip():
        raise UnreadableConversation(f"{name} is empty.")
    for one in FORMATS:
        if one.recognises(text):
            return one
    raise UnreadableConversation(
        f"{name} is no conversation of a known format.",
        f"Name its format with --from: {', '.join(one.name for one in FORMATS)}. Text in which "
        "each speaks once, or only one does, is read with --from text.",
    )


def _sound(conversation: Conversation) -> Conversation:
    from dataclasses import replace

    def clean(text: str) -> str:
        return _HALF_PAIR.sub("\ufffd", text)

    messages = tuple(
        replace(one, text=clean(one.text), speaker=one.speaker and clean(one.speaker))
        for one in conversation.messages
    )
    return replace(conversation, name=clean(conversation.name), messages=messages)
