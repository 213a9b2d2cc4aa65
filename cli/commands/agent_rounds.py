"""slowwave questions, answer and dream: an agent is the model of a night."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowwave.cli.arguments.night_options import AskedOptions, WikiOption
from slowwave.cli.arguments.options import EnabledOption, OutputOptions, SkipInvalidOption
from slowwave.cli.arguments.settings import source_of
from slowwave.cli.nights.gates import Gates
from slowwave.cli.nights.maintain_files import finish_night, note_place, write_back
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import FORMAT, Output, harmless_json, writing_to_stdout
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.views.asked import queued_parts_as_text
from slowwave.cli.views.outcome import NightReport
from slowwave.cli.views.questions import (
    given_as_json,
    given_as_text,
    left_as_text,
    open_question_as_json,
    open_questions_as_json,
)
from slowwave.cli.views.wiki import refuse_unwritable_wiki, update_wiki
from slowwave.consolidation.vectors.embedder import CachingEmbedder, SentenceEmbedder
from slowwave.consolidation.writing.writer import AGENT
from slowwave.store.errors import InvalidLine
from slowwave.store.places import Place

from .import_ import reading

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


def questions(
    place: Place,
    *,
    asked: AskedOptions,
    output: OutputOptions,
) -> None:
    """Print the questions a run would ask now, as JSON Lines.

    An agent answers them with 'slowwave answer'. 'messages' is the prompt, 'schema' the answer
    format. A question with a 'note' checks an earlier answer: answer it in a fresh context.
    """
    open_questions = Rounds(place, asked, output).questions()
    output.result("questions", file=str(place.named), **open_questions_as_json(open_questions))
    if output.json:
        return
    for question in open_questions.questions:
        _print_line(open_question_as_json(question))
    output.note(left_as_text(open_questions))


def answer(
    context: typer.Context,
    place: Place,
    answers: Annotated[
        Path | None,
        typer.Argument(
            metavar="ANSWERS.jsonl|-",
            help="Answers, one JSON object per line; - for stdin. Default: use the answers stored "
            "so far.",
            readable=False,
        ),
    ] = None,
    *,
    asked: AskedOptions,
    skip_invalid: SkipInvalidOption = False,
    wiki: WikiOption = None,
    enabled: EnabledOption = True,
    output: OutputOptions,
) -> None:
    """Store answers to 'slowwave questions', and consolidate once every question is answered.

    A line is {"id": ..., "answer": ...}: the id of the question, and the answer as an object or as
    text. The format of each is checked immediately; the order does not matter. Nothing is applied
    before all questions are answered, and then only what passes the checks. The run can be undone
    like any other.
    """
    _refuse_or_end(context, place, enabled, wiki, output)
    answers_by_id: dict[str, str] = {}
    invalid: list[tuple[int, str]] = []
    if answers is not None:
        with reading(answers, "Nothing was stored.") as lines:
            answers_by_id, invalid = _read_answer_lines(lines, skip_invalid)
    if invalid and not answers_by_id:
        raise typer.BadParameter("No line of the answers is valid. Nothing was stored.")
    finished = Rounds(place, asked, output).answer(answers_by_id)
    for number, reason in invalid:
        output.note(f"Skipped line {number}: {reason}.")
    skipped = [{"line": number, "reason": reason} for number, reason in invalid]
    is_open = finished.answers.outcome is None
    if is_open:
        output.show(*given_as_text(finished.answers))
    fields = finished.json_fields | {"skipped": skipped}
    pages = {} if is_open else update_wiki(wiki, place, output)
    output.result("answer", file=str(place.named), **fields, **pages)
    raise typer.Exit(finished.code or (Code.PARTLY if invalid else Code.DONE))


def dream(
    context: typer.Context,
    place: Place,
    *,
    asked: AskedOptions,
    wiki: WikiOption = None,
    enabled: EnabledOption = True,
    output: OutputOptions,
) -> None:
    """Be the model yourself: print a question, read its answer from stdin, until the run is done.

    A question is a JSON line; the answer is one line, too: the requested object, or
    {"id": ..., "answer": ...}. If an answer cannot be parsed, its question is asked again with the
    error. Each answer is stored at once: if input ends early, the next call resumes. With --json,
    the last line is the outcome. In a harness, 'slowwave questions' and 'slowwave answer' do the
    same in two steps.
    """
    _refuse_or_end(context, place, enabled, wiki, output)
    rounds = Rounds(place, asked, output)
    open_questions, code = rounds.questions(), int(Code.DONE)
    is_open, faults = bool(open_questions.questions), ""
    for finished in _rounds(rounds, open_questions, output) if is_open else [rounds.answer({})]:
        open_questions = finished.answers.left
        faults = "".join(
            f" The last answer was not used: {why}." for why in finished.answers.faults.values()
        )
        if finished.answers.outcome is not None:
            code = finished.code
            fields = finished.json_fields | update_wiki(wiki, place, output)
            if output.json:
                of_file = {"format": FORMAT, "command": "dream", "file": str(place.named)}
                _print_line(of_file | fields)
        elif finished.answers.read is not None:
            for paragraph in queued_parts_as_text(finished.answers.read):
                output.note(*paragraph.split("\n"))
    if open_questions.questions:
        message = f"The input ended before all questions were answered.{faults}"
        output.error(message, left_as_text(open_questions), code := Code.PARTLY)
    raise typer.Exit(code)


def _rounds(rounds: Rounds, open_questions: OpenQuestions, output: Output) -> Iterator[Round]:
    """Ask the open questions one at a time, and yield each round, until the input ends."""
    faults: Mapping[str, str] = {}
    while open_questions.questions:
        question = open_questions.questions[0]
        fault = faults.get(question.id)
        _print_line(open_question_as_json(question) | ({"fault": fault} if fault else {}))
        # A run that has ended does not raise at a signal; a command that waits does.
        signals_of_this_command().open()
        line = next((line for line in sys.stdin.buffer if line.strip()), None)
        if line is None:
            return
        try:
            key, text = _parse_answer_line(line)
        except UnicodeError:
            faults = {question.id: "the answer is not UTF-8"}
            continue
        except ValueError:  # it answers what was asked
            key, text = question.id, line.decode()
        finished = rounds.answer({key: text})
        for stale in finished.answers.stale:
            output.note(f"Question {stale} is no longer open; its answer was ignored.")
        open_questions, faults = finished.answers.left, finished.answers.faults
        yield finished


def _print_line(value: Mapping[str, Any]) -> None:
    """Print an object as a line of JSON."""
    with writing_to_stdout():
        sys.stdout.write(f"{harmless_json(json.dumps(value, ensure_ascii=False))}\n")


def _read_answer_lines(
    lines: Iterable[bytes], skip_invalid: bool
) -> tuple[dict[str, str], list[tuple[int, str]]]:
    """Return answers by the ids of their questions, and (number, why) of invalid lines.

    Of two answers to a question, the last counts: it may be a repair. Raises `InvalidLine` at the
    first invalid line, unless `skip_invalid`.
    """
    answers: dict[str, str] = {}
    invalid: list[tuple[int, str]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            key, text = _parse_answer_line(line)
        except ValueError as error:
            why = "it is not UTF-8" if isinstance(error, UnicodeError) else str(error)
            if not skip_invalid:
                raise InvalidLine(
                    f"Line {number} is not an answer: {why}. Nothing was stored.",
                    "Correct the line, or pass --skip-invalid to keep the others.",
                ) from error
            invalid.append((number, why))
        else:
            answers[key] = text
    return answers, invalid


def _parse_answer_line(line: bytes) -> tuple[str, str]:
    """Return the id of a question and the text of its answer. Raises `ValueError`.

    That is a `UnicodeError` if the line is not UTF-8.
    """
    from slowwave.consolidation.agent.rounds import AgentAnswer

    text = line.decode("utf-8-sig")
    try:
        answer = AgentAnswer.model_validate(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise ValueError(
            'it is not a JSON object with an "id" and an "answer" (an object, or its JSON text)'
        ) from error
    return answer.id, answer.text


def _refuse_or_end(
    context: typer.Context, place: Place, enabled: bool, wiki: Path | None, output: Output
) -> None:
    """Refuse what cannot be written, and end the command if the kill switch is set."""
    place.refuse_changes()
    refuse_unwritable_wiki(wiki, place.named)
    closed = Gates(None if enabled else source_of(context, "enabled")).switch()
    if closed is not None:
        command = str(context.info_name)
        output.result(command, file=str(place.named), gate=closed.as_json())
        output.show(closed.as_text(place.named))
        raise typer.Exit(Code.DONE)
