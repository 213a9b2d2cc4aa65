"""slowwave model-check: whether the model works, before a run calls it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.model_options import openers_of, refuse_unready_models
from slowwave.cli.arguments.options import OutputOptions
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import clean
from slowwave.cli.views.costs import usd_of

if TYPE_CHECKING:
    from slowwave.consolidation.model.writer import SampleAnswer, WindowPrice


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
    if model is None or not model.strip():
        raise typer.BadParameter("Specify the model with --model, or set SLOWWAVE_MODEL.")
    refuse_unready_models(model, api_base, checker)
    from slowwave.consolidation.model.writer import ask_samples

    writer, reader = openers_of(model, api_base, checker)
    answers, price = ask_samples(writer, reader)
    failed = next((each for each in answers if each.why is not None), None)
    output.result(
        {
            "command": "model-check",
            "model": model,
            "checker": None if reader is None else reader.model,
            "ready": failed is None,
            "why": None if failed is None else failed.why,
            "answers": [asdict(each) for each in answers],
            "window": asdict(price),
        }
    )
    output.show(*map(_as_text, answers), *([_price_as_text(price)] if failed is None else []))
    if failed is not None:
        why = f"{failed.model} cannot be used to {failed.kind}: {(failed.why or '').rstrip('.')}."
        output.error(why, "", Code.FAILED)
        raise typer.Exit(Code.FAILED)


def _as_text(answer: SampleAnswer) -> str:
    done = "answered in the requested format" if answer.why is None else "no usable answer"
    used = answer.usage
    tokens = f"{used.prompt_tokens:,} tokens read, {used.completion_tokens:,} written"
    cost = "price unknown" if used.cost_usd is None else usd_of(used.cost_usd)
    return clean(
        f"{answer.kind}: {answer.model}, {done} in {answer.seconds:.1f} s; {tokens}, {cost}."
    )


def _price_as_text(price: WindowPrice) -> str:
    size = f"{price.prompt_tokens:,} tokens read, {price.answer_tokens:,} written"
    if price.cost_usd is None:
        return f"A full window ({size}): price unknown, so max_cost and monthly_budget refuse it."
    from slowwave.consolidation.planning.estimates import FOLLOW_UPS

    more = usd_of(FOLLOW_UPS * price.cost_usd)
    return (
        f"A full window ({size}): {usd_of(price.cost_usd)}, with checks and repairs up to {more}."
    )
