"""slowwave conflicts: memories that give one thing two values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from .left import conflicts_as_json, conflicts_as_text
from .output import Output, clean
from .settings import ConfigOption, FileArgument, JsonOption, QuietOption
from .telling import Telling


def conflicts(
    file: FileArgument,
    tenant: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this tenant; again for more.")
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """List memories that give one thing two values, where neither plainly replaces the other."""
    from slowwave.consolidation.planning.conflicts import standing_conflicts
    from slowwave.store.records import timestamp

    found = standing_conflicts(file, tuple(tenant or ()), timestamp(datetime.now(UTC)))
    output = Output(json, quiet)
    output.result(
        {
            "command": "conflicts",
            "file": str(file),
            "conflicts": conflicts_as_json(found),
        }
    )
    if found:
        output.show(conflicts_as_text(found, Telling(file)))
    else:
        output.show(clean(f"{file}: no conflicts."))
