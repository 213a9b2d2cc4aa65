"""Compress the traces of a file, task by task, as a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from slowwave.consolidation.model.model_writer import ModelWriter
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.running.run_in_file import Preflight, RunInFile, run_report
from slowwave.consolidation.runtime.interruption import InterruptedEarly, Interruption, OutOfTime
from slowwave.consolidation.runtime.threads import run_in_thread
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import AnswerStore, Writer
from slowwave.extensions.organisation.store.traces import read_traces
from slowwave.store.errors import StoreError
from slowwave.store.file import MemoryFile, open_reading, open_writing
from slowwave.store.ledger import remembered_keys
from slowwave.store.lock import maintenance_lock
from slowwave.store.memories import (
    Counts,
    count_memories,
    read_derived,
    select_consolidated_tenants,
    tenants,
)
from slowwave.store.records import Memory
from slowwave.store.vectors import to_blob

from .by_model import experience_dialogue, experience_question, shown_to_a_model
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
from .storing import store
from .traces import trace_of


@dataclass(frozen=True)
class ExperienceOptions:
    """The options of the user."""

    tenant: str
    # Lessons that are not this many times shorter than their traces are discarded.
    min_ratio: float
    # Whether a dry run calls the model.
    ask: bool
    # The options as specified, for the record of the run.
    shown: Mapping[str, Any]


@dataclass(frozen=True)
class _Due:
    """The tasks to compress, earlier lessons by task, and the ids of unreadable traces."""

    tasks: tuple[Task, ...]
    earlier: Mapping[str, Memory]
    unreadable: tuple[str, ...]


def compress_experiences(
    path: Path,
    options: ExperienceOptions,
    embedder: Embedder,
    writer: Writer,
    now: datetime,
    dry_run: bool,
    progress: Progress,
    interruption: Interruption,
) -> Compression:
    """Compress the traces of each task that has new ones, or return what that would do.

    A dry run calls a model only if the options say so. Agents may read and write the file at the
    same time. Raises `StoreError`, `ModelError` and `EmbedderError` if nothing was changed, and
    `InterruptedEarly`.
    """
    try:
        if dry_run:
            with open_reading(path) as file:
                return _rehearsed(file, options, writer, progress)
        with maintenance_lock(path):
            preflight = Preflight(path, None, now)
            preflight.migrate()
            preflight.refuse_damaged()
            with open_reading(path) as file:
                due = _due(file, options.tenant)
            if isinstance(writer, ModelWriter) and due.tasks:
                run_in_thread(writer.make_ready)
            shown = {"experience": COMPRESSOR, **options.shown}
            run = RunInFile(path, embedder, writer, now, shown, preflight)
            return _CompressionRun(run, options, due, progress, interruption).run_tasks()
    except KeyboardInterrupt:
        interruption.close()
        raise InterruptedEarly from None


def _due(file: MemoryFile, chosen: str) -> _Due:
    """Find the tasks to compress.

    A task is due if this compressor has not compressed all of its traces yet, and the result was
    not undone.
    """
    earlier: dict[str, Memory] = {}
    unreadable: list[str] = []
    attempts: list[Attempt] = []
    compressed = {}
    for tenant in _chosen(file, chosen):
        for memory in read_traces(file, tenant):
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
        != (frozenset(attempt.memory.id for attempt in task.attempts), COMPRESSOR)
        and task.key not in remembered
    )
    return _Due(tuple(due), earlier, tuple(unreadable))


def _chosen(file: MemoryFile, tenant: str) -> list[str]:
    """Return the tenant, or none for a file without memories. Raises `NotFound` otherwise."""
    return select_consolidated_tenants(file, [tenant]) if tenants(file) else []


def _rehearsed(
    file: MemoryFile, options: ExperienceOptions, writer: Writer, progress: Progress
) -> Compression:
    due = _due(file, options.tenant)
    if isinstance(writer, ModelWriter) and not options.ask:
        tried: Iterator[Compressed] = (_to_be_asked(task, writer) for task in due.tasks)
    else:
        tried = _tried(due.tasks, writer, AnswerStore(file), progress)
    results = {result.task.key: judged(result, options.min_ratio) for result in tried}
    return Compression(tuple(results[task.key] for task in due.tasks), due.unreadable)


def _to_be_asked(task: Task, writer: ModelWriter) -> Compressed:
    shown = shown_to_a_model(task)
    if not shown:
        return _without_a_model(task)
    question = experience_question(writer.models.writer, task, shown)
    return Compressed(task, "planned", tokens=question.estimate.total)


def _without_a_model(task: Task) -> Compressed:
    return Compressed(task, "planned", learned=Learned(task, (), facts_of(task)))


def _tried(
    tasks: Sequence[Task], writer: Writer, answers: AnswerStore, progress: Progress
) -> Iterator[Compressed]:
    """Yield the result of each task; with a model, in the order of its answers."""
    done = 0
    for portion in _portions(tasks, writer, answers):
        for compressed in portion:
            yield compressed
            done += 1
            progress.stage("compressing", done, len(tasks))


def _portions(
    tasks: Sequence[Task], writer: Writer, answers: AnswerStore
) -> Iterator[Sequence[Compressed]]:
    if not isinstance(writer, ModelWriter):
        yield from ([Compressed(task, "planned", learned=compress(task))] for task in tasks)
        return
    shown = [(task, shown_to_a_model(task)) for task in tasks]
    yield [_without_a_model(task) for task, sources in shown if not sources]
    dialogues = (
        experience_dialogue(writer.models, task, sources) for task, sources in shown if sources
    )
    yield from writer.ask(dialogues, answers)


@dataclass
class _CompressionRun:
    """Compresses the tasks that are due, and writes the lessons of each at once."""

    _run: RunInFile
    _options: ExperienceOptions
    _due: _Due
    _progress: Progress
    _interruption: Interruption
    _done: dict[str, Compressed] = field(default_factory=dict)
    # Lessons that may be in the file, and are not in `_done` yet.
    _last: Compressed | None = None

    def run_tasks(self) -> Compression:
        """Compress the tasks, and record the end, also of an interrupted run."""
        run, now = self._run, self._run.record.now
        before = self._count()
        interrupted = False
        broken_off: StoreError | None = None
        try:
            with open_writing(run.path) as file:
                answers = AnswerStore(file, now)
                tasks = self._due.tasks
                for compressed in _tried(tasks, run.writer, answers, self._progress):
                    self._settle(judged(compressed, self._options.min_ratio))
            self._interruption.close()
        except KeyboardInterrupt:
            self._interruption.close()
            interrupted = True
            with self._interruption.limited():
                self._find_applied()
        except StoreError as error:
            self._interruption.close()
            if run.run_id is None:
                raise
            broken_off = error
        except Exception:
            self._interruption.close()
            run.end("failed", None, {})
            raise
        outcome = Compression(
            tuple(self._done[task.key] for task in self._due.tasks if task.key in self._done),
            self._due.unreadable,
            run.run_id,
            interrupted,
            broken_off,
        )
        # Stored lessons stay.
        with suppress(OutOfTime, StoreError), self._interruption.limited():
            applied = [task.state for task in outcome.tasks if task.state == "applied"]
            report = run_report(before, self._count(), applied, outcome.usage)
            run.end(outcome.verdict, None, report)
        return outcome

    def _settle(self, compressed: Compressed) -> None:
        if compressed.state == "planned" and compressed.learned is not None:
            run, task = self._run, compressed.task
            vector = to_blob(run.embedder.encode([compressed.learned.text])[0])
            self._last = compressed
            last = self._due.earlier.get(task.name)
            with run.writing() as file:
                memory = store(
                    file, run.record, compressed.learned, run.embedder.name, vector, last
                )
            compressed = replace(compressed, state="applied", memory=memory)
            self._last = None
        self._done[compressed.task.key] = compressed

    def _find_applied(self) -> None:
        """Add lessons that were stored just before the interruption to `_done`."""
        last = {} if self._last is None else {self._last.task.key: self._last}
        for key, decision in self._run.find_decisions(last).items():
            self._done[key] = replace(last[key], state="applied", memory=decision.derived)

    def _count(self) -> Counts:
        with open_reading(self._run.path) as file:
            return count_memories(file, _chosen(file, self._options.tenant), count_tokens)
