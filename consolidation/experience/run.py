"""The traces of a file, compressed task by task, and what came of it written as a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from slowwave.consolidation.model.asking import CallFailed
from slowwave.consolidation.model.usage_limits import LimitReached
from slowwave.consolidation.model.writer import ModelWriter
from slowwave.consolidation.proposals import Usage, derived_trust
from slowwave.consolidation.snapshot.entities import names_in
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.answer_store import FileAnswerStore
from slowwave.store.check import refuse_damaged
from slowwave.store.file import MemoryFile, maintenance_lock, open_reading, open_writing
from slowwave.store.ledger import Decision as KeptDecision
from slowwave.store.ledger import begin_run, end_run, keep_decision, remembered_keys
from slowwave.store.memories import (
    consolidated_tenants,
    count_memories,
    read_derived,
    read_raw_experiences,
)
from slowwave.store.proposal_changes import ProposalChanges
from slowwave.store.records import Memory, content_hash, json_text, new_id, timestamp
from slowwave.store.vectors import to_blob

from .by_model import compress_by_model
from .compression import COMPRESSOR, Attempt, Learned, Task, compress, tasks_of
from .traces import trace_of

ExperienceState = Literal["planned", "applied", "discarded", "failed", "skipped"]


@dataclass(frozen=True)
class Compressed:
    """What became of the traces of one task."""

    task: Task
    state: ExperienceState
    why: str | None
    learned: Learned | None
    memory: str | None = None


@dataclass(frozen=True)
class Compression:
    """What became of the traces of a file. Those that were compressed before are not among it."""

    run_id: str | None
    tasks: tuple[Compressed, ...]
    # Ids of memories that say they keep a trace, and do not.
    unreadable: tuple[str, ...]
    usage: Usage


# Returns what was learned of a task. Raises `CallFailed`, and `LimitReached`.
Compressor = Callable[[Task], Learned]


def compress_experiences(
    path: Path,
    tenants: Sequence[str],
    embedder: Embedder,
    writer: ModelWriter | None,
    now: datetime,
    least_ratio: float,
    dry_run: bool = False,
) -> Compression:
    """Compress the traces of each task that has new ones, or say what that would do.

    A dry run asks no model. Nothing is held while a model thinks but other runs. Raises
    `StoreError`, `ModelError` and `EmbedderError`.
    """
    if dry_run:
        with open_reading(path) as file:
            due, _, unreadable = _due(file, tenants)
        tried = [_tried(one, compress, least_ratio) for one in due]
        return Compression(None, tuple(tried), unreadable, Usage())
    with maintenance_lock(path), open_writing(path) as file:
        refuse_damaged(file)
        due, earlier, unreadable = _due(file, tenants)
        asker = writer.asker() if writer is not None and due else None
        answers = FileAnswerStore(file, now)
        if asker is None:
            tried = [_tried(one, compress, least_ratio) for one in due]
        else:
            by_model = asker  # for the type checker: it stays what it is
            tried = [
                _tried(one, lambda task: compress_by_model(task, by_model, answers), least_ratio)
                for one in due
            ]
        usage = Usage() if asker is None else asker.usage
        if not any(one.state == "planned" for one in tried):
            return Compression(None, tuple(tried), unreadable, usage)
        run = _Run(file, embedder, now, usage, earlier)
        return Compression(run.id, tuple(run.write(tried, tenants)), unreadable, usage)


def _due(
    file: MemoryFile, tenants: Sequence[str]
) -> tuple[list[Task], dict[tuple[str, str], Memory], tuple[str, ...]]:
    """Return the tasks to compress, what was learned before by tenant and task, and what is broken.

    A task is due if it has traces that no compressed experience has, by this compressor, and nobody
    took back what it would make of these.
    """
    due: list[Task] = []
    earlier: dict[tuple[str, str], Memory] = {}
    unreadable: list[str] = []
    remembered = remembered_keys(file)
    for tenant in consolidated_tenants(file, tenants):
        attempts = []
        for memory in read_raw_experiences(file, tenant):
            try:
                attempts.append(Attempt(memory, trace_of(memory)))
            except ValidationError:
                unreadable.append(memory.id)
        standing = {}
        for memory in read_derived(file, tenant):
            said = memory.metadata.get("experience")
            if isinstance(said, dict):
                earlier[tenant, str(said.get("task"))] = memory
                traces = said.get("traces")
                ids = frozenset(map(str, traces)) if isinstance(traces, list) else frozenset()
                standing[str(said.get("task"))] = (ids, said.get("compressor"))
        for task in tasks_of(attempts, tenant):
            ids = frozenset(one.memory.id for one in task.attempts)
            if standing.get(task.name) != (ids, COMPRESSOR) and task.key not in remembered:
                due.append(task)
    return due, earlier, tuple(unreadable)


def _tried(task: Task, compressor: Compressor, least_ratio: float) -> Compressed:
    try:
        learned = compressor(task)
    except CallFailed as error:
        return Compressed(task, "failed", str(error), None)
    except LimitReached as error:
        return Compressed(task, "skipped", str(error), None)
    if not learned.decisions:
        said = "; ".join(learned.turned_down) or "no trace says of a decision how it went"
        return Compressed(task, "discarded", said, learned)
    if learned.ratio < least_ratio:
        why = f"it would be only {learned.ratio:g} times shorter, and {least_ratio:g} is wanted"
        return Compressed(task, "discarded", why, learned)
    return Compressed(task, "planned", None, learned)


class _Run:
    """Writes compressed experiences as one run, which can be undone."""

    def __init__(
        self,
        file: MemoryFile,
        embedder: Embedder,
        now: datetime,
        usage: Usage,
        earlier: dict[tuple[str, str], Memory],
    ) -> None:
        self.id = new_id()
        self._file = file
        self._embedder = embedder
        self._now = timestamp(now)
        self._usage = usage
        self._earlier = earlier

    def write(self, tried: Sequence[Compressed], tenants: Sequence[str]) -> list[Compressed]:
        """Write what is planned, each experience whole or not at all."""
        texts = [one.learned.text for one in tried if one.state == "planned" and one.learned]
        vectors = iter(self._embedder.encode(texts))
        of = consolidated_tenants(self._file, tenants)
        before = count_memories(self._file, of, count_tokens)
        options = {"experience": COMPRESSOR, "tenant": list(tenants)}
        begin_run(self._file, self.id, self._now, version("slowwave"), options)
        done = []
        for one in tried:
            if one.state == "planned" and one.learned is not None:
                blob = to_blob(next(vectors))
                with self._file.transaction():
                    memory = self._insert(one.learned, blob)
                one = Compressed(one.task, "applied", one.why, one.learned, memory)
            done.append(one)
        after = count_memories(self._file, of, count_tokens)
        states = {"applied": sum(one.state == "applied" for one in done)}
        report = {"before": asdict(before), "after": asdict(after), "states": states}
        report["model"] = asdict(self._usage)
        end_run(self._file, self.id, self._now, "done", None, report)
        return done

    def _insert(self, learned: Learned, blob: bytes) -> str:
        task = learned.task
        memory = self._memory(learned)
        sources = [one.memory for one in task.attempts]
        changes = ProposalChanges(self._file, self.id, task.key, self._now)
        names = sorted(names_in(memory.content))
        changes.insert_memory(memory, self._embedder.name, blob, names)
        changes.add_lineage(memory.id, sources, "synthesize")
        if (last := self._earlier.get((task.tenant, task.name))) is not None:
            changes.supersede([last], memory.id)
        changes.add_derivation(
            memory.id,
            {
                "operation": "synthesize",
                "writer": "extractive" if learned.model is None else "model",
                "model": learned.model,
                "prompt_hash": content_hash(COMPRESSOR),
                "inputs_hash": content_hash(json_text([one.content_hash for one in sources])),
                "claims": json_text([asdict(one) for one in learned.claims]),
                "prompt_tokens": 0,
                "completion_tokens": 0,
                "cost_usd": None if learned.model else 0.0,
            },
        )
        keep_decision(self._file, self._decision(learned, memory))
        return memory.id

    def _decision(self, learned: Learned, memory: Memory) -> KeptDecision:
        task = learned.task
        count = len(task.attempts)
        return KeptDecision(
            run_id=self.id,
            key=task.key,
            operation="synthesize",
            tenant=task.tenant,
            sources=tuple(one.memory.id for one in task.attempts),
            survivor=None,
            derived=memory.id,
            state="applied",
            draft=memory.content,
            reason=f"{count} traces of one task, {learned.ratio:g} times longer than this",
            why="; ".join(learned.turned_down) or None,
            numbers={"ratio": learned.ratio},
            decided_at=self._now,
        )

    def _memory(self, learned: Learned) -> Memory:
        task, text = learned.task, learned.text
        sources = [one.memory for one in task.attempts]
        outcomes = [one.trace.outcome for one in task.attempts]
        experience = {
            "task": task.name,
            "compressor": COMPRESSOR,
            "ratio": learned.ratio,
            "worked": outcomes.count("worked"),
            "failed": outcomes.count("failed"),
            "traces": [one.id for one in sources],
        }
        return Memory(
            id=new_id(),
            tenant=task.tenant,
            content=text,
            kind="context",
            layer="stable",
            status="active",
            origin="consolidation",
            trust=derived_trust(one.trust for one in sources),
            importance=max(one.importance for one in sources),
            pinned=False,
            generation=1 + max(one.generation for one in sources),
            source="experience",
            session=None,
            tags=("experience",),
            metadata={"experience": experience},
            content_hash=content_hash(text),
            access_count=0,
            observed_at=max(one.observed_at for one in sources),
            created_at=self._now,
            updated_at=self._now,
            accessed_at=None,
            expires_at=None,
            superseded_by=None,
            superseded_at=None,
        )
