"""slowwave fleet report, and the account that 'fleet maintain' gives, too."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowwave.cli.arguments.options import OutputOptions
from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted
from slowwave.cli.views.report_file import PREFIX, refuse_unwritable_metrics, write_textfile

if TYPE_CHECKING:
    from slowwave.extensions.fleet.totals import ShardState, Totals

FleetMetricsOption = Annotated[
    Path | None,
    typer.Option(
        "--metrics",
        metavar="PATH",
        help="Write the totals for node_exporter's textfile collector (Prometheus).",
    ),
]
# In the order in which they are shown.
_WORDS = {
    "done": "maintained",
    "nothing": "with nothing to do",
    "unchanged": "unchanged and not opened",
    "planned": "with planned changes",
    "foreign": "of other programs",
    "off": "switched off",
    "gone": "deleted during the run",
    "interrupted": "interrupted",
    "missing": "missing",
    "partial": "partly done",
    "stale": "stale",
    "held": "locked",
    "refused": "refused",
    "unusable": "unusable",
    "failed": "failed",
    "lost": "lost",
    "defect": "with an internal error",
}
_PROPOSALS = {
    "applied": "applied",
    "pending": "pending review",
    "rejected": "rejected",
    "failed": "failed or skipped",
    "planned": "planned",
}


def fleet_report(
    receipts: Annotated[
        str,
        typer.Argument(
            metavar="RECEIPTS", help="Folder or bucket of the receipts.", show_default=False
        ),
    ],
    metrics: FleetMetricsOption = None,
    *,
    output: OutputOptions,
) -> None:
    """Summarize the last run of a fleet from its receipts.

    Shards are added up; missing ones are reported.
    """
    from slowwave.extensions.fleet.store.archive import Archive
    from slowwave.extensions.fleet.totals import last_night

    if metrics is not None:
        refuse_unwritable_metrics(metrics)
    totals, shards = last_night(Archive(receipts))
    output.result("fleet report", receipts=receipts, **account_as_json(totals, shards))
    output.show(*map(clean, account_as_text(totals, receipts, shards)))
    if metrics is not None:
        write_metrics(metrics, totals)


def account_as_json(totals: Totals, shards: Sequence[ShardState] = ()) -> dict[str, Any]:
    """Return the outcomes of the files, as format 1."""
    from slowwave.extensions.fleet.totals import SUMMED

    return {
        "night": totals.night,
        "complete": totals.complete,
        "files": totals.files,
        "became": dict(sorted(totals.became.items())),
        **{name: totals.sums[name] for name in SUMMED},
        "cost_usd": totals.cost,
        "seconds": round(totals.seconds, 3),
        **{
            name: [
                {"became": became, "why": why, "files": count, "first": keys}
                for (became, why), (count, keys) in named.items()
            ]
            for name, named in (("troubles", totals.troubles), ("set_aside", totals.set_aside))
        },
        "largest": [{"file": key, "tokens": tokens} for tokens, key in totals.largest],
        "shards": [shard._asdict() for shard in shards],
    }


def account_as_text(totals: Totals, named: str, shards: Sequence[ShardState] = ()) -> Iterator[str]:
    """Yield the same as lines of text."""
    count = {str(became): count for became, count in totals.became.items()}
    became = [f"{count[became]:,} {word}" for became, word in _WORDS.items() if became in count]
    files = counted(totals.files, "file", "files")
    yield f"{named}: {files}: {', '.join(became)}." if became else f"{named}: {files}."
    if totals.files and not totals.complete:
        yield "Not all files were maintained; the next run does the rest."
    yield from (
        f"Shard {shard.shard}: {shard.state}." for shard in shards if shard.state != "complete"
    )
    if totals.memory_files:
        yield from _sums(totals)
    yield from _troubles(totals)
    if totals.largest:
        yield ""
        yield "The largest files:"
        yield from (f"  {tokens:8,} tokens  {key}" for tokens, key in totals.largest[:5])


def _sums(totals: Totals) -> Iterator[str]:
    sums = totals.sums
    yield (
        f"{sums['memories_before']:,} -> {sums['memories_after']:,} active memories, "
        f"{sums['tokens_before']:,} -> {sums['tokens_after']:,} tokens."
    )
    proposals = [f"{sums[state]:,} {word}" for state, word in _PROPOSALS.items() if sums[state]]
    if proposals:
        yield f"Proposals: {', '.join(proposals)}."
    if sums["calls"]:
        cost = "of unknown cost" if totals.cost is None else f"{totals.cost:.4f} USD"
        tokens = sums["prompt_tokens"] + sums["completion_tokens"]
        yield f"The model: {sums['calls']:,} calls, {tokens:,} tokens, {cost}."


def _troubles(totals: Totals) -> Iterator[str]:
    for (became, why), (count, keys) in (totals.set_aside | totals.troubles).items():
        yield ""
        yield f"{counted(count, 'file', 'files')} {_WORDS[became]}: {why}"
        yield from (f"  {key}" for key in keys)
        if count > len(keys):
            yield f"  and {count - len(keys):,} more"


def write_metrics(path: Path, totals: Totals) -> None:
    """Write the totals as a Prometheus textfile. Raises `StoreError`."""
    from prometheus_client import CollectorRegistry, Gauge

    registry = CollectorRegistry()

    def gauge(name: str, what: str, value: float, **labels: str) -> None:
        metric = gauges.get(name) or Gauge(f"{PREFIX}fleet_{name}", what, labels, registry=registry)
        gauges[name] = metric
        (metric.labels(**labels) if labels else metric).set(value)

    gauges: dict[str, Gauge] = {}
    counts = {str(became): count for became, count in totals.became.items()}
    for became in _WORDS:
        gauge("files", "Memory files by outcome.", counts.get(became, 0), became=became)
    for when in ("before", "after"):
        for what in ("memories", "tokens"):
            value = totals.sums[f"{what}_{when}"]
            gauge(what, f"{what} of active memories, before and after the run.", value, when=when)
    for state in _PROPOSALS:
        gauge("proposals", "Proposals by state.", totals.sums[state], state=state)
    gauge("model_calls", "Requests to the model.", totals.sums["calls"])
    if totals.cost is not None:
        gauge("model_cost_usd", "Cost of the requests to the model.", totals.cost)
    gauge("complete", "1 if every file was processed.", float(totals.complete))
    gauge("written_timestamp_seconds", "Time of this export.", time.time())
    write_textfile(path, registry)
