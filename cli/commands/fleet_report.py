"""slowwave fleet report: what became of the last night of a fleet."""

from __future__ import annotations

from typing import Annotated

import typer

from slowwave.cli.arguments.options import ConfigOption, FleetMetricsOption, JsonOption, QuietOption
from slowwave.cli.results.fleet_report import account_as_json, account_as_text, write_metrics
from slowwave.cli.results.textfile import refuse_unwritable_metrics
from slowwave.cli.terminal.output import Output


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
    from slowwave.consolidation.fleet.last_night import last_night
    from slowwave.store.fleet.archive import Archive

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
