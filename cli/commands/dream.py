"""slowwave dream: a night whose questions are answered on stdin, one at a time."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from json import dumps
from typing import TYPE_CHECKING, Any

import typer

from slowwave.cli.arguments.options import (
    ConfigOption,
    EnabledOption,
    FileArgument,
    JsonOption,
    QuietOption,
)
from slowwave.cli.arguments.settings import source_of
from slowwave.cli.files.places import on_place
from slowwave.cli.nights.rounds import (
    AskedOptions,
    Round,
    Rounds,
    end_if_switched_off,
    parse_answer_line,
)
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import FORMAT, Output, clean, harmless_json, writing_to_stdout
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.views.questions import left_as_text, open_question_as_json
from slowwave.cli.views.wiki import WikiOption, refuse_unwritable_wiki, write_after_change
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
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Be the model yourself: print a question, read its answer from stdin, until the night is done.

    A question is a JSON line; the answer is one line, too: the object that was asked for, or
    {"id": ..., "answer": ...}. An unreadable answer is asked again, with its fault. Each answer is
    kept at once: after an end of input, the next call goes on. With --json, the last line is the
    outcome. In a harness, 'slowwave questions' and 'slowwave answer' do the same in two steps.
    """
    output = Output(json, quiet)
    place.refuse_changes()
    refuse_unwritable_wiki(wiki, file)
    switch = None if enabled else source_of(context, "enabled")
    end_if_switched_off("dream", place, switch, output)
    rounds = Rounds(place, asked, output, quiet)
    rounds.migrate()
    left, code = rounds.questions(), int(Code.DONE)
    done = None if left.questions else rounds.answer({})
    for ended in _rounds(rounds, left, output) if done is None else [done]:
        left = ended.given.left
        if ended.given.outcome is not None:
            pages = write_after_change(wiki, place)
            code = pages.tell(output, ended.code)
            _print_line(
                {
                    "format": FORMAT,
                    "command": "dream",
                    "file": str(file),
                    **ended.found,
                    **pages.as_json(),
                },
                json,
            )
            output.show(*ended.shown)
    if left.questions:
        output.note(clean(f"The input ended. {left_as_text(left, place.named)}"))
    raise typer.Exit(code)


def _rounds(rounds: Rounds, left: OpenQuestions, output: Output) -> Iterator[Round]:
    """Ask the open questions one at a time, and yield each round, until the input ends."""
    faults: Mapping[str, str] = {}
    while left.questions:
        question = left.questions[0]
        fault = faults.get(question.id)
        _print_line(open_question_as_json(question) | ({"fault": fault} if fault else {}))
        line = _read_line()
        if line is None:
            return
        key, text = _answer_in(line, question.id)
        done = rounds.answer({key: text})
        for stale in done.given.stale:
            output.note(clean(f"No question {stale} is open: its answer is stale."))
        left, faults = done.given.left, done.given.faults
        yield done


def _answer_in(line: bytes, asked: str) -> tuple[str, str]:
    """Return the id of a question and an answer; by default it answers what was asked."""
    try:
        return parse_answer_line(line)
    except ValueError:
        return asked, line.decode(errors="replace")


def _read_line() -> bytes | None:
    """Read the next line that is not blank; None at the end of the input."""
    # A run that has ended does not raise at a signal; a command that waits does.
    signals_of_this_command().open()
    return next((line for line in sys.stdin.buffer if line.strip()), None)


def _print_line(value: Mapping[str, Any], is_wanted: bool = True) -> None:
    if is_wanted:
        with writing_to_stdout():
            line = dumps(value, ensure_ascii=False)
            sys.stdout.write(f"{harmless_json(line)}\n")
