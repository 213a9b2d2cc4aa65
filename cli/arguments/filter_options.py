"""Options of every command that finds memories: which ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import time
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from slowwave.store.records import LAYERS, Kind

from .durations import moment_of
from .options import TenantsOption, per_call

if TYPE_CHECKING:
    from slowwave.store.memory_filter import Filter


def _choice(names: Sequence[str], help: str) -> Any:
    """Return an option that takes one of these names; Typer has no lists of literals."""

    def parse(text: str) -> str:
        if text not in names:
            raise typer.BadParameter(f"'{text}' is not one of {', '.join(map(repr, names))}.")
        return text

    return typer.Option(metavar=f"<{'|'.join(names)}>", parser=parse, help=help)


@dataclass(frozen=True)
class FilterOptions:
    """Conditions on memories, all of which must be met."""

    tenant: TenantsOption = None
    kind: Annotated[
        list[str] | None, _choice(get_args(Kind), help="Only this kind. Repeatable.")
    ] = None
    layer: Annotated[list[str] | None, _choice(LAYERS, help="Only this layer. Repeatable.")] = None
    tag: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="Only with this tag. Repeatable.")
    ] = None
    # Not `session`, which is a setting of `add`.
    sessions: Annotated[
        list[str] | None,
        per_call("--session", metavar="NAME", help="Only from this session. Repeatable."),
    ] = None
    since: Annotated[
        str | None, per_call(metavar="DAY", help="Only observed on this day or later.")
    ] = None
    until: Annotated[
        str | None, per_call(metavar="DAY", help="Only observed on this day or earlier.")
    ] = None

    def chosen(self) -> Filter:
        """Return the filter. Raises `typer.BadParameter`."""
        from slowwave.store.memory_filter import Filter

        earliest = moment_of(self.since, "--since", time.min)
        latest = moment_of(self.until, "--until", time.max)
        if earliest is not None and latest is not None and earliest > latest:
            raise typer.BadParameter(
                f"--since {self.since} is after --until {self.until}: swap the two."
            )
        return Filter(
            tenants=tuple(self.tenant or ()),
            kinds=tuple(self.kind or ()),
            layers=tuple(self.layer or ()),
            tags=tuple(self.tag or ()),
            sessions=tuple(self.sessions or ()),
            since=earliest,
            until=latest,
        )
