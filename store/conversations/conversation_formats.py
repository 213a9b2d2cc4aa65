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
    RecordedFile,
    SkippedLine,
    UnreadableConversation,
    replace_half_pairs,
)
from .openai_messages import OPENAI
from .plain_text import TEXT
from .session_logs import CLAUDE_CODE, CODEX

# In the order in which they are tried: the most specific formats first.
FORMATS = (CHATGPT, CLAUDE, CLAUDE_CODE, CODEX, OPENAI, TEXT)
_NAMES = ", ".join(format.name for format in FORMATS)


def read_conversations(
    raw: bytes,
    name: str,
    format: str | None = None,
    *,
    said_at: str | None = None,
    saved_at: str | None = None,
    skipped: list[SkippedLine] | None = None,
) -> list[Conversation]:
    """Return the conversations in a file, detecting its format unless `format` names it.

    Conversations without messages are omitted. said_at: when messages without a time were said,
    according to the user. saved_at: when the file was last changed. skipped: takes the invalid
    lines of JSON Lines; None refuses them. Raises `UnreadableConversation`, and `NotFound` for an
    unknown format.
    """
    try:
        text = raw.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError:
        hint = "Convert it to UTF-8, for instance with iconv."
        raise UnreadableConversation(f"{name} is not UTF-8.", hint) from None
    file = RecordedFile(name, text, skipped)
    chosen = _named(format) if format else _detect(file)
    try:
        conversations = chosen.read(file)
    except InvalidContent as error:
        raise UnreadableConversation(
            f"A message of {name} has {error} where its text should be.",
            "Nothing was ingested. The content must be a string or a list of parts. "
            "--skip-invalid skips invalid lines of JSON Lines.",
        ) from None
    return [
        replace(
            conversation,
            name=replace_half_pairs(conversation.name),
            messages=tuple(
                replace(message, said_at=message.said_at or said_at)
                for message in conversation.messages
            ),
            session=conversation.session and replace_half_pairs(conversation.session),
            format=chosen.name,
            saved_at=saved_at,
        )
        for conversation in conversations
        if conversation.messages
    ]


def _named(name: str) -> ConversationFormat:
    for format in FORMATS:
        if format.name == name:
            return format
    raise NotFound(f"Unknown conversation format '{name}'.", f"Available: {_NAMES}.")


def _detect(file: RecordedFile) -> ConversationFormat:
    if not file.text.strip():
        raise UnreadableConversation(f"{file.name} is empty.", "Specify another file.")
    for format in FORMATS:
        if format.recognises(file):
            return format
    raise UnreadableConversation(
        f"{file.name} is not a conversation in a known format.",
        f"Specify its format with --from: {_NAMES}. "
        "If there is only one speaker, or each speaks only once, use --from text.",
    )
