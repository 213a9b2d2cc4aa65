"""FILE on the command line, and the place that it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from slowwave.cli.arguments.options import FileArgument, FilesArgument, setting
from slowwave.cli.terminal.output import FILE_OPTIONS
from slowwave.store.places import Place, place_kinds, place_of
from slowwave.store.validate import is_foreign_file

_format = partial(
    typer.Option,
    "--format",
    metavar="NAME",
    help="The format of another agent's FILE: see 'slowwave formats'.",
)
_table = partial(
    typer.Option,
    "--table",
    metavar="TABLE:COLUMN[,...]",
    help="Treat FILE as your own SQLite database, and read memories from COLUMN of TABLE. date=, "
    "tenant= and deleted= name the columns with the date, the tenant and the deletion flag.",
)
_state = partial(
    typer.Option,
    "--state",
    metavar="PATH",
    help="Where to keep slowwave's own data (lineage, undo) about another agent's FILE. Default: "
    "FILE.slowwave.db next to it.",
)


@dataclass(frozen=True)
class PlaceOptions:
    """What a command takes that has a parameter of the type `Place`."""

    file: FileArgument
    format: Annotated[str | None, _format(hidden=True)] = None
    table: Annotated[str | None, _table(hidden=True)] = None
    state: Annotated[Path | None, _state(hidden=True)] = None

    def resolve(self) -> Place:
        """Return the place. Raises `StoreError`, and wrong usage."""
        return place_of(self.file, _format_of(self), self.state)


@dataclass(frozen=True)
class PlacesOptions:
    """What a command takes that has a parameter of the type `Sequence[Place]`."""

    files: FilesArgument = None
    target: Annotated[
        str | None,
        setting(
            metavar="SIZE",
            help="Maximum size of what the agent loads from FILE per session, such as 17KB; longer "
            "entries are shortened without losing content. Default: no limit.",
        ),
    ] = None
    format: Annotated[str | None, _format()] = None
    table: Annotated[str | None, _table()] = None
    state: Annotated[Path | None, _state()] = None

    def resolve(self) -> Sequence[Place]:
        """Return the places, each with its target. Raises `StoreError`, and wrong usage."""
        if not self.files:
            raise typer.BadParameter("Specify the memory file, or set SLOWWAVE_FILE.")
        format = _format_of(self)
        places = [place_of(file, format, self.state) for file in self.files]
        if self.target is not None:
            _aim(places, self.target)
        return places


def _format_of(options: PlaceOptions | PlacesOptions) -> str | None:
    """Return the value of --format or --table, and have hints repeat the options of FILE."""
    values = {"--format": options.format, "--table": options.table, "--state": options.state}
    words = ((name, str(value)) for name, value in values.items() if value is not None)
    FILE_OPTIONS.set(tuple(chain.from_iterable(words)))
    if options.table is None:
        return options.format
    if options.format is not None:
        raise typer.BadParameter("--table specifies the format: omit --format.")
    return f"table:{options.table}"


def _aim(places: Sequence[Place], size: str) -> None:
    """Set the size that each place should reach. Raises `typer.BadParameter`."""
    from pydantic import ByteSize, TypeAdapter, ValidationError

    try:
        target = TypeAdapter(ByteSize).validate_python(size)
    except ValidationError:
        raise typer.BadParameter(f"--target takes a size as in 17KB, not '{size}'.") from None
    for place in places:
        if not place.set_target(target):
            raise typer.BadParameter(f"--target does not apply to {place.named}.")


def refuse_foreign(file: Path) -> None:
    """Refuse another agent's file where the command needs one of slowwave's own."""
    if is_foreign_file(file):
        for kind in place_kinds():
            kind.refuse_to_add(file)
