"""slowwave fleet report: what became of the last night of a fleet."""

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
            metavar="RECEIPTS", help="The folder or bucket of the receipts.", show_default=False
        ),
    ],
    metrics: FleetMetricsOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Tell the last night of a fleet from its receipts: totals, what failed and why, the largest.

    Of a night in shards all are added up, and what is missing of them is said.
    """
    from slowwave.extensions.fleet.last_night import last_night
    from slowwave.extensions.fleet.store.archive import Archive

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
