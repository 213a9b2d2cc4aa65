"""slowwave questions, answer and dream: an agent is the model of a night."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowwave.cli.arguments.night_options import AskedOptions
from slowwave.cli.arguments.options import (
    EnabledOption,
    OutputOptions,
    SkipInvalidOption,
)
from slowwave.cli.nights.rounds import Round, Rounds, refuse_or_end
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import FORMAT, Output, harmless_json, writing_to_stdout
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.views.asked import queued_parts_as_text
from slowwave.cli.views.questions import (
    given_as_text,
    left_as_text,
    open_question_as_json,
    open_questions_as_json,
)
from slowwave.cli.views.wiki import ChangeOutput
from slowwave.store.errors import InvalidLine
from slowwave.store.places import Place

from .import_ import reading

if TYPE_CHECKING:
    from slowwave.consolidation.agent.rounds import OpenQuestions


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
    enabled: EnabledOption = True,
    output: ChangeOutput,
) -> None:
    """Store answers to 'slowwave questions', and consolidate once every question is answered.

    A line is {"id": ..., "answer": ...}: the id of the question, and the answer as an object or as
    text. The format of each is checked immediately; the order does not matter. Nothing is applied
    before all questions are answered, and then only what passes the checks. The run can be undone
    like any other.
    """
    refuse_or_end(context, place, enabled, output)
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
    output.report_change("answer", place, is_rehearsed=is_open, **fields)
    raise typer.Exit(finished.code or (Code.PARTLY if invalid else Code.DONE))


def dream(
    context: typer.Context,
    place: Place,
    *,
    asked: AskedOptions,
    enabled: EnabledOption = True,
    output: ChangeOutput,
) -> None:
    """Be the model yourself: print a question, read its answer from stdin, until the run is done.

    A question is a JSON line; the answer is one line, too: the requested object, or
    {"id": ..., "answer": ...}. If an answer cannot be parsed, its question is asked again with the
    error. Each answer is stored at once: if input ends early, the next call resumes. With --json,
    the last line is the outcome. In a harness, 'slowwave questions' and 'slowwave answer' do the
    same in two steps.
    """
    refuse_or_end(context, place, enabled, output)
    rounds = Rounds(place, asked, output)
    rounds.migrate()
    open_questions, code = rounds.questions(), int(Code.DONE)
    is_open = bool(open_questions.questions)
    for finished in _rounds(rounds, open_questions, output) if is_open else [rounds.answer({})]:
        open_questions = finished.answers.left
        if finished.answers.outcome is not None:
            code = finished.code
            fields = finished.json_fields | output.update_wiki(place)
            if output.json:
                of_file = {"format": FORMAT, "command": "dream", "file": str(place.named)}
                _print_line(of_file | fields)
        elif finished.answers.read is not None:
            for paragraph in queued_parts_as_text(finished.answers.read):
                output.note(*paragraph.split("\n"))
    if open_questions.questions:
        output.note(f"The input ended. {left_as_text(open_questions)}")
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
