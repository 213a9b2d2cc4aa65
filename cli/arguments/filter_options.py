"""Options of every command that finds memories: which ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.store.records import Kind, Layer

from .moments import end_of, start_of
from .options import TenantsOption

if TYPE_CHECKING:
    from slowwave.store.memory_filter import Filter


@dataclass(frozen=True)
class FilterOptions:
    """Conditions on memories, all of which must be met."""

    tenant: TenantsOption = None
    kind: Annotated[list[Kind] | None, typer.Option(help="Only this kind. Repeatable.")] = None
    layer: Annotated[list[Layer] | None, typer.Option(help="Only this layer. Repeatable.")] = None
    tag: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="Only with this tag. Repeatable.")
    ] = None
    # Not `session`, which is a setting of `add`.
    sessions: Annotated[
        list[str] | None,
        typer.Option(
            "--session",
            metavar="NAME",
            allow_from_autoenv=False,
            help="Only from this session. Repeatable.",
        ),
    ] = None
    since: Annotated[
        str | None,
        typer.Option(
            metavar="DAY", allow_from_autoenv=False, help="Only observed on this day or later."
        ),
    ] = None
    until: Annotated[
        str | None,
        typer.Option(
            metavar="DAY", allow_from_autoenv=False, help="Only observed on this day or earlier."
        ),
    ] = None

    def chosen(self) -> Filter:
        """Return the filter. Raises `typer.BadParameter`."""
        from slowwave.store.memory_filter import Filter

        earliest, latest = start_of(self.since, "--since"), end_of(self.until, "--until")
        if earliest is not None and latest is not None and earliest > latest:
            raise typer.BadParameter(
                f"--since {self.since} is after --until {self.until}: swap the two."
            )
        return Filter(
            tuple(self.tenant or ()),
            tuple(self.kind or ()),
            tuple(self.layer or ()),
            tuple(self.tag or ()),
            tuple(self.sessions or ()),
            earliest,
            latest,
        )
