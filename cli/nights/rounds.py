"""Rounds of questions and answers on a file, in which an agent is the model of a night."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from slowwave.cli.arguments.night_options import AskedOptions
from slowwave.cli.arguments.settings import source_of
from slowwave.cli.terminal.exits import OF_VERDICT, Code, report_after
from slowwave.cli.terminal.output import Output
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.views.outcome import NightReport
from slowwave.cli.views.problems import report_night_problems
from slowwave.cli.views.questions import given_as_json, given_as_text
from slowwave.cli.views.wiki import refuse_changes, write_after_change
from slowwave.consolidation.vectors.embedder import CachingEmbedder, SentenceEmbedder
from slowwave.consolidation.writing.writer import AGENT
from slowwave.store.places import Budget, Place

from .gates import Gates
from .maintain_files import note_place, write_back

if TYPE_CHECKING:
    from rich.console import RenderableType

    from slowwave.consolidation.agent.rounds import AgentRound, GivenAnswers, OpenQuestions
    from slowwave.store.errors import StoreError


@dataclass(frozen=True)
class Round:
    """The outcome of a round: its exit code, the fields of its JSON, and text for people."""

    answers: GivenAnswers
    code: int
    json_fields: dict[str, Any]
    paragraphs: tuple[RenderableType, ...]


class Rounds:
    """Rounds on one place; nothing stays open between two of them."""

    def __init__(
        self, place: Place, asked: AskedOptions, output: Output, wiki: Path | None = None
    ) -> None:
        """wiki: updated after a night. Raises `typer.BadParameter`."""
        self._place = place
        self._embedder = CachingEmbedder(SentenceEmbedder(asked.embedder))
        self._output = output
        self._wiki = wiki
        place.lend(self._embedder.name, self._embedder.encode)
        self._options = note_place(place, asked.cycle_options(AGENT), output)

    def migrate(self) -> None:
        """Migrate an older schema, which `questions` would refuse; mirrors are migrated anyway."""
        from slowwave.consolidation.agent.rounds import migrate

        if self._place.is_memory_file:
            with self._place.changing() as memory_file:
                migrate(memory_file)

    def questions(self) -> OpenQuestions:
        """Return the open questions; the file is only read."""
        with self._place.reading() as memory_file, self._round(memory_file) as agent_round:
            return agent_round.questions()

    def answer(self, answers: dict[str, str]) -> Round:
        """Keep answers, run the night once no question is open, and write it back."""
        place, unwritten = self._place, None
        before = after = place.budget()
        with place.changing() as memory_file:
            with self._round(memory_file) as agent_round:
                given_answers = agent_round.give(answers)
            if given_answers.outcome is None:
                place.write_back()
            else:
                outcome, unwritten, after = write_back(
                    place, memory_file, given_answers.outcome, self._options
                )
                given_answers = replace(given_answers, outcome=outcome)
            finished = self._reported(given_answers, memory_file, (before, after), unwritten)
        if given_answers.outcome is None:
            return finished
        pages = write_after_change(self._wiki, place)
        code = pages.report(self._output, finished.code)
        return replace(finished, code=code, json_fields=finished.json_fields | pages.as_json())

    @contextmanager
    def _round(self, memory_file: Path) -> Iterator[AgentRound]:
        from slowwave.consolidation.agent.rounds import AgentRound

        signals, now = signals_of_this_command(), datetime.now(UTC)
        signals.open()
        with shown_progress(self._output.quiet) as progress:
            yield AgentRound(memory_file, self._options, self._embedder, now, progress, signals)

    def _reported(
        self,
        answers: GivenAnswers,
        memory_file: Path,
        budgets: tuple[Budget | None, Budget | None],
        unwritten: StoreError | None,
    ) -> Round:
        from slowwave.consolidation.model.agent_writer import AgentWriter

        outcome, writer = answers.outcome, AgentWriter()
        fields = {**given_as_json(answers), "night": None}
        paragraphs: list[RenderableType] = [*given_as_text(answers)]
        code: int = Code.DONE
        if outcome is not None:
            report = NightReport(
                outcome, self._place, writer, dry_run=False, path=memory_file, budgets=budgets
            )
            fields["night"] = report.as_json()
            paragraphs += report.as_text()
            code = signals_of_this_command().code or OF_VERDICT[outcome.verdict]
            if unwritten is None:
                code = report_night_problems(self._output, code, report)
            else:
                hint = "The next run writes it."
                code = report_after(self._output, unwritten.message, hint, code)
        if answers.unusable and code == Code.DONE:
            code = Code.PARTLY
        return Round(answers, code, fields, tuple(paragraphs))


def refuse_or_end(
    context: typer.Context, place: Place, wiki: Path | None, enabled: bool, output: Output
) -> None:
    """Refuse what cannot be written, and end the command if the kill switch is set."""
    refuse_changes(place, wiki)
    closed = Gates(None if enabled else source_of(context, "enabled")).switch()
    if closed is not None:
        command = str(context.info_name)
        output.result(command, file=str(place.named), gate=closed.as_json())
        output.show(closed.as_text(place.named))
        raise typer.Exit(Code.DONE)
