"""Rounds of questions and answers on a file, in which an agent is the model of a night."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from slowwave.cli.arguments.night_options import AskedOptions
from slowwave.cli.arguments.settings import source_of
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import Output
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.views.outcome import NightReport
from slowwave.cli.views.questions import given_as_json, given_as_text
from slowwave.cli.views.wiki import ChangeOutput
from slowwave.consolidation.vectors.embedder import CachingEmbedder, SentenceEmbedder
from slowwave.consolidation.writing.writer import AGENT
from slowwave.store.places import Place

from .gates import Gates
from .maintain_files import finish_night, note_place, write_back

if TYPE_CHECKING:
    from slowwave.consolidation.agent.rounds import AgentRound, GivenAnswers, OpenQuestions


@dataclass(frozen=True)
class Round:
    """The outcome of a round: its exit code, and the fields of its JSON."""

    answers: GivenAnswers
    code: int
    json_fields: dict[str, Any]


class Rounds:
    """Rounds on one place; nothing stays open between two of them."""

    def __init__(self, place: Place, asked: AskedOptions, output: Output) -> None:
        """Take the place. Raises `typer.BadParameter`."""
        self._place = place
        self._embedder = CachingEmbedder(SentenceEmbedder(asked.embedder))
        self._output = output
        place.set_embedder(self._embedder.name, self._embedder.encode)
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
        """Keep answers; once no question is open, run the night, write it back and show it."""
        place, budget = self._place, self._place.budget()
        code, night = int(Code.DONE), None
        with place.changing() as memory_file:
            with self._round(memory_file) as agent_round:
                result = agent_round.give(answers)
            if result.outcome is None:
                place.write_back()
            else:
                from slowwave.consolidation.model.agent_writer import AgentWriter

                self._output.show(*given_as_text(result))
                outcome, after = write_back(place, memory_file, result.outcome, self._options)
                report = NightReport(outcome, place, AgentWriter(), memory_file, (budget, after))
                code, night = finish_night(report, self._output)
        if result.unusable and code == Code.DONE:
            code = Code.PARTLY
        return Round(result, code, given_as_json(result) | {"night": night})

    @contextmanager
    def _round(self, memory_file: Path) -> Iterator[AgentRound]:
        from slowwave.consolidation.agent.rounds import AgentRound

        signals, now = signals_of_this_command(), datetime.now(UTC)
        signals.open()
        with shown_progress(self._output.quiet) as progress:
            yield AgentRound(memory_file, self._options, self._embedder, now, progress, signals)


def refuse_or_end(
    context: typer.Context, place: Place, enabled: bool, output: ChangeOutput
) -> None:
    """Refuse what cannot be written, and end the command if the kill switch is set."""
    output.refuse_changes(place)
    closed = Gates(None if enabled else source_of(context, "enabled")).switch()
    if closed is not None:
        command = str(context.info_name)
        output.result(command, file=str(place.named), gate=closed.as_json())
        output.show(closed.as_text(place.named))
        raise typer.Exit(Code.DONE)
