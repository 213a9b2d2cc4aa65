"""slowwave log: the runs, one run with its proposals, its changes of texts, or its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowwave.cli.arguments.monthly_budget import spent_in_month
from slowwave.cli.arguments.option_rules import refuse_missing
from slowwave.cli.arguments.options import HtmlOption, OutputOptions, TenantsOption, per_call
from slowwave.cli.terminal.output import Output, clean, table_of
from slowwave.cli.terminal.wording import (
    MAX_LISTED,
    counted,
    day_of,
    parts_queued,
    shortened_for_stdout,
)
from slowwave.cli.views.asked import backlog_age
from slowwave.cli.views.costs import usd_of
from slowwave.cli.views.ingest import IngestTotals
from slowwave.cli.views.proposal import LEGEND
from slowwave.cli.views.report_file import STDOUT, refuse_unwritable, write_report
from slowwave.cli.views.run import headline, recorded, run_as_json, table_of_runs
from slowwave.store.file import open_reading
from slowwave.store.intake import read_backlog
from slowwave.store.ledger import Run, count_states, read_runs
from slowwave.store.memories import count_by_status, count_memories, select_tenants
from slowwave.store.places import Place

if TYPE_CHECKING:
    from rich.table import Table


def log(
    context: typer.Context,
    place: Place,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="The id of a run, or a unique prefix.")
    ] = None,
    *,
    diff: Annotated[
        bool, per_call("--diff", help="Show what a run removed (-), kept (*) and wrote (=).")
    ] = False,
    html: HtmlOption = None,
    md: Annotated[
        Path | None, per_call("--md", metavar="PATH", help="Write Markdown. - for stdout.")
    ] = None,
    stats: Annotated[
        bool,
        per_call(
            "--stats",
            help="Count memories and tokens by status and layer, and how each run changed them.",
        ),
    ] = False,
    tenant: TenantsOption = None,
    output: OutputOptions,
) -> None:
    """List the runs, or show one run with its proposals.

    --diff, --html and --md show the last run unless you specify one.
    """
    refuse_missing(context, (("tenant", ("stats",)),))
    is_report = html is not None or md is not None
    forms = {"--diff": diff, "--html or --md": is_report, "--stats": stats}
    if len(chosen_forms := [name for name, chosen in forms.items() if chosen]) > 1:
        raise typer.BadParameter(f"Pass only one of {', '.join(chosen_forms)}.")
    if stats:
        if run is not None:
            raise typer.BadParameter("--stats counts the whole file: omit the run.")
        _show_stats(place, tenant or (), output)
    elif is_report:
        _write_reports(place, run, html, md, output)
    elif run is None and not diff:
        _list_runs(place, output)
    else:
        _show_run(place, run, diff, output)


def _list_runs(place: Place, output: Output) -> None:
    with place.reading() as memory_file, open_reading(memory_file) as opened:
        runs, states = read_runs(opened), count_states(opened)
    listed = [run_as_json(run) | {"states": states.get(run.id, {})} for run in runs]
    output.result("log", file=str(place.named), runs=listed)
    output.show(table_of_runs(runs, states) if runs else "No run has changed this file yet.")


def _show_run(place: Place, prefix: str | None, diff: bool, output: Output) -> None:
    """Show a run with its proposals. diff: JSON has the texts that it changed instead."""
    from slowwave.cli.views.night import read_night

    with place.reading() as memory_file:
        night = read_night(memory_file, place.named, prefix)
    if diff:
        changes = list(map(asdict, night.changes))
        output.result("diff", file=str(place.named), run=night.run.id, changes=changes)
    else:
        output.result("log", file=str(place.named), **night.as_json())
    lines = [headline(night.run, night.states), *night.effects]
    if night.proposals or len(lines) == 1:
        lines.append(f"{counted(len(night.proposals), 'proposal')}. {LEGEND}")
    for proposal in night.proposals:
        lines += proposal.lines()
    for change in night.changes if diff and not night.proposals else ():
        day, texts = day_of(change.observed_at), {"-": change.before, "=": change.after}
        lines += [
            f"  {mark} {day}  {shortened_for_stdout(text)}" for mark, text in texts.items() if text
        ]
    output.show("\n".join(lines))


def _write_reports(
    place: Place, prefix: str | None, html: Path | None, md: Path | None, output: Output
) -> None:
    """Write what a run did as HTML, as Markdown, or as both. Raises `StoreError`."""
    paths = [path for path in (html, md) if path is not None]
    if paths.count(STDOUT) > 1 or (output.json and STDOUT in paths):
        raise typer.BadParameter("Only one of --html, --md and --json can write to stdout.")
    for path in paths:
        refuse_unwritable(path)
    from slowwave.cli.views.night import read_night
    from slowwave.cli.views.report import as_markdown, as_page

    with place.reading() as memory_file:
        night = read_night(memory_file, place.named, prefix)
    for target, write in ((html, as_page), (md, as_markdown)):
        if target is not None:
            write_report(target, write(night), place.named)
    written = [str(path) for path in paths if path != STDOUT]
    output.result("report", file=str(place.named), run=night.run.id, written=written)
    if STDOUT not in paths:
        output.show(clean(f"Written: {', '.join(written)}"))


def _show_stats(place: Place, tenant: Sequence[str], output: Output) -> None:
    """Count memories and tokens, and how they grew run by run. Raises `StoreError`."""
    from slowwave.consolidation.text.tokens import count_tokens

    with place.reading() as memory_file, open_reading(memory_file) as opened:
        tenants = select_tenants(opened, tenant)
        by_status = count_by_status(opened, tenants)
        counts = count_memories(opened, tenants, count_tokens)
        states = count_states(opened)
        backlog = read_backlog(opened, tenant)
        spent = spent_in_month(opened, datetime.now(UTC))
        runs = [
            run
            for run in read_runs(opened)
            # A run counts its own tenants: only runs of the same tenants can be compared.
            if not tenant or set(run.options.get("tenant") or ()) == set(tenants)
        ]
    ingests = IngestTotals.of(runs)
    output.result(
        "stats",
        file=str(place.named),
        tenants=tenants,
        active=asdict(counts),
        by_status=by_status,
        conversations_waiting=backlog.parts,
        conversations_waiting_since=backlog.since,
        ingests=ingests.as_json(),
        month_usd=spent,
        runs=[_run(run, states.get(run.id, {})) for run in runs],
    )
    active = counted(counts.active, "active memory", "active memories")
    count = counted(len(tenants), "tenant")
    output.show(clean(f"{place.named}: {active}, {counts.tokens:,} tokens, {count}."))
    if backlog.parts:
        output.show(f"{parts_queued(backlog.parts)} for a model {backlog_age(backlog)}.")
    if ingests.runs:
        output.show(ingests.as_text())
    if spent:
        output.show(f"Models have cost {usd_of(spent)} this month, for all tenants.")
    if by_status:
        output.show("", _by_status(by_status))
    if runs:
        output.show("", table_of_runs(runs[-MAX_LISTED:], states))
    if len(runs) > MAX_LISTED:
        output.show(f"The last {MAX_LISTED} of {len(runs):,} runs; --json has them all.")


def _run(run: Run, states: Mapping[str, int]) -> dict[str, Any]:
    """Return the memories and tokens before and after a run; None if it did not record them."""
    counts = {when: recorded(run, when) for when in ("before", "after")}
    return {
        "run": run.id,
        "started_at": run.started_at,
        "outcome": run.outcome,
        "states": states,
        "tenants": run.options.get("tenant") or [],
        **{
            f"{name}_{when}": part.get(name)
            for name in ("active", "tokens")
            for when, part in counts.items()
        },
    }


def _by_status(by_status: Mapping[str, Mapping[str, int]]) -> Table:
    layers = next(iter(by_status.values()))
    rows = (
        (status, *(f"{number:,}" for number in (sum(counts.values()), *counts.values())))
        for status, counts in by_status.items()
    )
    return table_of([""], rows, ["memories", *layers])
