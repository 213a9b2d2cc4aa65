"""The writer for an agent that is the model: it makes no calls, and uses the agent's answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slowwave.consolidation.proposals import AskedWindow, Result, Usage
from slowwave.consolidation.writing.writer import AGENT, AnswerStore, Job, Writer
from slowwave.store.conversations.messages import replace_half_pairs

from .interface import Models
from .question import Dialogue, Made, Question, Reply, resume
from .window_dialogue import WindowDialogue

# Writes and checks.
AGENTS = Models(AGENT, AGENT)
_OPEN = "a question has no answer yet"


class AgentWriter(Writer):
    """Answers questions about windows as possible, and collects the open ones.

    All windows of a plan or none are consolidated: a window with an open question leaves the others
    pending, too, so that they are not marked as asked.
    """

    name = AGENT
    model = AGENT
    checker = AGENT
    models = AGENTS
    key = AGENTS.key

    def __init__(self, texts_by_id: Mapping[str, str] | None = None) -> None:
        """texts_by_id: answers by the ids of their questions; kept answers take precedence."""
        self._given = texts_by_id or {}
        # The questions without an answer, each once.
        self.open: list[Question[Any]] = []
        # Given answers that open questions have taken, and why others were unreadable, by id.
        self.used: dict[str, tuple[Question[Any], str]] = {}
        self.faults: dict[str, str] = {}

    def write(
        self, jobs: Sequence[Job], answers: AnswerStore
    ) -> Iterator[Sequence[Result | AskedWindow]]:
        """Yield the results of all windows, or each window as pending."""
        dialogues = (WindowDialogue(job, AGENTS).run() for job in jobs)
        results: list[Sequence[Result | AskedWindow]] = list(self.run_dialogues(dialogues, answers))
        if self.open:
            results = [[AskedWindow(job.window, "pending", _OPEN) for job in jobs]]
        yield from results

    def run_dialogues(
        self, dialogues: Iterator[Dialogue[Made]], answers: AnswerStore
    ) -> Iterator[Sequence[Made]]:
        """Yield the results of all dialogues, or nothing if a question is open."""
        outcomes = [self._answered(dialogue, answers) for dialogue in dialogues]
        if not self.open:
            yield from filter(None, outcomes)

    def _answered(self, dialogue: Dialogue[Made], answers: AnswerStore) -> list[Made] | None:
        """Return the results of a dialogue; None if a question is open."""
        new_results: list[Made]
        results, question = resume(dialogue)
        while question is not None:
            text = self._answer(question, answers)
            if text is None:
                if question.id not in {asked.id for asked in self.open}:
                    self.open.append(question)
                return None
            new_results, question = resume(dialogue, Reply(text, Usage(cached=1)))
            results += new_results
        return results

    def _answer(self, question: Question[Any], answers: AnswerStore) -> str | None:
        kept_answer = answers.find(question.id)
        if kept_answer is not None and question.is_answered_by(kept_answer.answer):
            return kept_answer.answer
        if question.id not in self._given:
            return None
        text = answers.masked(replace_half_pairs(self._given[question.id]), question.messages)
        fault = question.fault_of(text)
        if fault is not None:
            self.faults[question.id] = fault
            return None
        self.used[question.id] = question, text
        return text
