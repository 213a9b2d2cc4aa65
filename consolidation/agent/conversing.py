"""Conversations of an agent: read at once, or stored message by message and read later."""

from __future__ import annotations

from collections import ChainMap, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any, Self

from slowwave.consolidation.ingest.ingest import IngestInputs, ingest
from slowwave.consolidation.ingest.ingest_outcome import IngestOutcome
from slowwave.consolidation.ingest.open_conversations import (
    StoredMessages,
    close,
    conversation_of,
    keep,
)
from slowwave.consolidation.ingest.options import IngestOptions
from slowwave.consolidation.ingest.secrets import mask_known, mask_name
from slowwave.consolidation.model.chosen_model import ModelLike, chosen_writer
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.runtime.threads import start_in_thread
from slowwave.consolidation.writing.writer import Writer
from slowwave.store.conversations.conversation_formats import read_conversations
from slowwave.store.conversations.messages import Conversation
from slowwave.store.errors import FileHeld, StoreError
from slowwave.store.shared_tenant import refuse_unpublished

from .correcting import TenantFile

# The number of turns after which a conversation is read.
EVERY = 5


class AgentConversation:
    """A conversation in progress: each message is stored at once, and read later.

    Leaving its `with` block ends it, as `flush` does. Without a model, the next night with one
    reads it.
    """

    def __init__(
        self,
        memory: ConversingMemory,
        name: str,
        every: int,
        options: IngestOptions,
        writer_of: Callable[[], Writer],
    ) -> None:
        """every: after how many turns it is read. Raises `StoreError`."""
        if not name.strip():
            raise StoreError("The name of a conversation must not be blank.")
        if every < 1:
            raise StoreError(f"`every` must be at least 1, not {every}.")
        refuse_unpublished(options.tenant)
        self._memory = memory
        self._name = name if options.allow_secrets else mask_name(name, {})
        self._every = every
        self._options = options
        self._writer_of = writer_of
        # What was masked in it so far; the file does not have it.
        self._secrets = memory._secrets[name]
        # Readings in threads since the last flush; only the last can still run.
        self._readings: list[Future[IngestOutcome | None]] = []

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the conversation. Raises as `flush`."""
        self.flush()

    def say(
        self, role: str, content: str, *, at: str | None = None, id: str | int | None = None
    ) -> None:
        """Store the next message; after the last of `every` turns, start reading.

        role: `user` or `assistant`; those of systems and tools are ignored. at: ISO 8601. id: a
        message with a known one is skipped. Raises `StoreError`.
        """
        passed = {"role": role, "content": content, "at": at, "id": id}
        message = {name: value for name, value in passed.items() if value is not None}
        if self.is_due(self.keep([message])):
            self.action_completed()

    def action_completed(self) -> None:
        """Start reading the new messages in a thread, unless a reading is running.

        Without a model, they become a part that an agent can be asked about.
        """
        if self._writer_of().model is None:
            self.read()
        elif not self._readings or self._readings[-1].done():
            self._readings.append(start_in_thread(self.read))

    def flush(self) -> list[IngestOutcome]:
        """Wait for a running reading, read the rest, and return all outcomes.

        What cannot be read now stays queued. Raises `StoreError` and `ConsolidationError`.
        """
        readings, self._readings = self._readings, []
        outcomes = [*(reading.result() for reading in readings), self.read()]
        return [outcome for outcome in outcomes if outcome is not None]

    def keep(
        self, messages: Sequence[Mapping[str, Any]], can_repeat: bool = False
    ) -> StoredMessages:
        """Store the next messages, and read nothing. Raises `StoreError` if nothing was stored.

        can_repeat: skip those that the conversation ends with.
        """
        return keep(
            self._memory._path,
            self._name,
            messages=messages,
            options=self._options,
            now=self._memory._clock(),
            can_repeat=can_repeat,
            secrets=self._secrets,
        )

    def is_due(self, stored: StoredMessages) -> bool:
        """Whether the conversation must be read after these messages."""
        return stored.turns // self._every > stored.turns_before // self._every

    def read(self, progress: Progress | None = None) -> IngestOutcome | None:
        """Read the new messages now, and return the outcome.

        None if there is no model, nothing to read, or another run that has locked the file. Raises
        `StoreError` and `ConsolidationError`.
        """
        writer = self._writer_of()
        if writer.model is None:
            close(self._memory._path, self._name, self._options.tenant)
            return None
        try:
            options = replace(self._options, conversation=self._name)
            outcome = self._memory._read((), options, writer, progress=progress)
        except FileHeld:
            return None
        return outcome if outcome.run_id or outcome.unread else None


class ConversingMemory(TenantFile):
    """What an agent's memory does with conversations."""

    # The secrets that were masked, with their kinds, by the name of the conversation.
    _secrets: defaultdict[str, dict[str, str]]

    def ingest(
        self,
        conversation: str | Sequence[Mapping[str, Any]],
        name: str = "conversation",
        options: IngestOptions | None = None,
        writer: Writer | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
        *,
        model: ModelLike | None = None,
        checker: ModelLike | None = None,
    ) -> IngestOutcome:
        """Take memories from a conversation, as `slowwave ingest` does.

        conversation: all messages so far, each with a `role` and a `content`, or the text of a
        file that the command reads. options: such as `IngestOptions(whole=True)`, for this tenant.
        model, checker, writer: as of `consolidate`; without any, the messages are queued, and the
        next night with a model reads them. Raises `StoreError` and `ConsolidationError` if nothing
        was changed.
        """
        if isinstance(conversation, str):
            conversations = read_conversations(conversation.encode(errors="replace"), name)
        else:
            conversations = [conversation_of(conversation, name)]
        refuse_unpublished(self._tenant)
        chosen = chosen_writer(model, checker, writer)
        return self._read(conversations, self._of_tenant(options), chosen, dry_run, progress)

    def conversation(
        self,
        name: str,
        every: int = EVERY,
        options: IngestOptions | None = None,
        writer_of: Callable[[], Writer] | None = None,
        *,
        model: ModelLike | None = None,
        checker: ModelLike | None = None,
    ) -> AgentConversation:
        """Return a conversation whose messages are stored as they are said.

        name: its id, which continues it later. every: the number of turns after which it is read.
        model, checker: as of `consolidate`; without a model, the next night with one reads it.
        writer_of: instead of a model, creates the writer of each reading. Raises `StoreError`.
        """
        of_model = partial(chosen_writer, model, checker, None)
        own_options = self._of_tenant(options)
        return AgentConversation(self, name, every, own_options, writer_of or of_model)

    def _hide(self, text: str) -> str:
        """Return a text without the secrets of conversations so far."""
        return mask_known(text, dict(ChainMap(*self._secrets.values())))

    def _read(
        self,
        conversations: Sequence[Conversation],
        options: IngestOptions,
        writer: Writer,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> IngestOutcome:
        """Read conversations, or else the queued parts. Raises as `ingest`."""
        recorded = {
            "tenant": [self._tenant],
            "embedder": self._embedder.name,
            "model": writer.model,
        }
        inputs = IngestInputs(
            self._path,
            conversations,
            replace(options, shown=recorded),
            self._embedder,
            writer,
            self._clock(),
            progress or Progress(),
        )
        return ingest(inputs, dry_run)

    def _of_tenant(self, options: IngestOptions | None) -> IngestOptions:
        return replace(options or IngestOptions(), tenant=self._tenant)
