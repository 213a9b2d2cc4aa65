"""slowwave fleet report: the last run of a fleet."""

from __future__ import annotations

from typing import Annotated

import typer

from slowwave.cli.arguments.options import ConfigOption, JsonOption, QuietOption
from slowwave.cli.terminal.output import Output
from slowwave.cli.views.report_file import refuse_unwritable_metrics

from .account import FleetMetricsOption, account_as_json, account_as_text, write_metrics


def fleet_report(
    receipts: Annotated[
        str,
        typer.Argument(
            metavar="RECEIPTS", help="Folder or bucket of the receipts.", show_default=False
        ),
    ],
    metrics: FleetMetricsOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Summarize the last run of a fleet from its receipts: totals, failures, the largest files.

    Shards are added up; missing ones are reported.
    """
    from slowwave.extensions.fleet.store.archive import Archive
    from slowwave.extensions.fleet.totals import last_night

    output = Output(json, quiet)
    if metrics is not None:
        refuse_unwritable_metrics(metrics)
    totals, shards = last_night(Archive(receipts))
    output.result(
        {"command": "fleet report", "receipts": receipts, **account_as_json(totals, shards)}
    )
    output.show(*account_as_text(totals, receipts, shards))
    if metrics is not None:
        write_metrics(metrics, totals)
