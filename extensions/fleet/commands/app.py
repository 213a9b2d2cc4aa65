"""slowwave fleet: its commands, as `slowwave.commands` registers them."""

from __future__ import annotations

from slowwave.cli.arguments.configured import group_of

from .maintain import fleet_maintain
from .report import fleet_report

app = group_of(
    "fleet",
    "Maintain many memory files, in folders or buckets.",
    {"maintain": fleet_maintain, "report": fleet_report},
)
