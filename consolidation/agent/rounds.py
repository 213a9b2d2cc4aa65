"""Questions and answers in rounds, for an agent that is the model of a night.

The file keeps the answers, so a round can end at any time, and the next one continues. Nothing is
applied before every question is answered; then one night applies it all, as it would with a model
that gave the same answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from slowwave.consolidation.cycle import run_cycle
from slowwave.consolidation.ingest.read_queued_parts import (
    ask_about_queued_parts,
    read_queued_parts,
)
from slowwave.consolidation.model.agent_writer import AgentWriter
from slowwave.consolidation.model.question import Question
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.running.outcome import Outcome, QueuedPartsResult
from slowwave.consolidation.running.run_in_file import NightInputs, Preflight
from slowwave.consolidation.runtime.interruption import InterruptedEarly, Interruption
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import AGENT
from slowwave.store.backup import copied_to_try
from slowwave.store.check import refuse_damaged
from slowwave.store.errors import FileHeld
from slowwave.store.file import open_any_version, open_writing
from slowwave.store.lock import maintenance_lock
from slowwave.store.model_answers import Answer, read_answer, write_answers
from slowwave.store.prefixes import MIN_PREFIX
from slowwave.store.records import json_text, timestamp

_ARE_KEPT = "The answers are kept, and the next round uses them."


class AgentAnswer(BaseModel):
    """An answer of an agent, and the id of its question."""

    id: str
    answer: dict[str, Any] | str = Field(description="The JSON object, or its text.")

    @property
    def text(self) -> str:
        """The answer as a text."""
        return self.answer if isinstance(self.answer, str) else json_text(self.answer)


@dataclass(frozen=True)
class OpenQuestions:
    """What an agent is asked now: at most one question of each window.

    Before windows, it is asked about queued parts of conversations.
    """

    questions: tuple[Question[Any], ...] = ()
    # The number of windows of the night, and of those without an open question; while parts of
    # conversations are queued, of these parts.
    windows: int = 0
    answered: int = 0
    about_conversations: bool = False

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
    # Unknown ids, and those of questions that are no longer open.
    stale: tuple[str, ...]
    # Why an answer is not readable; its question is asked again.
    faults: Mapping[str, str]
    left: OpenQuestions
    # The outcome of the night; None while a question is open.
    outcome: Outcome | None = None
    # What became of the conversations that these answers complete; None if there are none.
    read: QueuedPartsResult | None = None

    @property
    def questions(self) -> tuple[Question[Any], ...]:
        """The questions that are open now."""
        return self.left.questions

    @property
    def unusable(self) -> int:
        """The number of answers that could not be used."""
        return len(self.stale) + len(self.faults)


@dataclass(frozen=True)
class AgentRound:
    """One round on one file. Its methods raise what `run_cycle` raises."""

    path: Path
    options: CycleOptions
    # A `CachingEmbedder`, since each look needs the vectors that the file lacks.
    embedder: Embedder
    now: datetime
    progress: Progress | None = None
    interruption: Interruption = field(default_factory=Interruption)

    def questions(self) -> OpenQuestions:
        """Return what a night would ask an agent now; the file is only read."""
        return self._look({})[0]

    def give(self, answers: Mapping[str, str]) -> GivenAnswers:
        """Keep answers of an agent, and run the night once no question is open.

        Queued conversations are read in runs of their own, before memories are asked about.
        answers: texts by the ids of questions, or unique prefixes of these, in any order; {} only
        runs what is answered. If all answers are stale or unreadable, nothing is changed.
        Raises `FileHeld` if another run has locked the file; the answers are kept even then.
        """
        open_questions, writer = self._look(answers)
        by_whole_id = _with_whole_ids(answers, open_questions.questions)
        if by_whole_id != answers:
            answers = by_whole_id
            open_questions, writer = self._look(answers)
        kept = self._keep(writer.used)
        if len(kept) < len(writer.used):  # another agent answered meanwhile
            open_questions = self.questions()
        unused = [key for key in answers if key not in kept and key not in writer.faults]
        with open_any_version(self.path) as file:
            answered = [key for key in unused if read_answer(file, key) is not None]
        stale = [key for key in unused if key not in answered]
        outcome, reading = None, None
        is_complete = not open_questions.questions and bool(kept or answered or not answers)
        if is_complete and open_questions.about_conversations:
            with self._locking(), maintenance_lock(self.path):
                preflight = Preflight(self.path, self.options.keep_backups, self.now)
                reading = read_queued_parts(self._inputs(AgentWriter()), preflight)
            open_questions = self.questions()
            is_complete = not open_questions.questions and not reading.interrupted
        if is_complete:
            with self._locking():
                outcome = self._run(AgentWriter(), dry_run=False)
            if not outcome.interrupted:
                open_questions = self.questions()
        return GivenAnswers(
            kept=tuple(key for key in answers if key in kept),
            known=tuple(answered),
            stale=tuple(stale),
            faults=writer.faults,
            left=open_questions,
            outcome=outcome,
            read=reading,
        )

    def _look(self, answers: Mapping[str, str]) -> tuple[OpenQuestions, AgentWriter]:
        """Find the open questions in a dry run; the writer has what answers are good for."""
        writer = AgentWriter(answers)
        parts = ask_about_queued_parts(self._inputs(writer))
        if parts:
            opened = tuple(writer.open)
            return OpenQuestions(opened, parts, parts - len(opened), True), writer
        outcome = self._run(writer, dry_run=True)
        windows = len(outcome.asked)
        answered = windows - len(writer.open)
        by_tenant = Counter(asked.window.tenant for asked in outcome.asked)
        if not writer.open and max(by_tenant.values(), default=0) > 1:
            # What lies near across two windows is asked in the same night, after both.
            self._dry_run(writer)
            windows += len(writer.open)
        return OpenQuestions(tuple(writer.open), windows, answered), writer

    def _dry_run(self, writer: AgentWriter) -> None:
        """Run the night on a copy, to find the questions of its second plan."""
        with copied_to_try(self.path) as copy:
            trial = replace(self, path=copy, options=replace(self.options, keep_backups=None))
            self.interruption.open()
            outcome = trial._run(writer, dry_run=False)
            self.interruption.open()
            if outcome.interrupted:
                raise InterruptedEarly

    def _inputs(self, writer: AgentWriter) -> NightInputs:
        return NightInputs(
            path=self.path,
            options=self.options,
            embedder=self.embedder,
            writer=writer,
            now=self.now,
            progress=self.progress or Progress(),
            interruption=self.interruption,
        )

    @contextmanager
    def _locking(self) -> Iterator[None]:
        """Let a block be interrupted, and report the lock of another run as what it means here."""
        self.interruption.open()
        try:
            yield
        except FileHeld as error:
            raise FileHeld(error.message, _ARE_KEPT) from error
        finally:
            self.interruption.close()

    def _run(self, writer: AgentWriter, dry_run: bool) -> Outcome:
        options = replace(self.options, consolidate=True, ask=dry_run)
        return run_cycle(replace(self._inputs(writer), options=options, dry_run=dry_run))

    def _keep(self, used: Mapping[str, tuple[Question[Any], str]]) -> set[str]:
        """Keep answers to questions that no other agent has answered, and return their ids."""
        if not used:
            return set()
        with open_writing(self.path) as file:
            refuse_damaged(file)
            with file.transaction():
                rows = []
                for key, (question, text) in used.items():
                    earlier_answer = read_answer(file, key)
                    if earlier_answer is None or not question.is_answered_by(earlier_answer.answer):
                        rows.append((key, AGENT, Answer(text, 0, 0, 0.0)))
                write_answers(file, rows, timestamp(self.now))
        return {key for key, *_ in rows}


def _with_whole_ids(
    answers: Mapping[str, str], questions: Sequence[Question[Any]]
) -> dict[str, str]:
    """Return answers whose shortened ids are those of the questions they mean, if unique."""

    def whole(key: str) -> str:
        ids = [question.id for question in questions if question.id.startswith(key)]
        return ids[0] if len(ids) == 1 and len(key) >= MIN_PREFIX else key

    return {whole(key): text for key, text in answers.items()}
