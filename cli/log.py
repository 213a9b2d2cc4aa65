"""slowwave log: the runs, or one run with its proposals."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowwave.store.purge import OPTION

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
        counts = [_active(report.get(when)) for when in ("before", "after")]
        writer = _writer_of(one)
        started = one.started_at[:19].replace("T", " ")
        cells = (one.id, started, one.outcome, str(writer), *counts)
        table.add_row(*map(clean, cells))
    return table


def _active(counts: object) -> str:
    """Give how many memories were active, where a report says so."""
    return clean(str(counts.get("active", "?"))) if isinstance(counts, dict) else "?"


def _writer_of(run: Run) -> object:
    """Give what wrote the drafts of a run; a purge writes none."""
    if run.options.get(OPTION):
        return "none: a purge"
    return run.options.get("model") or "extractive"


def _decisions_table(decisions: list[Decision]) -> Table:
    from rich.table import Table

    table = Table("proposal", "operation", "state", "reason", "draft or why")
    for one in decisions:
        said = one.why or one.draft or ""
        cells = (one.key[:12], one.operation, one.state, one.reason)
        table.add_row(*map(clean, cells), shortened(said, 200))
    return table
