"""Store the messages of an ongoing conversation immediately, in parts queued for a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from slowwave.store.conversations.messages import Conversation, InvalidContent, Message, parse_time
from slowwave.store.conversations.openai_messages import messages_of
from slowwave.store.errors import StoreError
from slowwave.store.file import MemoryFile, open_writing
from slowwave.store.intake import PartRow, read_chains, read_parts_of, write_part
from slowwave.store.records import new_id, timestamp

from .options import IngestOptions
from .parts import Cut, Part, chains_of, cut, pack
from .queued_parts import GROWING, as_queued, part_from_row
from .secrets import mask_name, mask_secrets

# The format of messages that a program passes.
FORMAT = "messages"
_WHY = "no model has read it yet"
_HINT = 'Each has a role and a content: {"role": "user", "content": "..."}. Nothing was kept.'

_Role = Literal[
    "user", "human", "assistant", "model", "ai", "system", "developer", "tool", "function"
]


class _PassedMessage(msgspec.Struct):
    """A message as a program passes it, as far as its form must be right."""

    role: _Role
    content: str | list[Any] | None
    at: str | float | None = None
    id: str | int | None = None


@dataclass(frozen=True)
class StoredMessages:
    """The messages that were stored, and how many complete turns are unread."""

    cut: Cut
    turns_before: int
    turns: int


def conversation_of(messages: Sequence[Mapping[str, Any]], name: str) -> Conversation:
    """Return messages as a conversation. Raises `StoreError` if one is not a message."""
    refuse_invalid(messages)
    return Conversation(name, tuple(messages_of(messages)), name, FORMAT)


def refuse_invalid(messages: Sequence[Mapping[str, Any]]) -> None:
    """Raise `StoreError` if one of the messages is not a message."""
    try:
        checked = msgspec.convert(messages, list[_PassedMessage])
        tuple(messages_of(messages))
    except msgspec.ValidationError as error:
        raise StoreError(f"The messages cannot be read: {error}.", _HINT) from error
    except InvalidContent as error:
        raise StoreError(f"Expected the text of a message, found {error}.", _HINT) from None
    for message in checked:
        if message.at is not None and parse_time(message.at) is None:
            raise StoreError(f"'{message.at}' is not a time in ISO 8601.", _HINT)


def keep(
    path: Path,
    name: str,
    *,
    messages: Sequence[Mapping[str, Any]],
    options: IngestOptions,
    now: datetime,
    can_repeat: bool,
    secrets: dict[str, str] | None = None,
) -> StoredMessages:
    """Keep the next messages of a conversation, in a transaction.

    Those with a known id are skipped. can_repeat: skip those that the conversation ends with, too,
    so that a call can be repeated. secrets: those of earlier messages, for `mask_secrets`. Raises
    `StoreError` if nothing was kept.
    """
    refuse_invalid(messages)
    keys: list[str | None] = []
    texts: list[Message] = []
    for passed in messages:
        key = passed.get("id")
        for message in messages_of([passed]):
            keys.append(None if key is None else str(key))
            # Only the time of the call is known of a message without a time.
            texts.append(replace(message, said_at=message.said_at or timestamp(now)))
    conversation = Conversation(name, tuple(texts), name, FORMAT)
    secrets = {} if secrets is None else secrets
    kinds: dict[int, tuple[str, ...]] = {}
    # Mask before the transaction, so that agents do not wait; include skipped messages.
    if not options.allow_secrets:
        safe, kinds = mask_secrets(conversation, secrets)
        conversation = replace(conversation, messages=safe.messages)
        # After masking, two ids could be equal.
        keys = [key if key and mask_name(key, secrets) == key else None for key in keys]
    with open_writing(path) as file, file.transaction():
        rows = _rows(file, options.tenant, name)
        known_ids = {key for row in rows for key in row.content["ids"]}
        chains = [chain for row in rows for chain in row.content["chains"]]
        new_places, ids = [], []
        for place, key in enumerate(keys, start=1):
            if key not in known_ids:
                new_places.append(place)
                if key is not None:
                    known_ids.add(key)
                    ids.append(key)
        new = [conversation.messages[place - 1] for place in new_places]
        repeated_count = _count_repeated(new, chains) if can_repeat else 0
        conversation = replace(conversation, messages=tuple(new[repeated_count:]))
        places = enumerate(new_places[repeated_count:], start=1)
        masked = {number: kinds[place] for number, place in places if place in kinds}
        whole_options = replace(options, whole=True)
        new_cut = cut(conversation, frozenset(), whole_options, before=chains, masked=masked)
        marks = {"chains": chains_of(conversation.messages, *chains[-1:]), "ids": ids}
        turns_before = _count_turns(file, options.tenant, rows)
        for row in _grown(rows[-1] if rows else None, new_cut, options, marks, timestamp(now)):
            write_part(file, row)
        turns = _count_turns(file, options.tenant, _rows(file, options.tenant, name))
    return StoredMessages(new_cut, turns_before, turns)


def close(path: Path, name: str, tenant: str) -> None:
    """Stop adding messages to the queued part of a conversation. Raises `StoreError`."""
    with open_writing(path) as file, file.transaction():
        for row in _rows(file, tenant, name)[-1:]:
            write_part(file, replace(row, content=row.content | {GROWING: False}))


def _rows(file: MemoryFile, tenant: str, name: str) -> list[PartRow]:
    """Return the parts that were kept here, oldest first."""
    return [row for row in read_parts_of(file, tenant, name) if "chains" in row.content]


def _count_repeated(messages: Sequence[Message], chains: Sequence[str]) -> int:
    """Return how many of the messages are those that the conversation ends with."""
    before = ["", *chains]
    for start in range(max(0, len(chains) - len(messages)), len(chains)):
        size = len(chains) - start
        if chains_of(messages[:1], before[start]) == [chains[start]] and (
            chains_of(messages[:size], before[start]) == chains[start:]
        ):
            return size
    return 0


def _grown(
    last: PartRow | None,
    new_cut: Cut,
    options: IngestOptions,
    marks: Mapping[str, list[str]],
    now: str,
) -> Iterator[PartRow]:
    """Yield the rows to write: the last one with new messages, if still queued, and new ones.

    marks: the hashes of all new messages, and the ids of those that have one.
    """
    new_messages = [message for part in new_cut.parts for message in part.new]
    if not new_messages:
        return
    earlier = [] if last is None else list(part_from_row(last).messages)
    unread = [message for message in earlier if message.is_new]
    name = new_cut.conversation.name
    if last is None or last.state != "waiting" or not last.content[GROWING]:
        last, unread = None, []
    row_marks = {mark: [*(last.content[mark] if last else ()), *marks[mark]] for mark in marks}
    for messages in pack([*unread, *new_messages], [*earlier, *new_messages]):
        row = last or PartRow(new_id(), options.tenant, name, {}, _WHY, now)
        part = Part(
            conversation=name,
            format=FORMAT,
            session=name,
            tenant=options.tenant,
            messages=messages,
            options=options,
        )
        yield replace(row, content=as_queued(part) | row_marks | {GROWING: True})
        last, row_marks = None, {mark: [] for mark in row_marks}


def _count_turns(file: MemoryFile, tenant: str, rows: Sequence[PartRow]) -> int:
    """Return how many turns are unread, without one that has no answer yet."""
    roles = {
        message.chain: message.role
        for row in rows
        if row.state == "waiting"
        for message in part_from_row(row).new
    }
    read_before = read_chains(file, tenant, list(roles))
    unread = [role for chain, role in roles.items() if chain not in read_before]
    return unread.count("user") - (unread[-1:] == ["user"])
