"""slowwave model-check: whether the model works, before a run calls it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from slowwave.cli.arguments.model_options import ModelOptions, models_of
from slowwave.cli.arguments.options import OutputOptions
from slowwave.cli.terminal.exits import Code
from slowwave.cli.views.costs import answer_as_text, price_as_text


def model_check(
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The model to check, as in 'slowwave maintain'. Required, or set SLOWWAVE_MODEL.",
        ),
    ] = None,
    api_base: Annotated[
        str | None, typer.Option(metavar="URL", help="Base URL of the model's server.")
    ] = None,
    checker: Annotated[
        str | None,
        typer.Option(metavar="NAME|none", help="The model that checks. Default: the same model."),
    ] = None,
    *,
    output: OutputOptions,
) -> None:
    """Check that the model works: its key, name and answer format.

    Sends one writing and one checking request about two sample memories, and shows what a full
    window costs.
    """
    if model is None:
        raise typer.BadParameter("Specify the model with --model, or set SLOWWAVE_MODEL.")
    ModelOptions(model, api_base=api_base, checker=checker).refuse_unready()
    from slowwave.consolidation.model.samples import ask_samples

    writer, reader = models_of(model, api_base, checker)
    answers, price = ask_samples(writer, reader)
    failed = next((answer for answer in answers if answer.why is not None), None)
    output.result(
        "model-check",
        model=model,
        checker=None if reader is None else reader.model,
        ready=failed is None,
        why=None if failed is None else failed.why,
        answers=list(map(asdict, answers)),
        window=asdict(price),
    )
    output.show(*map(answer_as_text, answers), *([price_as_text(price)] if failed is None else []))
    if failed is not None:
        why = f"{failed.model} cannot be used to {failed.kind}: {(failed.why or '').rstrip('.')}."
        output.error(why, "", Code.FAILED)
        raise typer.Exit(Code.FAILED)
