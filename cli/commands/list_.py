"""slowwave list: memories, newest first."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from slowwave.cli.arguments.filter_options import FilterOptions
from slowwave.cli.arguments.options import OutputOptions
from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted, day_of, shortened_for_stdout
from slowwave.cli.views.memory import memory_as_json, view_memories
from slowwave.store.file import open_reading
from slowwave.store.memories import list_memories, select_tenants, tenants
from slowwave.store.memory_filter import NO_LIMIT
from slowwave.store.places import Place

_Status = Literal["active", "superseded", "archived", "expired", "any"]


def list_(
    place: Place,
    status: Annotated[_Status, typer.Option(help="Only in this state.")] = "active",
    *,
    only: FilterOptions,
    contains: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Only memories containing this text (case-insensitive)."),
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=0, help="Maximum number of memories; 0 for no limit.")
    ] = 50,
    output: OutputOptions,
) -> None:
    """List memories, newest first."""
    filters = only.chosen()
    with place.reading() as memory_file, open_reading(memory_file) as opened:
        if filters.tenants:
            select_tenants(opened, filters.tenants)
        state = None if status == "any" else status
        count, memories = list_memories(
            opened, filters, state, contains, min(limit or NO_LIMIT, NO_LIMIT)
        )
        shows_tenants = len(tenants(opened)) > 1
    output.result(
        "list", file=str(place.named), count=count, memories=list(map(memory_as_json, memories))
    )
    names = [f"{clean(memory.tenant):<10}  " if shows_tenants else "" for memory in memories]
    lines = [
        f"{clean(memory.id)}  {day_of(memory.observed_at):<10}  "
        f"{memory.layer if memory.status == 'active' else memory.status:<10}  "
        f"{tenant}{view.head.removeprefix(f'{view.day}  ')}{shortened_for_stdout(memory.content)}"
        for memory, tenant, view in zip(
            memories, names, view_memories(memories).values(), strict=True
        )
    ]
    if len(memories) < count:
        lines.append(f"... {count - len(memories):,} more: --limit 0 shows all.")
    output.show("\n".join(lines) or f"{counted(0, 'memory', 'memories')}.")
