"""Questions and answers in rounds, for an agent that is the model of a night.

The file keeps the answers, so a round can end at any time, and the next one goes on. Nothing is
applied before every question is answered; then one night applies it all, as it would with a model
that gave the same answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from slowwave.consolidation.cycle import run_cycle
from slowwave.consolidation.model.agent_writer import AgentWriter
from slowwave.consolidation.model.question import Question
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.runtime.interruption import InterruptedEarly, Interruption
from slowwave.consolidation.vectors.embedder import CachingEmbedder, Embedder
from slowwave.consolidation.writing.writer import AGENT
from slowwave.store.backup import copied_to_try
from slowwave.store.check import refuse_damaged
from slowwave.store.errors import FileHeld
from slowwave.store.file import (
    maintenance_lock,
    migrate_file,
    needs_migration,
    open_any_version,
    open_writing,
)
from slowwave.store.model_answers import Answer, read_answer, write_answers
from slowwave.store.records import timestamp

_ARE_KEPT = "The answers are kept, and the next round uses them."


@dataclass(frozen=True)
class OpenQuestions:
    """What an agent is asked now: at most one question of each window."""

    questions: tuple[Question[Any], ...] = ()
    # The number of windows that a night is about, and of those without an open question.
    windows: int = 0
    answered: int = 0

    @property
    def tokens(self) -> int:
        """The estimated tokens of the questions and their answers."""
        return sum(question.tokens for question in self.questions)


@dataclass(frozen=True)
class GivenAnswers:
    """What became of answers, by the ids of their questions, and what is asked next."""

    # Kept in the file now.
    kept: tuple[str, ...]
    # Answered before: the first answer counts.
    known: tuple[str, ...]
    # Of questions that are no longer asked.
    stale: tuple[str, ...]
    # Why an answer is not readable; its question is asked again.
    faults: Mapping[str, str]
    left: OpenQuestions
    # Of the night; None as long as a question is open.
    outcome: Outcome | None = None

    @property
    def questions(self) -> tuple[Question[Any], ...]:
        """The questions that are open now."""
        return self.left.questions

    @property
    def unusable(self) -> int:
        """The number of answers that could not be used."""
        return len(self.stale) + len(self.faults)


def migrate(path: Path) -> None:
    """Migrate an older schema before a round, which begins by reading. Raises `StoreError`."""
    if needs_migration(path):
        with maintenance_lock(path):
            with open_any_version(path) as file:
                refuse_damaged(file)
            migrate_file(path)


def open_questions(
    path: Path,
    options: CycleOptions,
    embedder: Embedder,
    now: datetime,
    progress: Progress | None = None,
    interruption: Interruption | None = None,
) -> OpenQuestions:
    """Return what a night would ask an agent now; the file is only read.

    Raises what a dry run of `run_cycle` raises.
    """
    return _Round(path, options, embedder, now, progress, interruption).look({}).left


def give_answers(
    path: Path,
    options: CycleOptions,
    embedder: Embedder,
    answers: Mapping[str, str],
    now: datetime,
    progress: Progress | None = None,
    interruption: Interruption | None = None,
) -> GivenAnswers:
    """Keep answers of an agent, and run the night once no question is open.

    answers: texts by the ids of questions, in any order; {} only runs what is answered. If all that
    is given is stale or unreadable, nothing is changed. Raises what `run_cycle` raises, and
    `FileHeld` if another run has locked the file; the answers are kept even then.
    """
    return _Round(path, options, embedder, now, progress, interruption).give(answers)


@dataclass(frozen=True)
class _Look:
    """What is open, and what given answers are good for."""

    left: OpenQuestions
    # Answers to questions that are open in the file, and why others are unreadable.
    used: Mapping[str, tuple[Question[Any], str]]
    faults: Mapping[str, str]


class _Round:
    """One round on one file."""

    def __init__(
        self,
        path: Path,
        options: CycleOptions,
        embedder: Embedder,
        now: datetime,
        progress: Progress | None,
        interruption: Interruption | None,
    ) -> None:
        self._path = path
        self._options = replace(options, consolidate=True, ask=False)
        # Each look needs the vectors that the file lacks.
        is_caching = isinstance(embedder, CachingEmbedder)
        self._embedder = embedder if is_caching else CachingEmbedder(embedder)
        self._now = now
        self._progress = progress
        self._interruption = interruption or Interruption()

    def give(self, answers: Mapping[str, str]) -> GivenAnswers:
        """Keep answers, and run the night once no question is open."""
        migrate(self._path)
        look = self.look(answers)
        kept: set[str] = set()
        while look.used:
            # Another agent may have answered meanwhile; then it is looked at again.
            if self._keep(look.used):
                kept |= look.used.keys()
                break
            look = self.look(answers)
        known = self._known(answers.keys() - kept - look.faults.keys())
        stale = answers.keys() - kept - known - look.faults.keys()
        outcome, left = None, look.left
        if not left.questions and (kept or known or not answers):
            outcome = self._night()
            if not outcome.interrupted:
                left = self.look({}).left
        kept_ids, known_ids, stale_ids = (
            tuple(each for each in answers if each in group) for group in (kept, known, stale)
        )
        return GivenAnswers(kept_ids, known_ids, stale_ids, look.faults, left, outcome)

    def look(self, answers: Mapping[str, str]) -> _Look:
        """Find the open questions in a dry run, and what answers are good for."""
        writer = AgentWriter(answers)
        outcome = self._run(self._path, writer, dry_run=True)
        windows = len(outcome.asked)
        answered = windows - len(writer.open)
        by_tenant = Counter(asked.window.tenant for asked in outcome.asked)
        if not writer.open and max(by_tenant.values(), default=0) > 1:
            # What lies near across two windows is asked in the same night, after both.
            self._rehearse(writer)
            windows += len(writer.open)
        left = OpenQuestions(tuple(writer.open), windows, answered)
        return _Look(left, writer.used, writer.faults)

    def _rehearse(self, writer: AgentWriter) -> None:
        """Run the night on a copy, to find the questions of its second plan."""
        with copied_to_try(self._path) as copy:
            self._interruption.open()
            outcome = self._run(copy, writer, dry_run=False)
            self._interruption.open()
            if outcome.interrupted:
                raise InterruptedEarly(kept=False)

    def _night(self) -> Outcome:
        self._interruption.open()
        try:
            return self._run(self._path, AgentWriter(), dry_run=False)
        except FileHeld as error:
            raise FileHeld(error.message, _ARE_KEPT) from error
        finally:
            self._interruption.close()

    def _run(self, path: Path, writer: AgentWriter, dry_run: bool) -> Outcome:
        options = replace(self._options, ask=dry_run)
        if path != self._path:
            options = replace(options, keep_backups=None)
        return run_cycle(
            path,
            options,
            self._embedder,
            writer,
            self._now,
            dry_run,
            self._progress,
            self._interruption,
        )

    def _keep(self, used: Mapping[str, tuple[Question[Any], str]]) -> bool:
        """Keep all answers, or none if another agent has answered one of the questions."""
        rows = [(key, AGENT, Answer(text, 0, 0, 0.0)) for key, (_, text) in used.items()]
        with open_writing(self._path) as file:
            refuse_damaged(file)
            with file.transaction():
                for key, (question, _) in used.items():
                    kept = read_answer(file, key)
                    if kept is not None and question.is_answered_by(kept.answer):
                        return False
                write_answers(file, rows, timestamp(self._now))
        return True

    def _known(self, ids: set[str]) -> set[str]:
        """Return the questions that the file has an answer to."""
        with open_any_version(self._path) as file:
            return {key for key in ids if read_answer(file, key) is not None}
