"""Compress the traces of a file, task by task, as a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from slowwave.consolidation.model.model_writer import ModelWriter
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.running.run_in_file import Preflight, RunInFile, run_report
from slowwave.consolidation.runtime.interruption import InterruptedEarly, Interruption, OutOfTime
from slowwave.consolidation.runtime.threads import run_in_thread
from slowwave.consolidation.text.tokens import count_tokens
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import AnswerStore, Writer
from slowwave.store.errors import StoreError
from slowwave.store.file import MemoryFile, open_reading, open_writing
from slowwave.store.ledger import remembered_keys
from slowwave.store.lock import maintenance_lock
from slowwave.store.memories import (
    RAW_EXPERIENCE,
    Counts,
    count_memories,
    read_derived,
    read_tenant_memories,
    select_consolidated_tenants,
    tenants,
)
from slowwave.store.records import Memory

from .compression import (
    COMPRESSOR,
    Attempt,
    Compressed,
    Compression,
    Learned,
    Task,
    compress,
    facts_of,
    judged,
    tasks_of,
)
from .model_lessons import experience_dialogue, experience_question, shown_to_a_model
from .storing import store
from .traces import trace_of


@dataclass(frozen=True)
class ExperienceJob:
    """What to compress, and with what."""

    path: Path
    tenant: str
    # Lessons that are not this many times shorter than their traces are discarded.
    min_ratio: float
    # Whether to call the model, if there is one.
    asks: bool
    # The options as specified, for the record of the run.
    shown: Mapping[str, Any]
    embedder: Embedder
    writer: Writer
    now: datetime
    dry_run: bool
    progress: Progress
    interruption: Interruption


@dataclass(frozen=True)
class _PendingTasks:
    """The tasks to compress, earlier lessons by task, and the ids of unreadable traces."""

    tasks: tuple[Task, ...]
    earlier: Mapping[str, Memory]
    unreadable: tuple[str, ...]


def compress_experiences(job: ExperienceJob) -> Compression:
    """Compress the traces of each task that has new ones, or return what that would do.

    A dry run calls a model only if the job says so. Agents may read and write the file at the same
    time. Raises `StoreError`, `ModelError` and `EmbedderError` if nothing was changed, and
    `InterruptedEarly`.
    """
    try:
        if job.dry_run:
            with open_reading(job.path) as file:
                due = _find_pending_tasks(file, job.tenant)
                compressed = _compress_each(job, due, AnswerStore(file))
                results = {result.task.key: result for result in compressed}
            return Compression(tuple(results[task.key] for task in due.tasks), due.unreadable)
        with maintenance_lock(job.path):
            preflight = Preflight(job.path, None, job.now)
            preflight.migrate()
            preflight.refuse_damaged()
            with open_reading(job.path) as file:
                due = _find_pending_tasks(file, job.tenant)
            if isinstance(job.writer, ModelWriter) and due.tasks:
                run_in_thread(job.writer.make_ready)
            shown = {"experience": COMPRESSOR, **job.shown}
            return _compress_due(job, RunInFile(preflight, job.now, shown, job.interruption), due)
    except KeyboardInterrupt:
        job.interruption.close()
        raise InterruptedEarly from None


def _compress_due(job: ExperienceJob, run: RunInFile, due: _PendingTasks) -> Compression:
    """Compress the tasks, store the lessons of each at once, and record the end of the run."""
    before = _count(job)
    # By the keys of the tasks; planned until the lessons are stored.
    results: dict[str, Compressed] = {}
    with run.working(), open_writing(job.path) as file:
        answers = AnswerStore(file, run.now)
        for result in _compress_each(job, due, answers):
            results[result.task.key] = result
            if result.state == "planned" and result.learned is not None:
                last = due.earlier.get(result.task.name)
                with job.interruption.deferred():
                    memory = store(run, job.embedder, result.learned, last)
                    results[result.task.key] = replace(result, state="applied", memory=memory)
                    run.has_results = True
    settled = {key: result for key, result in results.items() if result.state != "planned"}
    outcome = Compression(
        tuple(settled[task.key] for task in due.tasks if task.key in settled),
        due.unreadable,
        run.recorded_id,
        run.interrupted,
        run.broken_off,
    )
    # Stored lessons stay.
    with suppress(OutOfTime, StoreError), job.interruption.limited():
        applied = [task.state for task in outcome.tasks if task.state == "applied"]
        after = _count(job)
        run.end(outcome.verdict, run_report(before, after, applied, outcome.usage))
    return outcome


def _find_pending_tasks(file: MemoryFile, chosen: str) -> _PendingTasks:
    """Find the tasks to compress.

    A task is due if this compressor has not compressed all of its traces yet, and the result was
    not undone.
    """
    earlier: dict[str, Memory] = {}
    unreadable: list[str] = []
    attempts: list[Attempt] = []
    compressed = {}
    for tenant in _chosen(file, chosen):
        for memory in read_tenant_memories(file, tenant):
            if RAW_EXPERIENCE not in memory.metadata:
                continue
            try:
                attempts.append(Attempt(memory, trace_of(memory)))
            except ValidationError:
                unreadable.append(memory.id)
        for memory in read_derived(file, tenant):
            lesson = memory.metadata.get("experience")
            if isinstance(lesson, dict):
                name, traces = str(lesson.get("task")), lesson.get("traces")
                ids = frozenset(map(str, traces)) if isinstance(traces, list) else frozenset()
                earlier[name], compressed[name] = memory, (ids, lesson.get("compressor"))
    remembered = remembered_keys(file)
    due = (
        task
        for task in tasks_of(attempts, chosen)
        if compressed.get(task.name)
        != (frozenset(memory.id for memory in task.memories), COMPRESSOR)
        and task.key not in remembered
    )
    return _PendingTasks(tuple(due), earlier, tuple(unreadable))


def _chosen(file: MemoryFile, tenant: str) -> list[str]:
    """Return the tenant, or none for a file without memories. Raises `NotFound` otherwise."""
    return select_consolidated_tenants(file, [tenant]) if tenants(file) else []


def _count(job: ExperienceJob) -> Counts:
    with open_reading(job.path) as file:
        return count_memories(file, _chosen(file, job.tenant), count_tokens)


def _compress_each(
    job: ExperienceJob, due: _PendingTasks, answers: AnswerStore
) -> Iterator[Compressed]:
    """Yield the result of each task; with a model, in the order of its answers."""
    for number, result in enumerate(_draft_each(job, due.tasks, answers), start=1):
        yield judged(result, job.min_ratio)
        job.progress.stage("compressing", number, len(due.tasks))


def _draft_each(
    job: ExperienceJob, tasks: Sequence[Task], answers: AnswerStore
) -> Iterator[Compressed]:
    writer = job.writer
    if not isinstance(writer, ModelWriter):
        yield from (Compressed(task, "planned", learned=compress(task)) for task in tasks)
        return
    dialogues = []
    for task in tasks:
        shown = shown_to_a_model(task)
        if not shown:
            yield Compressed(task, "planned", learned=Learned(task, (), facts_of(task)))
        elif job.asks:
            dialogues.append(experience_dialogue(writer.models, task, shown))
        else:
            question = experience_question(writer.models.writer, task, shown)
            yield Compressed(task, "planned", tokens=question.tokens)
    if dialogues:
        for results in writer.run_dialogues(iter(dialogues), answers):
            yield from results
