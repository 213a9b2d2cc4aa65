"""Options of every command that may ask a model: which one, and how much of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ModelOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="litellm's name of a model; without it no model is asked."),
]
ApiBaseOption = Annotated[
    str | None, typer.Option(metavar="URL", help="Where the model is served.")
]
AskOption = Annotated[
    bool, typer.Option("--ask", help="With --dry-run: ask the model all the same.")
]
CheckerOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|none",
        help="The model that reads what was written against its sources (default: the same model, "
        "in a call of its own). none: check by program alone.",
    ),
]
ConcurrencyOption = Annotated[
    int, typer.Option(metavar="N", min=1, max=64, help="Model calls at once.")
]
RecordOption = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="Add each prompt with its answer to a file, as a JSON line."),
]
ReplayOption = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Answer from such a file, without network or key; what it does not know goes to "
        "PATH.missing, or with --record to the model.",
    ),
]
MaxCallsOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=0, help="Requests to the model at the most, retries too."),
]
MaxTokensOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=0, help="No call that could take the run above it."),
]
MaxCostOption = Annotated[
    float | None,
    typer.Option(
        metavar="USD", min=0, help="The same in USD; nothing is asked if no price is known."
    ),
]
MaxTimeOption = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS", min=0, help="No call after so many seconds; those under way end."
    ),
]
