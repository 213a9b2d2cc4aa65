"""From the traces of one task what was learned: decisions that worked or failed, and where.

What the built-in compressor writes is quoted from the traces. What a model writes is
checked like any draft, a claim at a time, and what does not pass is omitted. Texts that are meant
to the letter go to no model: their key facts are quoted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from slowwave.consolidation.comparison.normal_form import normal_form
from slowwave.consolidation.facts.reading import read
from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.reports.key_facts import key_facts
from slowwave.consolidation.running.run_in_file import Verdict
from slowwave.consolidation.text.density import density_of
from slowwave.consolidation.text.injection import commands
from slowwave.consolidation.thresholds import MAX_KEY_FACTS
from slowwave.store.errors import StoreError
from slowwave.store.records import Claim, Memory, json_text

from .traces import TaskTrace, Worked

ExperienceState = Literal["planned", "applied", "discarded", "failed", "skipped"]
# Goes up whenever traces are compressed otherwise.
COMPRESSOR = "experience/1"
MAX_DECISIONS = 10
MAX_CONTEXTS = 4
# So much of a text is kept: its first sentences, as many as fit; the rest stays with the trace.
MAX_KEPT = 300


@dataclass(frozen=True)
class Attempt:
    """A trace and the memory that keeps it."""

    memory: Memory
    trace: TaskTrace


@dataclass(frozen=True)
class Task:
    """All attempts at one task, in the order of time."""

    tenant: str
    name: str
    attempts: tuple[Attempt, ...]

    @property
    def key(self) -> str:
        """What a decision about these traces by this compressor is remembered by."""
        hashes = sorted(attempt.memory.content_hash for attempt in self.attempts)
        parts = [COMPRESSOR, self.tenant, self.name, hashes]
        return hashlib.sha256(json_text(parts).encode()).hexdigest()[:32]

    @property
    def characters(self) -> int:
        """How long its traces are."""
        return sum(len(attempt.memory.content) for attempt in self.attempts)


class Lesson(NamedTuple):
    """A decision and how that went, or a context (no outcome), with the traces that say so."""

    outcome: Worked | None
    claim: Claim


@dataclass(frozen=True)
class Learned:
    """What was learned from the traces of one task."""

    task: Task
    # Decisions first.
    lessons: tuple[Lesson, ...]
    facts: tuple[str, ...]
    # Who wrote it: a model's name; None for the built-in compressor.
    model: str | None = None
    # What of a model's answer was omitted, and why.
    turned_down: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What the memory will say."""
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
        """Whether it says of any decision how that went."""
        return any(outcome for outcome, _ in self.lessons)

    @property
    def ratio(self) -> float:
        """How many times longer the traces are."""
        return round(self.task.characters / len(self.text), 2)


@dataclass(frozen=True)
class Compressed:
    """What became of the traces of one task."""

    task: Task
    state: ExperienceState
    why: str | None = None
    # None where nobody has compressed them.
    learned: Learned | None = None
    # The memory that has it.
    memory: str | None = None
    # What a model took for it.
    usage: Usage = field(default_factory=Usage)
    # In a dry run: the tokens that asking a model takes, estimated.
    tokens: int = 0


@dataclass(frozen=True)
class Compression:
    """What became of the traces of a file. Those that were compressed before are not among it."""

    tasks: tuple[Compressed, ...]
    # Ids of memories that say they keep a trace, and do not.
    unreadable: tuple[str, ...]
    run_id: str | None = None
    interrupted: bool = False
    # Why the file could no longer be written, after something was.
    broken_off: StoreError | None = None

    @property
    def usage(self) -> Usage:
        """What a model took for all of it."""
        return sum((task.usage for task in self.tasks), start=Usage())

    @property
    def verdict(self) -> Verdict:
        """Return in a word how it ended."""
        if self.interrupted:
            return "interrupted"
        if self.broken_off is not None:
            return "partial"
        if not any(task.state in ("failed", "skipped") for task in self.tasks):
            return "done"
        return "failed" if self.run_id is None else "partial"


