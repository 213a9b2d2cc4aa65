"""Derive lessons from the traces of a task: decisions that worked or failed, and their context.

The built-in compressor quotes the traces. The claims of a model are checked like drafts, and those
that do not pass are omitted. Code, logs and other texts that are not prose are not shown to a
model; their key facts are quoted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from slowwave.consolidation.comparison.normal_form import normal_form
from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.reports.key_facts import key_facts
from slowwave.consolidation.running.run_in_file import Verdict
from slowwave.consolidation.text.density import density_of
from slowwave.consolidation.text.injection import commands
from slowwave.consolidation.text.tokens import split_sentences
from slowwave.consolidation.thresholds import MAX_KEY_FACTS
from slowwave.store.errors import SlowwaveError
from slowwave.store.records import Claim, Memory, json_text

from .traces import TaskTrace, Worked

ExperienceState = Literal["planned", "applied", "discarded", "failed", "skipped"]
# Its number increases whenever the compression of traces changes.
COMPRESSOR = "experience/1"
MAX_DECISIONS = 10
MAX_CONTEXTS = 4
# How many characters of a text are kept, in whole sentences; the rest stays in the trace.
MAX_KEPT = 300


@dataclass(frozen=True)
class Attempt:
    """A trace and the memory that keeps it."""

    memory: Memory
    trace: TaskTrace


@dataclass(frozen=True)
class Task:
    """All attempts at a task, ordered by time."""

    tenant: str
    name: str
    attempts: tuple[Attempt, ...]

    @property
    def memories(self) -> list[Memory]:
        """The memories that keep its traces."""
        return [attempt.memory for attempt in self.attempts]

    @property
    def key(self) -> str:
        """The key of a decision about these traces by this compressor."""
        hashes = sorted(memory.content_hash for memory in self.memories)
        parts = [COMPRESSOR, self.tenant, self.name, hashes]
        return hashlib.sha256(json_text(parts).encode()).hexdigest()[:32]


class Lesson(NamedTuple):
    """A decision with its outcome, or a context (no outcome), with the traces that say so."""

    outcome: Worked | None
    claim: Claim


@dataclass(frozen=True)
class Learned:
    """The lessons learned from the traces of a task."""

    task: Task
    # Decisions first.
    lessons: tuple[Lesson, ...]
    facts: tuple[str, ...]
    # The model that wrote them; None for the built-in compressor.
    model: str | None = None
    # The omitted claims of a model's answer, with the reasons.
    turned_down: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text of the memory."""
        lines = [f"Task: {' '.join(self.task.name.split())}"]
        lines += [
            f"{outcome.capitalize() if outcome else 'Applies to'}: {claim.text}"
            for outcome, claim in self.lessons
        ]
        if self.facts:
            lines.append(f"Key facts: {'; '.join(self.facts)}")
        return "\n".join(lines)

    @property
    def has_decisions(self) -> bool:
        """Whether it has a decision with its outcome."""
        return any(outcome for outcome, _ in self.lessons)

    @property
    def ratio(self) -> float:
        """How many times longer the traces are."""
        return round(sum(len(memory.content) for memory in self.task.memories) / len(self.text), 2)


@dataclass(frozen=True)
class Compressed:
    """The result for the traces of a task."""

    task: Task
    state: ExperienceState
    why: str | None = None
    # None if they were not compressed.
    learned: Learned | None = None
    # The memory with the lessons.
    memory: str | None = None
    # The usage of a model.
    usage: Usage = field(default_factory=Usage)
    # In a dry run: the estimated tokens of asking a model.
    tokens: int = 0


@dataclass(frozen=True)
class Compression:
    """The results for the tasks of a file, without those that were compressed before."""

    tasks: tuple[Compressed, ...]
    # Ids of memories whose trace cannot be read.
    unreadable: tuple[str, ...]
    run_id: str | None = None
    interrupted: bool = False
    # Why the file could no longer be written, after something was.
    broken_off: SlowwaveError | None = None

    @property
    def usage(self) -> Usage:
        """The usage of a model for all tasks."""
        return sum((task.usage for task in self.tasks), start=Usage())

    @property
    def verdict(self) -> Verdict:
        """How it ended."""
        if self.interrupted:
            return "interrupted"
        if self.broken_off is not None:
            return "partial"
        if not any(task.state in ("failed", "skipped") for task in self.tasks):
            return "done"
        return "failed" if self.run_id is None else "partial"


