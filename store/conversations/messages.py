"""What a conversation is, whichever program wrote it down."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from slowwave.store.errors import StoreError

Role = Literal["user", "assistant"]
# So much of what is no text is told.
_MOST_SAID = 60


class UnreadableConversation(StoreError):
    """A file is no conversation of a form that is known."""


class NoContent(Exception):
    """What stands in place of a message's text is none; the message says what it is, in short."""

    def __init__(self, value: Any) -> None:
        """Take the value."""
        said = json.dumps(value, ensure_ascii=True)
        super().__init__(said if len(said) <= _MOST_SAID else f"{said[:_MOST_SAID]}...")


@dataclass(frozen=True)
class Message:
    """What one side said."""

    role: Role
    text: str
    # ISO 8601 in UTC; None where the file does not say.
    said_at: str | None = None
    # The name of who said it, where that is more than a role.
    speaker: str | None = None


@dataclass(frozen=True)
class Conversation:
    """The messages of one conversation, oldest first; those of tools and programs left out."""

    name: str
    # The format's name.
    format: str
    messages: tuple[Message, ...]
    # The id that the program gave it.
    session: str | None = None


class ConversationFormat(Protocol):
    """How one program writes conversations down."""

    @property
    def name(self) -> str:
        """The format's name."""

    def recognises(self, text: str) -> bool:
        """Whether a text is of this format, by a look at it."""

    def read(self, text: str, name: str) -> list[Conversation]:
        """Return the conversations in a text. Raises `UnreadableConversation`."""


def json_lines(text: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of JSON lines.

    A last line that breaks off is left out: its program is still writing. Raises
    `UnreadableConversation` with the number of any other line that is none.
    """
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            if number == len(lines):
                return
            raise UnreadableConversation(f"Line {number} of {name} is not valid JSON.") from None
        if isinstance(value, dict):
            yield value


def parsed(text: str) -> Any:
    """Return the JSON value of a text; None if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def first_objects(text: str, most: int = 20) -> list[dict[str, Any]]:
    """Return the objects of the first lines that hold one."""
    found: list[dict[str, Any]] = []
    for line in text.split("\n", 2 * most)[: 2 * most]:
        value = parsed(line) if line.lstrip().startswith("{") else None
        if isinstance(value, dict):
            found.append(value)
    return found[:most]


def text_of(content: Any, kinds: tuple[str, ...] = ("text",)) -> str:
    """Return the text of a message's content: a text, or parts of which some are texts.

    Raises `NoContent` for anything else but null, which is what a call of a tool has.
    """
    if isinstance(content, str):
        return content.strip()
    if content is not None and not isinstance(content, list):
        raise NoContent(content)
    texts = [
        one if isinstance(one, str) else one.get("text")
        for one in content or ()
        if isinstance(one, str) or (isinstance(one, dict) and one.get("type") in kinds)
    ]
    strange = [one for one in texts if one is not None and not isinstance(one, str)]
    if strange:
        raise NoContent(strange[0])
    return "\n\n".join(one.strip() for one in texts if one and one.strip())


def moment_of(value: Any) -> str | None:
    """Return a moment as ISO 8601 in UTC: of seconds since 1970, or of a text; None if it is none.

    What has no offset is UTC.
    """
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC).isoformat(timespec="seconds")
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return moment.astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return None
    return None


def sided(role: Any) -> Role | None:
    """Return which side a role is; None for those of systems and tools."""
    if role in ("user", "human"):
        return "user"
    return "assistant" if role in ("assistant", "model", "ai") else None
