"""A conversation cut into the parts in which it is read."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from slowwave.consolidation.text.injection import commands
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.store.conversations.messages import Conversation, Message
from slowwave.store.records import json_text

from .options import IngestOptions

# A part that a model reads at once, in tokens and messages.
PART_TOKENS = 4_000
PART_MESSAGES = 24
# So many messages before a part are shown with it, so that "that one" is understood.
CONTEXT_MESSAGES = 2
# A message is read in pieces of so many characters at the most: somebody pasted a file.
MAX_CHARACTERS = 6_000


@dataclass(frozen=True)
class Said:
    """A message, or a piece of a long one, at its place in a conversation."""

    # From 1 on.
    place: int
    # A hash of what was said up to and with it.
    chain: str
    message: Message
    # Whether memories are to be taken from it; else it only stands before those.
    is_new: bool = True


@dataclass(frozen=True)
class Part:
    """Messages that are read at once."""

    conversation: str
    format: str
    session: str | None
    said: tuple[Said, ...]
    # How it is read, and what is kept of it: as was asked for first, if it has waited since.
    options: IngestOptions
    # The row in which it waited for a model; None if it did not.
    waiting: str | None = None
    # Which conversation of this run it is of: of one that is distilled, all parts count together.
    number: int = 0

    @property
    def new(self) -> tuple[Said, ...]:
        """The messages that memories are to be taken from."""
        return tuple(one for one in self.said if one.is_new)

    @property
    def chains(self) -> tuple[str, ...]:
        """Their hashes, each once."""
        return tuple(dict.fromkeys(one.chain for one in self.new))

    @property
    def waiting_id(self) -> str:
        """The id under which it waits: the one that it has, or a hash of what is to be read."""
        if self.waiting is not None:
            return self.waiting
        named = json_text([self.options.tenant, self.chains])
        return hashlib.sha256(named.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Cut:
    """A conversation with the parts of it that are to be read."""

    conversation: Conversation
    parts: tuple[Part, ...]
    # Messages that were read before, and that are left unread since they stand too far back.
    known: int
    left: int
    # Those that try to command who reads them: none is read.
    commanding: tuple[Said, ...]


def chains_of(messages: Sequence[Message]) -> list[str]:
    """Return a hash for each message: of what was said up to and with it, by whom.

    So a conversation is known again in whatever file it stands, as far as it was read.
    """
    said = (json_text([one.role, one.speaker, one.text]) for one in messages)
    return list(accumulate(said, _chained, initial=""))[1:]


def _chained(before: str, said: str) -> str:
    return hashlib.sha256(f"{before}\n{said}".encode()).hexdigest()


def cut(
    conversation: Conversation, read: Collection[str], options: IngestOptions, number: int = 0
) -> Cut:
    """Return what of a conversation is to be read, in parts.

    read: the hashes of the messages that were read before. What came since is read, however much
    it is; of a conversation that is met for the first time, the last messages or, if the options
    say so, all.
    """
    chains = chains_of(conversation.messages)
    said = [
        Said(place, chain, message)
        for place, (chain, message) in enumerate(
            zip(chains, conversation.messages, strict=True), start=1
        )
    ]
    known = set() if options.again else {one for one in chains if one in read}
    start = _start(said, known, options)
    unread = [one for one in said if one.chain not in known]
    wanted = [one for one in unread if one.place > start]
    commanding = [one for one in wanted if commands(one.message.text)]
    plain = [one for one in wanted if one not in commanding]
    parts = tuple(
        Part(
            conversation.name,
            conversation.format,
            conversation.session,
            part,
            options,
            number=number,
        )
        for part in _parts(plain, [one for one in said if not commands_in(one)])
    )
    further_back = [one for one in unread if one.place <= start and not commands_in(one)]
    return Cut(conversation, parts, len(known), len(further_back), tuple(commanding))


def commands_in(one: Said) -> bool:
    """Whether a message gives orders to its reader."""
    return bool(commands(one.message.text))


def _start(said: Sequence[Said], known: Collection[str], options: IngestOptions) -> int:
    """Return the place of the last message that is not to be read."""
    if options.whole or options.distill:
        return 0
    last = max((one.place for one in said if one.chain in known), default=None)
    first_of_the_last = max(0, len(said) - options.lookback)
    return first_of_the_last if last is None else last


def _parts(wanted: Sequence[Said], everything: Sequence[Said]) -> Iterator[tuple[Said, ...]]:
    """Cut messages into parts of a bounded size, each behind those that came before it."""
    part: list[Said] = []
    tokens = 0
    for one in (piece for whole in wanted for piece in pieces_of(whole)):
        size = count_tokens(one.message.text)
        if part and (tokens + size > PART_TOKENS or len(part) >= PART_MESSAGES):
            yield _behind(part, everything)
            part, tokens = [], 0
        part.append(one)
        tokens += size
    if part:
        yield _behind(part, everything)


def _behind(part: Sequence[Said], everything: Sequence[Said]) -> tuple[Said, ...]:
    """Return a part with the messages before it, which only help to understand it."""
    before = [one for one in everything if one.place < part[0].place][-CONTEXT_MESSAGES:]
    shown = (replace(pieces_of(one)[-1], is_new=False) for one in before)
    return (*shown, *part)


def pieces_of(one: Said) -> list[Said]:
    """Return a message in pieces that are not too long, cut at ends of lines or words."""
    pieces, left = [], one.message.text
    while len(left) > MAX_CHARACTERS:
        places = (left.rfind(mark, MAX_CHARACTERS // 2, MAX_CHARACTERS) for mark in "\n ")
        end = next((one for one in places if one > 0), MAX_CHARACTERS)
        pieces.append(left[:end])
        left = left[end:].lstrip()
    return [replace(one, message=replace(one.message, text=text)) for text in (*pieces, left)]