def judged(tried: Compressed, min_ratio: float) -> Compressed:
    """Discard what says of no decision how it went, or is hardly shorter than the traces."""
    learned = tried.learned
    if tried.state != "planned" or learned is None:
        return tried
    if not learned.has_decisions:
        why = "; ".join(learned.turned_down) or "no trace contains the outcome of a decision"
        return replace(tried, state="discarded", why=why)
    if learned.ratio < min_ratio:
        why = f"it would be only {learned.ratio:g} times shorter, and the minimum is {min_ratio:g}"
        return replace(tried, state="discarded", why=why)
    return tried


def tasks_of(attempts: Sequence[Attempt], tenant: str) -> list[Task]:
    """Return the attempts of a tenant task by task, by name."""
    by_name: dict[str, list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda item: (item.memory.observed_at, item.memory.id)):
        by_name.setdefault(attempt.trace.name, []).append(attempt)
    return [Task(tenant, name, tuple(rest)) for name, rest in sorted(by_name.items())]


def compress(task: Task) -> Learned:
    """Return what was learned, in the traces' own words.

    A step counts with its own outcome, or else, where no step of its trace has one, the feedback
    with that of the trace. What was said in more traces comes first, of equals what failed.
    """
    outcomes = [
        (outcome, beginning, attempt.memory.id)
        for attempt in task.attempts
        for outcome, text in (*_outcomes(attempt.trace), (None, attempt.trace.prompt))
        if (beginning := _beginning_of(text)) is not None
    ]
    lessons = _united(outcomes)
    # Contexts stay in their order.
    lessons.sort(key=lambda at: (-len(at.claim.sources) * bool(at.outcome), at.outcome != "failed"))
    return Learned(task, first_of(lessons), facts_of(task))


def first_of(lessons: Sequence[Lesson]) -> tuple[Lesson, ...]:
    """Return as many decisions and contexts as a memory has."""
    decisions = [lesson for lesson in lessons if lesson.outcome is not None]
    contexts = [lesson for lesson in lessons if lesson.outcome is None]
    return (*decisions[:MAX_DECISIONS], *contexts[:MAX_CONTEXTS])


def _outcomes(trace: TaskTrace) -> list[tuple[Worked, str]]:
    known = [(step.outcome, step.text) for step in trace.steps if step.outcome is not None]
    if not known and trace.outcome is not None and trace.feedback:
        return [(trace.outcome, trace.feedback)]
    return known


def _beginning_of(text: str) -> str | None:
    """Return the beginning of a text in whole sentences; None if it is not prose."""
    # A longer text is not read beyond what could be kept.
    beginning = text[: 4 * MAX_KEPT]
    if not _is_prose(beginning):
        return None
    line = " ".join(beginning.split())
    if len(line) <= MAX_KEPT:
        return line
    fitting = ""
    for sentence in read(line).sentences:
        longer = f"{fitting} {sentence}".strip()
        if len(longer) > MAX_KEPT or longer not in line:
            break
        fitting = longer
    return fitting or None


def _is_prose(text: str) -> bool:
    """Whether a text consists of sentences: not what is meant to the letter, nor what commands."""
    return not density_of(text).is_dense and not commands(text)


def _united(found: Sequence[tuple[Worked | None, str, str]]) -> list[Lesson]:
    """Return what was said, the same once, with all who say it. The first wording stays."""
    united: dict[tuple[Worked | None, str], tuple[str, dict[str, None]]] = {}
    for outcome, text, memory_id in found:
        united.setdefault((outcome, normal_form(text)), (text, {}))[1][memory_id] = None
    return [Lesson(key[0], Claim(text, tuple(ids))) for key, (text, ids) in united.items()]


def facts_of(task: Task) -> tuple[str, ...]:
    """Return the key facts of those texts that are meant to the letter, word for word."""
    found: list[str] = []
    for attempt in task.attempts:
        for _, text in attempt.trace.parts():
            if density_of(text).is_dense and not commands(text):
                found += [fact for fact in key_facts(text) if fact not in found]
    return tuple(found[:MAX_KEY_FACTS])


def told_to_a_model(trace: TaskTrace) -> str:
    """Return what a model may be shown of a trace: what consists of sentences."""
    return "\n".join(f"{what}: {text}" for what, text in trace.parts() if _is_prose(text))
