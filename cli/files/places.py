"""FILE on the command line, resolved to the place that it is before a command runs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from slowwave.store.places import place_kinds, place_of
from slowwave.store.validate import is_foreign_file

FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Of which format FILE is, if it is another agent's: see 'slowwave formats'.",
    ),
]
StateOption = Annotated[
    Path | None,
    typer.Option(
        "--state",
        metavar="PATH",
        help="Where the mirror of another agent's file lies; by default beside it.",
    ),
]


def on_place(command: Callable[..., None]) -> Callable[..., None]:
    """Provide a command that has a `file` with its `place`, or one that has `files` with `places`.

    Users get --format and --state before its --config. Places are found before the command runs.
    """
    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.name == "config":
            for name, option in (("format", FormatOption), ("state", StateOption)):
                parameters.append(parameter.replace(name=name, annotation=option))
        if parameter.name not in ("place", "places"):
            parameters.append(parameter)

    @functools.wraps(command)
    def wrapped(*, format: str | None, state: Path | None, **values: Any) -> None:
        if "files" in values:
            files: list[Path] = values["files"] or []
            values["places"] = [place_of(file, format, state) for file in files]
        else:
            values["place"] = place_of(values["file"], format, state)
        command(**values)

    # What Typer reads to make the options.
    wrapped.__dict__["__signature__"] = signature.replace(parameters=parameters)
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped


def refuse_foreign(file: Path) -> None:
    """Refuse another agent's file where only one of slowwave's own makes sense."""
    if is_foreign_file(file):
        for kind in place_kinds():
            kind.refuse_to_add(file)