def judged(result: Compressed, min_ratio: float) -> Compressed:
    """Discard lessons without the outcome of a decision, or hardly shorter than the traces."""
    learned = result.learned
    if result.state != "planned" or learned is None:
        return result
    if not learned.has_decisions:
        why = "; ".join(learned.turned_down) or "no trace contains the outcome of a decision"
        return replace(result, state="discarded", why=why)
    if learned.ratio < min_ratio:
        why = f"it would be only {learned.ratio:g} times shorter, and the minimum is {min_ratio:g}"
        return replace(result, state="discarded", why=why)
    return result


def tasks_of(attempts: Sequence[Attempt], tenant: str) -> list[Task]:
    """Return the attempts of a tenant, grouped by task."""
    by_name: dict[str, list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda each: (each.memory.observed_at, each.memory.id)):
        by_name.setdefault(attempt.trace.name, []).append(attempt)
    return [Task(tenant, name, tuple(own)) for name, own in sorted(by_name.items())]


def compress(task: Task) -> Learned:
    """Return the lessons, in the traces' own words.

    Steps count with their own outcomes; if no step of a trace has one, its feedback counts with
    the outcome of the trace. Lessons of more traces come first, and failures before successes.
    """
    outcomes = [
        (outcome, beginning, attempt.memory.id)
        for attempt in task.attempts
        for outcome, text in (*_outcomes(attempt.trace), (None, attempt.trace.prompt))
        if (beginning := _beginning_of(text)) is not None
    ]
    lessons = _united(outcomes)
    # Contexts stay in their order.
    lessons.sort(
        key=lambda lesson: (
            -len(lesson.claim.sources) * bool(lesson.outcome),
            lesson.outcome != "failed",
        )
    )
    return Learned(task, first_of(lessons), facts_of(task))


def first_of(lessons: Sequence[Lesson]) -> tuple[Lesson, ...]:
    """Return the decisions and contexts that fit into a memory."""
    decisions = [lesson for lesson in lessons if lesson.outcome is not None]
    contexts = [lesson for lesson in lessons if lesson.outcome is None]
    return (*decisions[:MAX_DECISIONS], *contexts[:MAX_CONTEXTS])


def _outcomes(trace: TaskTrace) -> list[tuple[Worked, str]]:
    outcomes = [(step.outcome, step.text) for step in trace.steps if step.outcome is not None]
    if not outcomes and trace.outcome is not None and trace.feedback:
        return [(trace.outcome, trace.feedback)]
    return outcomes


def _beginning_of(text: str) -> str | None:
    """Return the beginning of a text in whole sentences; None if it is not prose."""
    # The rest of a longer text could not be kept.
    beginning = text[: 4 * MAX_KEPT]
    if not _is_prose(beginning):
        return None
    line = " ".join(beginning.split())
    if len(line) <= MAX_KEPT:
        return line
    fitting = ""
    for sentence in split_sentences(line):
        longer = f"{fitting} {sentence}".strip()
        if len(longer) > MAX_KEPT or longer not in line:
            break
        fitting = longer
    return fitting or None


def _is_prose(text: str) -> bool:
    """Whether a text consists of sentences, and not of code, logs or instructions."""
    return not density_of(text).is_dense and not commands(text)


def _united(outcomes: Sequence[tuple[Worked | None, str, str]]) -> list[Lesson]:
    """Return each lesson once, in its first wording, with all traces that say it."""
    united: dict[tuple[Worked | None, str], tuple[str, dict[str, None]]] = {}
    for outcome, text, memory_id in outcomes:
        united.setdefault((outcome, normal_form(text)), (text, {}))[1][memory_id] = None
    return [Lesson(key[0], Claim(text, tuple(ids))) for key, (text, ids) in united.items()]


def facts_of(task: Task) -> tuple[str, ...]:
    """Return the key facts of texts that are not prose, verbatim."""
    facts: list[str] = []
    for attempt in task.attempts:
        for _, text in attempt.trace.parts():
            if density_of(text).is_dense and not commands(text):
                facts += [fact for fact in key_facts(text) if fact not in facts]
    return tuple(facts[:MAX_KEY_FACTS])


def prose_of(trace: TaskTrace) -> str:
    """Return the part of a trace that a model may be shown."""
    return "\n".join(f"{what}: {text}" for what, text in trace.parts() if _is_prose(text))
