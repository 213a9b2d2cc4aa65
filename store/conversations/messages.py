"""A conversation and its messages, independent of the program that recorded it."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from math import inf
from typing import Any, Literal, TypeVar

from slowwave.store.errors import StoreError
from slowwave.store.records import read_json

from .inserted import without_inserted

# Half a surrogate pair, which JSON can spell but UTF-8 cannot encode.
_HALF_PAIR = re.compile("[\ud800-\udfff]")
Role = Literal["user", "assistant"]
Made = TypeVar("Made")
# The roles by the names that programs have for them; those of systems and tools are missing.
_ROLES: dict[str, Role] = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "model", "ai"), "assistant"),
}
# The latest time in seconds: a larger number, which is beyond the year 5000, has a smaller unit.
_LATEST = 1e11
_EPOCH = 1970
_TYPES = {dict: "an object", list: "a list", bool: "a truth value"}


class UnreadableConversation(StoreError):
    """A file is not a conversation in a known format."""


class InvalidContent(Exception):
    """A message has something other than text as its content; `str()` gives its type.

    Not the content itself: errors are logged, and it may be a secret.
    """

    def __init__(self, value: Any) -> None:
        super().__init__(_TYPES.get(type(value), "a number"))


@dataclass(frozen=True)
class Message:
    """A message of the user or of the assistant."""

    role: Role
    text: str
    # ISO 8601 in UTC; None if the file has no time.
    said_at: str | None = None
    # The speaker's name, if the file has more than a role.
    speaker: str | None = None

    @property
    def sender(self) -> str:
        """The speaker's name, or the role."""
        return self.speaker or self.role


@dataclass(frozen=True)
class Conversation:
    """The messages of a conversation, oldest first, without those of tools and programs."""

    name: str
    messages: tuple[Message, ...]
    # The id that the program assigned.
    session: str | None = None
    # The format's name; `read_conversations` sets it.
    format: str = ""
    # When its file was last changed, for messages without a time: ISO 8601 in UTC.
    saved_at: str | None = None


@dataclass(frozen=True)
class SkippedLine:
    """A line that is not read, and the reason."""

    file: str
    line: int
    reason: str


@dataclass(frozen=True)
class RecordedFile:
    """A file in which a program recorded conversations."""

    name: str
    text: str
    # Takes the invalid lines of JSON Lines; None refuses them.
    skipped: list[SkippedLine] | None = None

    @cached_property
    def json(self) -> Any:
        """The value of its JSON; None if it is not JSON."""
        return read_json(self.text)

    @cached_property
    def lines(self) -> list[tuple[int, Any]]:
        """The values of its lines by their numbers, from 1; None for a line that is not JSON."""
        numbered = enumerate(self.text.split("\n"), start=1)
        return [(number, read_json(line)) for number, line in numbered if line.strip()]

    @cached_property
    def objects(self) -> list[dict[str, Any]]:
        """The objects of JSON Lines, without invalid lines; none if it begins as another text."""
        if self.skipped is None and not self.text.lstrip().startswith("{"):
            return []
        return [value for _, value in self.lines if isinstance(value, dict)]

    def read_objects(self, read: Callable[[dict[str, Any]], Made | None]) -> list[Made]:
        """Return what `read` makes of the objects of JSON Lines.

        Skips an incomplete last line, which its program is still writing. Raises
        `UnreadableConversation` for any other invalid line, and `InvalidContent` as `read` does.
        """
        results, last_line = [], self.text.count("\n") + 1
        for number, value in self.lines:
            try:
                if value is None and number < last_line:
                    raise UnreadableConversation(
                        f"Line {number} of {self.name} is not valid JSON.",
                        "Correct the line, or skip invalid lines with --skip-invalid.",
                    )
                result = read(value) if isinstance(value, dict) else None
            except (UnreadableConversation, InvalidContent) as error:
                if self.skipped is None:
                    raise
                reason = "it is not valid JSON"
                if isinstance(error, InvalidContent):
                    reason = f"it has {error} where a message's text should be"
                self.skipped.append(SkippedLine(self.name, number, reason))
            else:
                if result is not None:
                    results.append(result)
        return results


@dataclass(frozen=True)
class ConversationFormat:
    """How a program records conversations."""

    name: str
    recognises: Callable[[RecordedFile], bool]
    # Names conversations after the file. Raises `UnreadableConversation` and `InvalidContent`.
    read: Callable[[RecordedFile], list[Conversation]]


def replace_half_pairs(text: str) -> str:
    """Replace half surrogate pairs by the replacement character."""
    return _HALF_PAIR.sub("\ufffd", text)


def _text_of(content: Any, kinds: tuple[str, ...]) -> str:
    """Return the text of a message's content, without what programs put into it.

    The content is a string or a list of parts; null, that of a tool call, gives an empty text.
    Raises `InvalidContent` for other values.
    """
    if isinstance(content, str):
        return without_inserted(content)
    if content is not None and not isinstance(content, list):
        raise InvalidContent(content)
    texts = [
        part if isinstance(part, str) else part.get("text")
        for part in content or ()
        if isinstance(part, str)
        or (isinstance(part, dict) and part.get("type", part.get("content_type")) in kinds)
    ]
    invalid = [part for part in texts if part is not None and not isinstance(part, str)]
    if invalid:
        raise InvalidContent(invalid[0])
    return without_inserted("\n\n".join(part.strip() for part in texts if part and part.strip()))


def parse_time(value: Any) -> str | None:
    """Return a time as ISO 8601 in UTC; None if it is invalid, or in 1970, which means unknown.

    value: ISO 8601, in UTC if it has no offset, or a number since 1970, perhaps as text, in seconds
    or, if it is too large for that, in milliseconds or less.
    """
    # A number first: some milliseconds read as a day and a time of the 18th century.
    moment = _since_1970(value)
    with suppress(ValueError, OverflowError):
        if isinstance(value, str) and (moment is None or moment.year <= _EPOCH):
            moment = datetime.fromisoformat(value)
            moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        if moment is not None and moment.year > _EPOCH:
            return moment.isoformat(timespec="seconds")
    return None


def _since_1970(value: Any) -> datetime | None:
    try:
        seconds = 0.0 if isinstance(value, bool) else float(value)
        while _LATEST < seconds < inf:
            seconds /= 1_000
        return datetime.fromtimestamp(seconds, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def to_message(
    role: Any, content: Any, time: Any, kinds: tuple[str, ...] = ("text",)
) -> Message | None:
    """Return a message from what a program recorded of it.

    None for systems and tools, and for a content without a text. Raises `InvalidContent`.
    """
    known_role = _ROLES.get(role) if isinstance(role, str) else None
    text = replace_half_pairs(_text_of(content, kinds)) if known_role else ""
    return Message(known_role, text, parse_time(time)) if known_role and text else None
