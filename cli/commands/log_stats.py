"""`slowwave log --stats`: how much the file contains, and how that changed run by run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowwave.cli.arguments.monthly_budget import spent_in_month
from slowwave.cli.arguments.options import TenantsOption, per_call
from slowwave.cli.terminal.output import Output, clean, table_of
from slowwave.cli.terminal.wording import counted, parts_queued
from slowwave.cli.views.asked import since
from slowwave.cli.views.costs import usd_of
from slowwave.cli.views.ingest import IngestTotals
from slowwave.cli.views.metrics import Metrics
from slowwave.cli.views.run import recorded, table_of_runs
from slowwave.store.file import open_reading
from slowwave.store.intake import read_backlog
from slowwave.store.ledger import Run, count_states, read_pending, read_runs
from slowwave.store.memories import Counts, count_by_status, count_memories, select_tenants
from slowwave.store.places import Place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.table import Table

# How many of the last runs are shown to people.
_MAX_RUNS = 10


@dataclass(frozen=True)
class StatsOptions:
    """Whether the file is counted, and of which tenants."""

    stats: Annotated[
        bool,
        per_call(
            "--stats",
            help="Count memories and tokens by status and layer, and how each run changed them.",
        ),
    ] = False
    tenant: TenantsOption = None
    prometheus: Annotated[
        bool, per_call("--prometheus", help="Write the counts as Prometheus metrics.")
    ] = False

    @property
    def wanted(self) -> bool:
        """Whether the file is counted, in any form."""
        return self.stats or self.prometheus


def show_stats(place: Place, options: StatsOptions, output: Output) -> None:
    """Count memories and tokens, and how they grew run by run. Raises `StoreError`."""
    tenant = options.tenant or ()
    from slowwave.consolidation.text.token_count import count_tokens

    with place.reading() as memory_file, open_reading(memory_file) as opened:
        tenants = select_tenants(opened, tenant)
        by_status = count_by_status(opened, tenants)
        counts = count_memories(opened, tenants, count_tokens)
        states = count_states(opened)
        backlog = read_backlog(opened, tenant)
        pending = len(read_pending(opened))
        spent = spent_in_month(opened, datetime.now(UTC))
        runs = [
            run
            for run in read_runs(opened)
            # A run counts its own tenants: only runs of the same tenants can be compared.
            if not tenant or set(run.options.get("tenant") or ()) == set(tenants)
        ]
    if options.prometheus:
        if output.json:
            raise typer.BadParameter("Pass only one of --prometheus and --json.")
        output.show(_as_metrics(place.named, counts, by_status, backlog.parts, pending, runs))
        return
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
    count = counted(len(tenants), "tenant", "tenants")
    output.show(clean(f"{place.named}: {active}, {counts.tokens:,} tokens, {count}."))
    if backlog.parts:
        output.show(f"{parts_queued(backlog.parts)} for a model {since(backlog)}.")
    if ingests.runs:
        output.show(ingests.as_text())
    if spent:
        output.show(f"Models have cost {usd_of(spent)} this month, for all tenants.")
    if by_status:
        output.show("", _by_status(by_status))
    if runs:
        output.show("", table_of_runs(runs[-_MAX_RUNS:], states))
    if len(runs) > _MAX_RUNS:
        output.show(f"The last {_MAX_RUNS} of {len(runs):,} runs; --json has them all.")


def _as_metrics(
    file: Path,
    counts: Counts,
    by_status: Mapping[str, Mapping[str, int]],
    parts: int,
    pending: int,
    runs: Sequence[Run],
) -> str:
    from prometheus_client import generate_latest

    metrics = Metrics()
    metrics.set_pending(file, pending)
    metrics.set_size(file, counts, by_status, parts)
    metrics.set_ingests(file, IngestTotals.of(runs))
    if runs:
        metrics.set_start(file, datetime.fromisoformat(runs[-1].started_at).timestamp())
    return generate_latest(metrics.registry).decode().rstrip("\n")


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
