"""slowwave dream: a night whose questions are answered on stdin, one at a time."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import typer

from slowwave.cli.arguments.night_options import AskedOptions
from slowwave.cli.arguments.options import EnabledOption, FileArgument, OutputOptions
from slowwave.cli.arguments.place_options import on_place
from slowwave.cli.nights.answer_lines import parse_answer_line, print_line
from slowwave.cli.nights.rounds import Round, Rounds, refuse_or_end
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import FORMAT, Output
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.views.asked import queued_parts_as_text
from slowwave.cli.views.questions import left_as_text, open_question_as_json
from slowwave.cli.views.wiki import WikiOption
from slowwave.store.places import Place

if TYPE_CHECKING:
    from slowwave.consolidation.agent.rounds import OpenQuestions


@on_place
def dream(
    context: typer.Context,
    file: FileArgument,
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
    refuse_or_end(context, place, wiki, enabled, output)
    rounds = Rounds(place, asked, output, wiki)
    rounds.migrate()
    left, code = rounds.questions(), int(Code.DONE)
    for ended in _rounds(rounds, left, output) if left.questions else [rounds.answer({})]:
        left = ended.given.left
        if ended.given.outcome is not None:
            code = ended.code
            if output.json:
                of_file = {"format": FORMAT, "command": "dream", "file": str(file)}
                print_line(of_file | ended.found)
            output.show(*ended.shown)
        elif ended.given.read is not None:
            for paragraph in queued_parts_as_text(ended.given.read, file):
                output.note(*paragraph.split("\n"))
    if left.questions:
        output.note(f"The input ended. {left_as_text(left, place.named)}")
    raise typer.Exit(code)


def _rounds(rounds: Rounds, left: OpenQuestions, output: Output) -> Iterator[Round]:
    """Ask the open questions one at a time, and yield each round, until the input ends."""
    faults: Mapping[str, str] = {}
    while left.questions:
        question = left.questions[0]
        fault = faults.get(question.id)
        print_line(open_question_as_json(question) | ({"fault": fault} if fault else {}))
        # A run that has ended does not raise at a signal; a command that waits does.
        signals_of_this_command().open()
        line = next((line for line in sys.stdin.buffer if line.strip()), None)
        if line is None:
            return
        try:
            key, text = parse_answer_line(line)
        except UnicodeError:
            faults = {question.id: "the answer is not UTF-8"}
            continue
        except ValueError:  # it answers what was asked
            key, text = question.id, line.decode()
        done = rounds.answer({key: text})
        for stale in done.given.stale:
            output.note(f"Question {stale} is no longer open; its answer was ignored.")
        left, faults = done.given.left, done.given.faults
        yield done
