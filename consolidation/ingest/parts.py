"""Cut a conversation into the parts in which it is read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import accumulate

from slowwave.consolidation.text.injection import commands
from slowwave.consolidation.text.tokens import count_tokens
from slowwave.store.conversations.messages import Conversation, Message
from slowwave.store.records import json_text

from .options import IngestOptions, ReadingOptions

# The maximum size of a part in tokens and messages.
PART_TOKENS = 4_000
PART_MESSAGES = 24
# The number of earlier messages that are shown with a part as context.
CONTEXT_MESSAGES = 2
# The maximum length of a piece of a long message, such as a pasted file.
MAX_CHARACTERS = 6_000


@dataclass(frozen=True, kw_only=True)
class PlacedMessage(Message):
    """A message, or a piece of a long one, at its place in a conversation."""

    # From 1 on.
    place: int
    # The hash of the conversation up to this message.
    chain: str
    # Whether to take memories from it; else it is context.
    is_new: bool = True


@dataclass(frozen=True, kw_only=True)
class Part:
    """Messages that are read together."""

    conversation: str
    format: str = ""
    session: str | None = None
    tenant: str
    messages: tuple[PlacedMessage, ...]
    # A queued part has those of its first ingest.
    options: ReadingOptions = field(default_factory=ReadingOptions)
    # The id of its queued row; None if it was not queued.
    queued_id: str | None = None
    # When its conversation was saved, for messages without a time; None if unknown.
    saved_at: str | None = None
    # The number of its conversation: the parts of a distilled one have common limits.
    number: int = 0

    @property
    def new(self) -> tuple[PlacedMessage, ...]:
        """The messages to take memories from."""
        return tuple(message for message in self.messages if message.is_new)

    @property
    def chains(self) -> tuple[str, ...]:
        """Their distinct hashes."""
        return tuple(dict.fromkeys(message.chain for message in self.new))

    @property
    def row_id(self) -> str:
        """The id of its queued row, or of the row to insert."""
        if self.queued_id is not None:
            return self.queued_id
        return hashlib.sha256(json_text([self.tenant, self.chains]).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Cut:
    """A conversation with the parts to read."""

    conversation: Conversation
    parts: tuple[Part, ...]
    # Numbers of messages that were read before, and that are too far back to be read.
    known_count: int
    unread_count: int
    # Messages that contain instructions to their reader; they are not read.
    commanding: tuple[PlacedMessage, ...]
    # The kinds of secret that were masked in the messages to read, by the number of the message.
    masked: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


def chains_of(messages: Sequence[Message], before: str = "") -> list[str]:
    """Return a chained hash for each message: of the conversation up to it.

    So a conversation is recognized in any file, as far as it was read. before: the hash of the
    message before the first one.
    """
    texts = (json_text([message.role, message.speaker, message.text]) for message in messages)
    return list(accumulate(texts, _chained, initial=before))[1:]


def _chained(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()


def cut(
    conversation: Conversation,
    read_before: Set[str],
    options: IngestOptions,
    number: int = 0,
    before: Sequence[str] = (),
    *,
    masked: Mapping[int, tuple[str, ...]],
) -> Cut:
    """Return the parts of a conversation to read.

    read_before: the hashes of messages that were read before. All later messages are read; of a new
    conversation, the last `lookback` ones or, depending on the options, all. before: the hashes of
    the messages that precede those of `conversation`. masked: the kinds of masked secrets by the
    number of the message in `conversation`, from 1.
    """
    chains = chains_of(conversation.messages, *before[-1:])
    messages = [
        PlacedMessage(**vars(message), place=place, chain=chain)
        for place, (chain, message) in enumerate(
            zip(chains, conversation.messages, strict=True), start=len(before) + 1
        )
    ]
    seen = {
        message.chain for message in messages if message.chain in read_before and not options.again
    }
    start = _start(messages, seen, options)
    commanding = {message.place for message in messages if commands(message.text)}
    plain = [message for message in messages if message.place not in commanding]
    unread = [message for message in plain if message.chain not in seen]
    to_read = [message for message in unread if message.place > start]
    parts = tuple(
        Part(
            conversation=conversation.name,
            format=conversation.format,
            session=conversation.session,
            tenant=options.tenant,
            messages=part_messages,
            options=options,
            saved_at=conversation.saved_at,
            number=number,
        )
        for part_messages in pack(to_read, plain)
    )
    omitted = tuple(
        message
        for message in messages[start:]
        if message.place in commanding and message.chain not in seen
    )
    places = {message.place for message in to_read}
    by_place = {place + len(before): kinds for place, kinds in masked.items()}
    masked_kinds = {place: kinds for place, kinds in by_place.items() if place in places}
    return Cut(conversation, parts, len(seen), len(unread) - len(to_read), omitted, masked_kinds)


def _start(messages: Sequence[PlacedMessage], seen: Set[str], options: IngestOptions) -> int:
    """Return the place of the last message that is not read."""
    if options.whole or options.distill:
        return 0
    last = max((message.place for message in messages if message.chain in seen), default=None)
    return max(0, len(messages) - options.lookback) if last is None else last


def pack(
    to_read: Sequence[PlacedMessage], all_messages: Sequence[PlacedMessage]
) -> Iterator[tuple[PlacedMessage, ...]]:
    """Cut messages into parts of a bounded size, each after the messages before it as context."""
    part: list[PlacedMessage] = []
    tokens = 0

    def with_context() -> tuple[PlacedMessage, ...]:
        before = [message for message in all_messages if message.place < part[0].place]
        context = [pieces_of(message)[-1] for message in before[-CONTEXT_MESSAGES:]]
        return (*(replace(message, is_new=False) for message in context), *part)

    for piece in (piece for message in to_read for piece in pieces_of(message)):
        size = count_tokens(piece.text)
        if part and (tokens + size > PART_TOKENS or len(part) >= PART_MESSAGES):
            yield with_context()
            part, tokens = [], 0
        part.append(piece)
        tokens += size
    if part:
        yield with_context()


def pieces_of(message: PlacedMessage) -> list[PlacedMessage]:
    """Split a long message at line or word boundaries."""
    pieces, tail = [], message.text
    while len(tail) > MAX_CHARACTERS:
        places = (tail.rfind(mark, MAX_CHARACTERS // 2, MAX_CHARACTERS) for mark in "\n ")
        end = next((place for place in places if place > 0), MAX_CHARACTERS)
        pieces.append(tail[:end])
        tail = tail[end:].lstrip()
    return [replace(message, text=text) for text in (*pieces, tail)]
