"""slowwave log: the runs, or one run with its proposals."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import Output, clean, shortened
from .settings import ConfigOption, FileArgument, JsonOption, QuietOption

if TYPE_CHECKING:
    from rich.table import Table

    from slowwave.store.ledger import Decision, Run


def log(
    file: FileArgument,
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="Its id, or the start of it.")
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """List the runs, or show one run with its proposals."""
    from slowwave.store.file import open_reading
    from slowwave.store.ledger import read_decisions, read_run, read_runs

    output = Output(json, quiet)
    with open_reading(file) as opened:
        if run is None:
            runs = read_runs(opened)
            output.result({"command": "log", "file": str(file), "runs": [asdict(r) for r in runs]})
            output.show(_runs_table(runs) if runs else "No run has changed this file yet.")
            return
        found = read_run(opened, run)
        decisions = read_decisions(opened, found.id)
    output.result(
        {
            "command": "log",
            "file": str(file),
            "run": asdict(found),
            "proposals": [_as_json(one) for one in decisions],
        }
    )
    output.show(clean(f"Run {found.id}: {found.outcome}"), _decisions_table(decisions))


def _as_json(decision: Decision) -> dict[str, Any]:
    row = asdict(decision)
    row["id"] = row.pop("key")
    return row


def _runs_table(runs: list[Run]) -> Table:
    from rich.table import Table

    table = Table()
    table.add_column("run", no_wrap=True)
    for title in ("started", "outcome", "writer", "active before", "active after"):
        table.add_column(title)
    for one in runs:
        report = one.report or {}
        counts = [str(report.get(when, {}).get("active", "?")) for when in ("before", "after")]
        writer = one.options.get("model") or "extractive"
        started = one.started_at[:19].replace("T", " ")
        table.add_row(one.id, started, one.outcome, clean(str(writer)), *counts)
    return table


def _decisions_table(decisions: list[Decision]) -> Table:
    from rich.table import Table

    table = Table("proposal", "operation", "state", "reason", "draft or why")
    for one in decisions:
        said = one.why or one.draft or ""
        table.add_row(
            one.key[:12], one.operation, one.state, clean(one.reason), shortened(said, 200)
        )
    return table
