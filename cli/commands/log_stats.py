"""`slowwave log --stats`: how much the file holds, and how that changed from run to run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowwave.cli.arguments.options import TenantsOption
from slowwave.cli.nights.metrics import Metrics
from slowwave.cli.results.runs import outcome_now
from slowwave.cli.results.taken_up import since
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.wording import counted
from slowwave.store.places import Place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.table import Table

    from slowwave.store.ledger import Run
    from slowwave.store.memories import Counts

# People see this many of the last runs.
_MOST_RUNS = 10


@dataclass(frozen=True)
class StatsOptions:
    """Whether the file is counted, and of which tenants."""

    stats: Annotated[
        bool,
        typer.Option(
            "--stats",
            allow_from_autoenv=False,
            help="Count memories and tokens by status and layer, and how each run changed them.",
        ),
    ] = False
    tenant: TenantsOption = None
    prometheus: Annotated[
        bool,
        typer.Option(
            "--prometheus",
            allow_from_autoenv=False,
            help="Write the counts as Prometheus metrics.",
        ),
    ] = False

    @property
    def wanted(self) -> bool:
        """Whether the file is counted, in any form."""
        return self.stats or self.prometheus

    def refuse_run(self, run: str | None) -> None:
        """Refuse a run: the counts are of the whole file. Raises `typer.BadParameter`."""
        if run is not None:
            raise typer.BadParameter("--stats counts the whole file: omit the run.")


def show_stats(place: Place, options: StatsOptions, output: Output) -> None:
    """Count memories and tokens, and how they grew run by run. Raises `StoreError`."""
    tenant = options.tenant
    from slowwave.consolidation.text.token_count import count_tokens
    from slowwave.store.file import open_reading
    from slowwave.store.intake import read_backlog
    from slowwave.store.ledger import count_states, read_pending, read_runs
    from slowwave.store.memories import count_by_status, count_memories, select_tenants

    with place.reading() as memory_file, open_reading(memory_file) as opened:
        tenants = select_tenants(opened, tenant or ())
        by_status = count_by_status(opened, tenants)
        counts = count_memories(opened, tenants, count_tokens)
        states = count_states(opened)
        backlog = read_backlog(opened, tenant or ())
        waiting = len(read_pending(opened))
        runs = [
            _run(one, states.get(one.id, {}))
            for one in read_runs(opened)
            # What a run counted is of its tenants: another choice would be mixed up with it.
            if not tenant or set(one.options.get("tenant") or ()) == set(tenants)
        ]
    if options.prometheus:
        if output.json:
            raise typer.BadParameter("Pass only one of --prometheus and --json.")
        output.show(_as_metrics(place.named, counts, by_status, backlog.parts, waiting, runs))
        return
    output.result(
        {
            "command": "stats",
            "file": str(place.named),
            "tenants": tenants,
            "active": asdict(counts),
            "by_status": by_status,
            "conversations_waiting": backlog.parts,
            "conversations_waiting_since": backlog.since,
            "runs": runs,
        }
    )
    of = "1 tenant" if len(tenants) == 1 else f"{len(tenants):,} tenants"
    held = f"{counts.active:,} active memories, {counts.tokens:,} tokens, {of}."
    output.show(clean(f"{place.named}: {held}"))
    if backlog.parts:
        waits = counted(backlog.parts, "conversation part waits", "conversation parts wait")
        output.show(f"{waits} for a model {since(backlog)}.")
    if by_status:
        output.show("", _by_status(by_status))
    if runs:
        output.show("", _growth(runs[-_MOST_RUNS:]))
    if len(runs) > _MOST_RUNS:
        output.show(f"The last {_MOST_RUNS} of {len(runs):,} runs; --json has them all.")


def _as_metrics(
    file: Path,
    counts: Counts,
    by_status: Mapping[str, Mapping[str, int]],
    parts: int,
    waiting: int,
    runs: Sequence[Mapping[str, Any]],
) -> str:
    """Return the counts in the text format of Prometheus."""
    from prometheus_client import generate_latest

    metrics = Metrics()
    metrics.waits(file, waiting)
    metrics.holds(file, counts.active, counts.tokens, parts)
    for status, layers in by_status.items():
        metrics.has_status(file, status, sum(layers.values()))
    if runs:
        metrics.began(file, datetime.fromisoformat(runs[-1]["started_at"]).timestamp())
    return generate_latest(metrics.registry).decode().rstrip("\n")


def _run(run: Run, states: Mapping[str, int]) -> dict[str, Any]:
    """Return what a run made of how many memories and tokens; None where it does not say."""
    report = run.report or {}
    parts = {when: report.get(when) or {} for when in ("before", "after")}
    return {
        "run": run.id,
        "started_at": run.started_at,
        "outcome": run.outcome,
        "states": states,
        "tenants": run.options.get("tenant") or [],
        **{
            f"{name}_{when}": parts[when].get(name)
            for name in ("active", "tokens")
            for when in ("before", "after")
        },
    }


def _by_status(by_status: Mapping[str, Mapping[str, int]]) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column()
    layers = next(iter(by_status.values()))
    for title in ("memories", *layers):
        table.add_column(title, justify="right")
    for status, counts in by_status.items():
        table.add_row(status, *(f"{one:,}" for one in (sum(counts.values()), *counts.values())))
    return table


def _growth(runs: Sequence[Mapping[str, Any]]) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title in ("run of", "outcome"):
        table.add_column(title)
    for title in ("memories before", "after", "tokens before", "after"):
        table.add_column(title, justify="right")
    shows_tenants = any(one["tenants"] for one in runs)
    if shows_tenants:
        table.add_column("of tenant")
    for one in runs:
        names = ("active_before", "active_after", "tokens_before", "tokens_after")
        numbers = ("?" if one[name] is None else f"{one[name]:,}" for name in names)
        outcome = outcome_now(one["outcome"], one["states"])
        cells = [clean(one["started_at"][:16].replace("T", " ")), outcome, *numbers]
        if shows_tenants:
            cells.append(clean(", ".join(one["tenants"]) or "all"))
        table.add_row(*cells)
    return table
