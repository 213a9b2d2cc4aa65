"""slowwave fleet: its commands, as `slowwave.commands` registers them."""

from __future__ import annotations

import typer

from slowwave.cli.app import HELP_OPTIONS, add_command

from .maintain import fleet_maintain
from .report import fleet_report

app = typer.Typer(
    name="fleet",
    help="One night for each of many memory files, in folders or buckets.",
    context_settings=HELP_OPTIONS,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for name, command in (("maintain", fleet_maintain), ("report", fleet_report)):
    add_command(app, name, command)
