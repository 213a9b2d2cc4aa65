"""slowwave answer: store answers of an agent, and run what they complete."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slowwave.cli.arguments.night_options import AskedOptions
from slowwave.cli.arguments.options import (
    EnabledOption,
    FileArgument,
    OutputOptions,
    SkipInvalidOption,
)
from slowwave.cli.arguments.place_options import on_place
from slowwave.cli.nights.answer_lines import read_answer_lines
from slowwave.cli.nights.rounds import Rounds, refuse_or_end
from slowwave.cli.terminal.exits import Code
from slowwave.cli.views.wiki import WikiOption
from slowwave.store.places import Place

from .import_ import reading


@on_place
def answer(
    context: typer.Context,
    file: FileArgument,
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
    refuse_or_end(context, place, wiki, enabled, output)
    given: dict[str, str] = {}
    invalid: list[tuple[int, str]] = []
    if answers is not None:
        with reading(answers, "Nothing was stored.") as lines:
            given, invalid = read_answer_lines(lines, skip_invalid)
    if invalid and not given:
        raise typer.BadParameter("No line of the answers is valid. Nothing was stored.")
    done = Rounds(place, asked, output, wiki).answer(given)
    for number, why in invalid:
        output.note(f"Skipped line {number}: {why}.")
    skipped = [{"line": number, "reason": why} for number, why in invalid]
    output.result("answer", file=str(file), **done.found, skipped=skipped)
    output.show(*done.shown)
    raise typer.Exit(done.code or (Code.PARTLY if invalid else Code.DONE))
