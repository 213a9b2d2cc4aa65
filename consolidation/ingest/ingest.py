"""Turn conversations into memories; start reading here.

An ingest is a run like a night: journaled, so that it can be undone. Each part of a conversation is
one short transaction, and no lock that agents wait for is held during a model call.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from slowwave.consolidation.model.writer import ModelWriter
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.running.run_in_file import Preflight, RunInFile
from slowwave.consolidation.runtime.interruption import Interruption, OutOfTime
from slowwave.consolidation.runtime.threads import run_in_thread
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.answer_store import AnswerStore
from slowwave.consolidation.writing.writer import Writer
from slowwave.store.conversations.messages import Conversation
from slowwave.store.errors import StoreError
from slowwave.store.file import MemoryFile, maintenance_lock, open_reading
from slowwave.store.intake import (
    INGESTED,
    active_memories,
    read_chains,
    read_queued_parts,
)
from slowwave.store.memories import Counts, count_memories
from slowwave.store.records import timestamp
from slowwave.store.vectors import read_vectors

from .candidates import PartRead
from .ingest_outcome import IngestOutcome, IngestProgress, Unread
from .known import KnownMemories
from .memory_writer import MemoryWriter
from .options import IngestOptions
from .parts import Cut, Part, chains_of, cut
from .reading import Reader
from .waiting_parts import waiting_parts


@dataclass(frozen=True)
class _Intake:
    """The parts to read, and the known memories."""

    cuts: tuple[Cut, ...]
    parts: tuple[Part, ...]
    known: KnownMemories
    before: Counts
    # The number of waiting parts that are not read now.
    waiting: int


def ingest(
    path: Path,
    conversations: Sequence[Conversation],
    options: IngestOptions,
    embedder: Embedder,
    writer: Writer,
    now: datetime,
    dry_run: bool = False,
    progress: Progress | None = None,
    interruption: Interruption | None = None,
) -> IngestOutcome:
    """Take memories from conversations; a dry run only returns what would be done.

    Waiting parts in the file are read first, if there is a model or there are no conversations.
    Raises `StoreError`, `EmbedderError` or `ModelError` if nothing was changed.
    """
    progress, interruption = progress or Progress(), interruption or Interruption()
    if dry_run:
        with open_reading(path) as file:
            model = writer if isinstance(writer, ModelWriter) else None
            reads_waiting = model is not None or not conversations
            intake = _prepare(file, conversations, options, embedder, now, reads_waiting, progress)
            return _dry_run(file, intake, options, embedder, model, now)
    with maintenance_lock(path):
        preflight = Preflight(path, None, now)
        preflight.migrate()
        return ingest_while_locked(
            path,
            conversations,
            options,
            embedder,
            writer,
            now,
            preflight,
            progress,
            interruption,
        )


def ingest_while_locked(
    path: Path,
    conversations: Sequence[Conversation],
    options: IngestOptions,
    embedder: Embedder,
    writer: Writer,
    now: datetime,
    preflight: Preflight,
    progress: Progress,
    interruption: Interruption,
) -> IngestOutcome:
    """Take memories from conversations; the caller holds the maintenance lock.

    Closes the interruption. Raises as `ingest`.
    """
    model = writer if isinstance(writer, ModelWriter) else None
    reads_waiting = model is not None or not conversations
    with open_reading(path) as file:
        intake = _prepare(file, conversations, options, embedder, now, reads_waiting, progress)
    if not intake.parts:
        return _outcome(intake, IngestProgress(), intake.before, None)
    names = [conversation.name for conversation in conversations] or [
        part.conversation for part in intake.parts
    ]
    shown = dict(options.shown) | {INGESTED: list(dict.fromkeys(names))}
    if any(part.waiting for part in intake.parts):
        shown["taken_up"] = True
    run = RunInFile(path, embedder, writer, now, shown, preflight)
    if model is not None:
        run_in_thread(model.make_ready)
    return _carry_out(path, run, intake, options, embedder, model, now, progress, interruption)


def _prepare(
    file: MemoryFile,
    conversations: Sequence[Conversation],
    options: IngestOptions,
    embedder: Embedder,
    now: datetime,
    reads_waiting: bool,
    progress: Progress,
) -> _Intake:
    """Read the known memories, and cut the unread messages into parts."""
    tenant = options.tenant
    waiting = read_queued_parts(file, [tenant])
    taken_up = waiting_parts(
        waiting if reads_waiting else (), options, lambda chains: read_chains(file, tenant, chains)
    )
    taken = {chain for part in taken_up for chain in part.chains}
    cuts: list[Cut] = []
    for number, conversation in enumerate(conversations):
        chains = chains_of(conversation.messages)
        read = read_chains(file, tenant, chains) | taken
        cuts.append(cut(conversation, read, options, number))
        # Messages that conversations share are read once.
        taken |= {chain for part in cuts[-1].parts for chain in part.chains}
    parts = (*taken_up, *(part for conversation_cut in cuts for part in conversation_cut.parts))
    memories = active_memories(file, tenant, timestamp(now)) if parts else []
    kept = list(read_vectors(file, embedder.name, tenant)) if parts else []
    before = _count(file, options)
    left = len(waiting) - len(taken_up) if not reads_waiting else 0
    return _Intake(
        tuple(cuts), parts, KnownMemories(memories, kept, embedder, progress), before, left
    )


def _dry_run(
    file: MemoryFile,
    intake: _Intake,
    options: IngestOptions,
    embedder: Embedder,
    model: ModelWriter | None,
    now: datetime,
) -> IngestOutcome:
    """Return the outcome to expect; a model is only asked with the option `ask`."""
    reader = Reader(model, embedder, intake.known)
    done = IngestProgress()
    if model is not None and not options.ask:
        for part in intake.parts:
            tokens = reader.estimate(part, model)
            done.unread.append(Unread(part, "planned", None, tokens))
        return _outcome(intake, done, intake.before, None)
    memory_writer = MemoryWriter(
        intake.known, options.tenant, embedder.name, None if model is None else model.model, now
    )
    for read in reader.read(intake.parts, AnswerStore(file)):
        done.usage += read.usage
        if read.state == "read":
            done.remembered += memory_writer.decide(file, read)
        else:
            done.unread.append(_unread(read))
    return _outcome(intake, done, _expected_counts(intake.before, done), None)


def _expected_counts(before: Counts, done: IngestProgress) -> Counts:
    """Return the counts to expect."""
    stored = [text.content for text in done.remembered if text.state == "stored"]
    return replace(
        before,
        active=before.active + len(stored),
        layers=before.layers | {"working": before.layers["working"] + len(stored)},
        characters=before.characters + sum(map(len, stored)),
        tokens=before.tokens + sum(map(count_tokens, stored)),
    )


def _carry_out(
    path: Path,
    run: RunInFile,
    intake: _Intake,
    options: IngestOptions,
    embedder: Embedder,
    model: ModelWriter | None,
    now: datetime,
    progress: Progress,
    interruption: Interruption,
) -> IngestOutcome:
    """Read the parts and write their results; an interruption ends it between two parts."""
    done = IngestProgress()
    interrupted = False
    broken_off: StoreError | None = None
    memory_writer = MemoryWriter(
        intake.known, options.tenant, embedder.name, None if model is None else model.model, now
    )
    reader = Reader(model, embedder, intake.known)
    try:
        if intake.known.computed:
            run.keep_vectors(intake.known.computed)
        with run.writing() as file:
            for number, read in enumerate(reader.read(intake.parts, AnswerStore(file, now)), 1):
                _settle(file, run, memory_writer, read, done)
                progress.stage("reading", number, len(intake.parts))
        interruption.close()
    except KeyboardInterrupt:
        interruption.close()
        interrupted = True
        with interruption.limited():
            decided = run.find_decisions(result.proposal for result in done.last if result.proposal)
            done.remembered += [result for result in done.last if result.proposal in decided]
    except StoreError as error:
        interruption.close()
        if not done.remembered:
            run.end("failed", None, {})
            raise
        broken_off = error
    except Exception:
        interruption.close()
        run.end("failed", None, {})
        raise
    with interruption.limited(), open_reading(path) as file:
        after = _count(file, options)
        waiting = len(read_queued_parts(file, [options.tenant]))
    outcome = replace(
        _outcome(intake, done, after, run.run_id),
        waiting=waiting,
        interrupted=interrupted,
        broken_off=broken_off,
    )
    with suppress(OutOfTime, StoreError), interruption.limited():
        run.end(outcome.verdict, None, outcome.report)
    return outcome


def _settle(
    file: MemoryFile,
    run: RunInFile,
    memory_writer: MemoryWriter,
    read: PartRead,
    done: IngestProgress,
) -> None:
    """Write the results of a part in one transaction."""
    run_id = run.context.run_id
    done.usage += read.usage
    if read.state != "read":
        with file.transaction():
            memory_writer.keep_unread(file, run_id, read)
        done.unread.append(_unread(read))
        return
    with file.transaction():
        done.last = memory_writer.write(file, run_id, read)
    done.remembered += done.last
    done.last = ()
    done.taken_up += read.part.waiting is not None


def _unread(read: PartRead) -> Unread:
    return Unread(read.part, "skipped" if read.state == "skipped" else "failed", read.why)


def _outcome(
    intake: _Intake, done: IngestProgress, after: Counts, run_id: str | None
) -> IngestOutcome:
    return IngestOutcome(
        intake.cuts,
        tuple(done.remembered),
        tuple(done.unread),
        intake.before,
        after,
        done.usage,
        done.taken_up,
        intake.waiting,
        run_id,
    )


def _count(file: MemoryFile, options: IngestOptions) -> Counts:
    return count_memories(file, options.counted or [options.tenant], count_tokens)
