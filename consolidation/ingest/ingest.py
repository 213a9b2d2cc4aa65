"""Turn conversations into memories; start reading here.

An ingest is a run like a night: journaled, so that it can be undone. Each part of a conversation is
one short transaction, and no lock that agents wait for is held during a model call.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from slowwave.consolidation.model.agent_writer import AgentWriter
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.running.run_in_file import Preflight, RunInFile
from slowwave.consolidation.running.savings import changed_counts
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.consolidation.runtime.threads import run_in_thread
from slowwave.consolidation.text.tokens import count_tokens
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import AnswerStore, Writer
from slowwave.store.conversations.messages import Conversation
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.intake import INGESTED, count_queued, read_chains
from slowwave.store.lock import maintenance_lock
from slowwave.store.memories import Counts, count_memories, read_active
from slowwave.store.records import timestamp
from slowwave.store.vectors import read_vectors

from .candidates import PartReading
from .ingest_outcome import IngestOutcome
from .known import KnownMemories
from .options import IngestOptions
from .part_store import PartStore
from .parts import Cut, chains_of, cut
from .queued_parts import read_parts_to_read
from .reading import Asker, estimate_tokens, read_parts
from .secrets import mask_answer, mask_secrets


@dataclass(frozen=True)
class IngestInputs:
    """The inputs of an ingest."""

    path: Path
    conversations: Sequence[Conversation]
    options: IngestOptions
    embedder: Embedder
    writer: Writer
    now: datetime
    progress: Progress

    @property
    def model(self) -> Asker | None:
        """The writer that asks a model or an agent, if any."""
        return self.writer if isinstance(self.writer, Asker) else None

    def count(self, file: MemoryFile) -> Counts:
        """Count the memories."""
        return count_memories(file, self.options.counted or [self.options.tenant], count_tokens)


def ingest(
    inputs: IngestInputs, dry_run: bool = False, interruption: Interruption | None = None
) -> IngestOutcome:
    """Take memories from conversations; a dry run only returns what would be done.

    Parts queued in the file are read first. Without a model, what is new is queued with them.
    Raises `StoreError`, `EmbedderError` or `ModelError` if nothing was changed.
    """
    if dry_run:
        return preview(inputs)
    with maintenance_lock(inputs.path):
        preflight = Preflight(inputs.path, None, inputs.now)
        return ingest_while_locked(inputs, preflight, interruption or Interruption())


def preview(inputs: IngestInputs) -> IngestOutcome:
    """Return the outcome to expect; a model is only asked with the option `ask`."""
    model = inputs.model
    with open_reading(inputs.path) as file:
        store, outcome = _prepare(file, inputs, compares=True)
        if model is None or not inputs.options.ask:
            is_checked = model is None or model.checker is not None
            memories = store.known_memories
            outcome.unread = [
                PartReading(part, "planned", tokens=estimate_tokens(part, memories, is_checked))
                for part in outcome.parts
            ]
            return outcome
        answers = AnswerStore(file, None, mask_answer)
        for reading in read_parts(outcome.parts, model, store.known_memories, answers):
            outcome.add(reading, store.write(file, reading, None))
    outcome.after = _counts_after(outcome)
    return outcome


def _counts_after(outcome: IngestOutcome) -> Counts:
    """Return the counts with the stored memories, and without what others changed."""
    before = outcome.before
    stored = [result.content for result in outcome.of("stored")]
    layers = before.layers | {"working": before.layers["working"] + len(stored)}
    return changed_counts(before, layers, before.superseded, [], stored)


def ingest_while_locked(
    inputs: IngestInputs, preflight: Preflight, interruption: Interruption
) -> IngestOutcome:
    """Take memories from conversations; the caller holds the maintenance lock.

    Closes the interruption. Raises as `ingest`.
    """
    began = time.monotonic()
    with open_reading(inputs.path) as file:
        store, outcome = _prepare(file, inputs, compares=inputs.model is not None)
    if not outcome.parts:
        return outcome
    names = [cut.conversation.name for cut in outcome.cuts] or [
        part.conversation for part in outcome.parts
    ]
    recorded = dict(inputs.options.shown) | {INGESTED: list(dict.fromkeys(names))}
    if any(part.queued_id for part in outcome.parts):
        recorded["taken_up"] = True
    run = RunInFile(preflight, inputs.now, recorded, interruption)
    if inputs.model is not None:
        run_in_thread(inputs.model.make_ready)
    with run.working():
        _read_all(inputs, store, outcome, run, interruption)
    outcome.interrupted, outcome.broken_off = run.interrupted, run.broken_off
    with interruption.limited(), open_reading(inputs.path) as file:
        outcome.queued = _count_queued(file, inputs.options.tenant)
    outcome.after = _counts_after(outcome)
    outcome.run_id = run.recorded_id
    outcome.seconds = time.monotonic() - began
    # What was stored is reported even if this fails; the ledger shows the run as interrupted.
    run.try_to_end(outcome.verdict, outcome.report)
    return outcome


def _read_all(
    inputs: IngestInputs,
    store: PartStore,
    outcome: IngestOutcome,
    run: RunInFile,
    interruption: Interruption,
) -> None:
    """Read or queue the parts, and write the results of each in one transaction."""
    memories, run_id = store.known_memories, run.id
    if memories.computed:
        run.store_vectors(inputs.embedder.name, memories.computed)
    with run.writing() as file:
        answers = AnswerStore(file, inputs.now, mask_answer)
        readings: Iterator[PartReading] = (
            (PartReading(part, "queued", why="no model was specified") for part in outcome.parts)
            if inputs.model is None
            else read_parts(outcome.parts, inputs.model, memories, answers)
        )
        for number, reading in enumerate(readings, start=1):
            with interruption.deferred():
                with file.transaction():
                    results = store.write(file, reading, run_id)
                outcome.add(reading, results)
                run.has_results = True
            inputs.progress.stage("reading", number, len(outcome.parts))


def _prepare(
    file: MemoryFile, inputs: IngestInputs, compares: bool
) -> tuple[PartStore, IngestOutcome]:
    """Return an outcome with the parts to read, and what writes their memories.

    compares: read the memories to compare them with.
    """
    options, embedder = inputs.options, inputs.embedder
    tenant, now = options.tenant, timestamp(inputs.now)
    # An agent's answers take time: they would never fit a conversation that goes on meanwhile.
    quiet_at = inputs.now if isinstance(inputs.writer, AgentWriter) else None
    parts = read_parts_to_read(file, tenant, options.conversation, quiet_at)
    taken = {chain for part in parts for chain in part.chains}
    queued_ids, queued = set[str](), 0
    if inputs.model is None:
        queued_ids, queued = {part.row_id for part in parts}, _count_queued(file, tenant)
        parts = []
    cuts: list[Cut] = []
    for number, conversation in enumerate(inputs.conversations):
        masked: dict[int, tuple[str, ...]] = {}
        # Before messages are hashed: a short secret can be guessed from a hash.
        if not options.allow_secrets:
            conversation, masked = mask_secrets(conversation)
        read_before = read_chains(file, tenant, chains_of(conversation.messages)) | taken
        conversation_cut = cut(conversation, read_before, options, number, masked=masked)
        new_parts = tuple(part for part in conversation_cut.parts if part.row_id not in queued_ids)
        cuts.append(replace(conversation_cut, parts=new_parts))
        parts += cuts[-1].parts
        # Messages that conversations share are read once.
        taken |= {chain for part in cuts[-1].parts for chain in part.chains}
    memories = KnownMemories(
        read_active(file, tenant, now) if parts and compares else [],
        read_vectors(file, embedder.name, tenant) if parts and compares else [],
        embedder,
        inputs.progress,
    )
    before = inputs.count(file)
    return (
        PartStore(memories, tenant, embedder.name, inputs.writer.model, inputs.now),
        IngestOutcome(tuple(cuts), tuple(parts), before, before, queued=queued),
    )


def _count_queued(file: MemoryFile, tenant: str) -> int:
    return count_queued(file, [tenant]).get(tenant, 0)
