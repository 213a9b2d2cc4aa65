"""Conversations to memories, from the messages to the outcome: the page to read first.

A run like a night: journaled, so that it can be taken back; each part of a conversation is one
short transaction, and no lock that an agent waits for is held while a model thinks.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from slowwave.consolidation.model.writer import ModelWriter
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.running.preflight import Preflight
from slowwave.consolidation.running.run_in_file import RunInFile
from slowwave.consolidation.runtime.interruption import Interruption, OutOfTime
from slowwave.consolidation.runtime.threads import run_in_thread
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.answer_store import FileAnswerStore
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
from .ingest_outcome import Ingested, Progressing, Unread
from .known import KnownMemories
from .options import IngestOptions
from .parts import Cut, Part, chains_of, cut
from .reading import Reader
from .remembering import Remembering
from .waiting_parts import waiting_parts


@dataclass(frozen=True)
class _Intake:
    """What is to be read, and what is remembered already."""

    cuts: tuple[Cut, ...]
    parts: tuple[Part, ...]
    known: KnownMemories
    before: Counts
    # How many parts wait for a model that are not read now.
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
) -> Ingested:
    """Take memories from conversations, or say what that would do.

    What waits in the file for a model is read first, if there is one, or if there are no
    conversations. Raises `StoreError`, `EmbedderError` or `ModelError` if nothing was changed.
    """
    progress, interruption = progress or Progress(), interruption or Interruption()
    if dry_run:
        with open_reading(path) as file:
            model = writer if isinstance(writer, ModelWriter) else None
            takes_up = model is not None or not conversations
            intake = _look(file, conversations, options, embedder, now, takes_up, progress)
            return _rehearsed(file, intake, options, embedder, model, now)
    with maintenance_lock(path):
        preflight = Preflight(path, None, now)
        preflight.bring_up_to_date()
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
) -> Ingested:
    """Take memories from conversations, for a caller that keeps other runs from the file.

    The interruption is closed then. Raises as `ingest`.
    """
    model = writer if isinstance(writer, ModelWriter) else None
    takes_up = model is not None or not conversations
    with open_reading(path) as file:
        intake = _look(file, conversations, options, embedder, now, takes_up, progress)
    if not intake.parts:
        return _outcome(intake, Progressing(), intake.before, None)
    names = [one.name for one in conversations] or [one.conversation for one in intake.parts]
    shown = dict(options.shown) | {INGESTED: list(dict.fromkeys(names))}
    if any(one.waiting for one in intake.parts):
        shown["taken_up"] = True
    run = RunInFile(path, embedder, writer, now, shown, preflight)
    if model is not None:
        run_in_thread(model.make_ready)
    return _carry_out(path, run, intake, options, embedder, model, now, progress, interruption)


def _look(
    file: MemoryFile,
    conversations: Sequence[Conversation],
    options: IngestOptions,
    embedder: Embedder,
    now: datetime,
    takes_up: bool,
    progress: Progress,
) -> _Intake:
    """Read what the file knows of the conversations, and what it remembers."""
    tenant = options.tenant
    waiting = read_queued_parts(file, [tenant])
    taken_up = waiting_parts(
        waiting if takes_up else (), options, lambda chains: read_chains(file, tenant, chains)
    )
    taken = {chain for part in taken_up for chain in part.chains}
    cuts: list[Cut] = []
    for number, conversation in enumerate(conversations):
        chains = chains_of(conversation.messages)
        read = read_chains(file, tenant, chains) | taken
        cuts.append(cut(conversation, read, options, number))
        # Of two that have messages in common, those are read once.
        taken |= {chain for part in cuts[-1].parts for chain in part.chains}
    parts = (*taken_up, *(part for one in cuts for part in one.parts))
    memories = active_memories(file, tenant, timestamp(now)) if parts else []
    kept = list(read_vectors(file, embedder.name, tenant)) if parts else []
    before = _count(file, options)
    left = len(waiting) - len(taken_up) if not takes_up else 0
    return _Intake(
        tuple(cuts), parts, KnownMemories(memories, kept, embedder, progress), before, left
    )


def _rehearsed(
    file: MemoryFile,
    intake: _Intake,
    options: IngestOptions,
    embedder: Embedder,
    model: ModelWriter | None,
    now: datetime,
) -> Ingested:
    """Return what would be done; a model is asked only where the options say so."""
    reader = Reader(model, embedder, intake.known)
    done = Progressing()
    if model is not None and not options.ask:
        for part in intake.parts:
            tokens = reader.estimate(part, model)
            done.unread.append(Unread(part, "planned", None, tokens))
        return _outcome(intake, done, intake.before, None)
    remembering = Remembering(
        intake.known, options.tenant, embedder.name, None if model is None else model.model, now
    )
    for read in reader.read(intake.parts, FileAnswerStore(file)):
        done.usage += read.usage
        if read.state == "read":
            done.remembered += remembering.decide(file, read)
        else:
            done.unread.append(_unread(read))
    return _outcome(intake, done, _expected(intake.before, done), None)


def _expected(before: Counts, done: Progressing) -> Counts:
    """Return the counts as they would be then."""
    stored = [one.content for one in done.remembered if one.state == "stored"]
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
) -> Ingested:
    """Read the parts and write what comes of each; an interruption ends it between two of them."""
    done = Progressing()
    interrupted = False
    broken_off: StoreError | None = None
    remembering = Remembering(
        intake.known, options.tenant, embedder.name, None if model is None else model.model, now
    )
    reader = Reader(model, embedder, intake.known)
    try:
        if intake.known.computed:
            run.keep_vectors(intake.known.computed)
        with run.writing() as file:
            for number, read in enumerate(reader.read(intake.parts, FileAnswerStore(file, now)), 1):
                _settle(file, run, remembering, read, done)
                progress.stage("reading", number, len(intake.parts))
        interruption.close()
    except KeyboardInterrupt:
        interruption.close()
        interrupted = True
        with interruption.limited():
            decided = run.find_decisions(one.proposal for one in done.last if one.proposal)
            done.remembered += [one for one in done.last if one.proposal in decided]
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
    # What was stored stands all the same.
    with suppress(OutOfTime, StoreError), interruption.limited():
        run.end(outcome.verdict, None, outcome.report)
    return outcome


def _settle(
    file: MemoryFile, run: RunInFile, remembering: Remembering, read: PartRead, done: Progressing
) -> None:
    """Write what came of a part, in one transaction."""
    run_id = run.context.run_id
    done.usage += read.usage
    if read.state != "read":
        with file.transaction():
            remembering.let_wait(file, run_id, read)
        done.unread.append(_unread(read))
        return
    with file.transaction():
        done.last = remembering.write(file, run_id, read)
    done.remembered += done.last
    done.last = ()
    done.taken_up += read.part.waiting is not None


def _unread(read: PartRead) -> Unread:
    return Unread(read.part, "skipped" if read.state == "skipped" else "failed", read.why)


def _outcome(intake: _Intake, done: Progressing, after: Counts, run_id: str | None) -> Ingested:
    return Ingested(
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
