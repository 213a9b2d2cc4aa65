"""slowwave audit: what rots in a memory file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from slowwave.cli.arguments.durations import duration_of, retention_of
from slowwave.cli.arguments.night_options import MaxActiveOption, RetainOption
from slowwave.cli.arguments.options import FileArgument, OutputOptions, TenantsOption, checked_by
from slowwave.cli.arguments.place_options import on_place
from slowwave.cli.views.audit import audit_as_json, audit_as_text
from slowwave.store.places import Place


@on_place
def audit(
    file: FileArgument,
    place: Place,
    tenant: TenantsOption = None,
    within: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            callback=checked_by(duration_of),
            help="Also report memories that expire within this time.",
        ),
    ] = "7d",
    retain: RetainOption = None,
    max_active: MaxActiveOption = None,
    *,
    output: OutputOptions,
) -> None:
    """List what needs cleaning up in the file, each with the command for it. Read-only.

    Reports memories that contain instructions, carry no information, are doubtful, unused, expired
    or near a limit; contradictions; and pending proposals. To verify the file itself, use 'slowwave
    check'.
    """
    from slowwave.consolidation.reports.audit import AuditOptions
    from slowwave.consolidation.reports.audit import audit as audit_file

    options = AuditOptions(
        tuple(tenant or ()),
        retention_of(retain or ()),
        max_active,
        duration_of(within) or timedelta(),
    )
    with place.reading() as memory_file:
        found = audit_file(memory_file, options, datetime.now(UTC))
        output.result("audit", file=str(file), **audit_as_json(found, file))
        output.show(*audit_as_text(found, file, memory_file))
