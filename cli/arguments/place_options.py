"""FILE on the command line, resolved to its place before a command runs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from slowwave.cli.arguments.options import setting
from slowwave.store.places import Place, place_kinds, place_of
from slowwave.store.validate import is_foreign_file


def _options(hidden: bool) -> dict[str, Any]:
    """Return --format, --table and --state; hidden options are only in --help-all."""
    format_option = typer.Option(
        "--format",
        metavar="NAME",
        hidden=hidden,
        help="The format of another agent's FILE: see 'slowwave formats'.",
    )
    table_option = typer.Option(
        "--table",
        metavar="TABLE:COLUMN[,...]",
        hidden=hidden,
        help="Treat FILE as your own SQLite database, and read memories from COLUMN of TABLE. "
        "date=, tenant= and deleted= name the columns with the date, the tenant and the deletion "
        "flag.",
    )
    state_option = typer.Option(
        "--state",
        metavar="PATH",
        hidden=hidden,
        help="Where to keep slowwave's own data (lineage, undo) about another agent's FILE. "
        "Default: FILE.slowwave.db next to it.",
    )
    target_option = setting(
        metavar="SIZE",
        help="Maximum size of what the agent loads from FILE per session, such as 17KB; longer "
        "entries are shortened without losing content. Default: no limit.",
    )
    shown_once = {} if hidden else {"target": Annotated[str | None, target_option]}
    return shown_once | {
        "format": Annotated[str | None, format_option],
        "table": Annotated[str | None, table_option],
        "state": Annotated[Path | None, state_option],
    }


def on_place(command: Callable[..., None]) -> Callable[..., None]:
    """Pass a command that takes `file` its `place`, and one that takes `files` their `places`.

    Adds --format, --table and --state before `output`; only `maintain`, which takes `files`, shows
    them in its help, and takes --target.
    """
    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.name == "output":
            for name, option in _options(hidden="files" not in signature.parameters).items():
                parameters.append(parameter.replace(name=name, annotation=option, default=None))
        if parameter.name not in ("place", "places"):
            parameters.append(parameter)

    @functools.wraps(command)
    def wrapped(
        *, format: str | None, table: str | None, state: Path | None, **values: Any
    ) -> None:
        if table is not None:
            if format is not None:
                raise typer.BadParameter("--table specifies the format: omit --format.")
            format = f"table:{table}"
        if "files" in values:
            files: list[Path] = values["files"] or []
            values["places"] = [place_of(file, format, state) for file in files]
            if (target := values.pop("target")) is not None:
                _aim(values["places"], target)
        else:
            values["place"] = place_of(values["file"], format, state)
        command(**values)

    # Typer creates the options from these.
    wrapped.__dict__["__signature__"] = signature.replace(parameters=parameters)
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped


def _aim(places: Sequence[Place], size: str) -> None:
    """Set the size that each place should reach. Raises `typer.BadParameter`."""
    from pydantic import ByteSize, TypeAdapter, ValidationError

    try:
        target = TypeAdapter(ByteSize).validate_python(size)
    except ValidationError:
        raise typer.BadParameter(f"--target takes a size as in 17KB, not '{size}'.") from None
    for place in places:
        if not place.aim(target):
            raise typer.BadParameter(f"--target does not apply to {place.named}.")


def refuse_foreign(file: Path) -> None:
    """Refuse another agent's file where the command needs one of slowwave's own."""
    if is_foreign_file(file):
        for kind in place_kinds():
            kind.refuse_to_add(file)
