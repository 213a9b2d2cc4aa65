"""A run of the ledger in JSON and in a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import clean, shortened, table_of
from slowwave.cli.terminal.wording import counted, parts_queued
from slowwave.store.ageing import PHASE, STATUS_AFTER
from slowwave.store.errors import NotFound
from slowwave.store.intake import INGESTED, UNREAD
from slowwave.store.journal_form import FORGOTTEN
from slowwave.store.ledger import DECIDED, Run, read_latest_by_prefix, read_run, read_runs
from slowwave.store.prefixes import MIN_PREFIX
from slowwave.store.purge import OPTION

from .costs import usd_of

if TYPE_CHECKING:
    from rich.table import Table

    from slowwave.store.file import MemoryFile

# How much of an id names a run: two runs do not begin in the same millisecond.
_SHORT = 13
# The maximum characters of an outcome in a table; `log RUN` shows the rest of an error.
_MAX_OUTCOME = 60
# How a person or an agent decided, by what the options of a run record.
_DECIDED = {
    "plan": "plan",
    "correct": "correction",
    "pin": "pin",
    "unpin": "pin",
    "retract": "retraction",
    "keep": "settled conflict",
    "both": "settled conflict",
}


def run_as_json(run: Run) -> dict[str, Any]:
    """Return a run with its counts before and after, if it recorded them."""
    report = run.report or {}
    return {**asdict(run), "before": report.get("before"), "after": report.get("after")}


def recorded(run: Run, name: str) -> dict[str, Any]:
    """Return a part of a run's report; {} if it is missing. An import may contain anything."""
    part = (run.report or {}).get(name)
    return part if isinstance(part, dict) else {}


def number_in(part: Mapping[str, Any], name: str) -> float:
    """Return a number of a report; 0 if it is missing."""
    number = part.get(name)
    return number if isinstance(number, int | float) else 0


def named_or_last_run(file: MemoryFile, prefix: str | None) -> Run:
    """Return the run with this id, or the last one. Raises `NotFound` and `Ambiguous`."""
    if prefix is not None:
        try:
            return read_run(file, prefix)
        except NotFound as error:
            proposals = read_latest_by_prefix(file, prefix) if len(prefix) >= MIN_PREFIX else []
            if proposals:
                error.hint = f"It is a proposal: slowwave log FILE {proposals[0].run_id}"
            raise
    runs = read_runs(file)
    if not runs:
        raise NotFound(
            f"No run has changed {file.path} yet.",
            "To see what one would do: slowwave maintain FILE --dry-run",
        )
    return runs[-1]


def table_of_runs(runs: Sequence[Run], states: Mapping[str, Mapping[str, int]]) -> Table:
    """Return runs, one per line. states: the number of proposals by state, by run id."""
    # Runs of other tenants count other memories.
    optional = {"cost": list(map(_cost_of, runs)), "tenant": list(map(_tenants_of, runs))}
    optional = {title: cells for title, cells in optional.items() if any(cells)}
    rows = (
        (
            run.id[:_SHORT],
            started(run),
            shortened(_ending(run, states.get(run.id, {})), _MAX_OUTCOME),
            *_changes_of(run),
            _writer_of(run),
            *cells,
        )
        for run, *cells in zip(runs, *optional.values(), strict=True)
    )
    titles = ["run", "started", "outcome", "memories", "tokens", "writer", *optional]
    return table_of(titles, rows, wrap=2)


def _tenants_of(run: Run) -> str:
    tenants = run.options.get("tenant")
    return ", ".join(map(str, tenants)) if isinstance(tenants, list) else ""


def headline(run: Run, states: Mapping[str, int]) -> str:
    """Describe a run in a line. states: the number of its proposals by state."""
    changes = [
        f"{change} {noun}"
        for name, noun in (("active", "memories"), ("tokens", "tokens"))
        if (change := _change_of(run, name))
    ]
    cost = [cost] if (cost := _cost_of(run)) else []
    parts = [started(run), _ending(run, states), _writer_of(run), *cost, *changes]
    return clean(f"Run {run.id}: {', '.join(parts)}.")


def describe_forgotten(forgotten_at: str) -> str:
    """Describe that memories of a run were forgotten. forgotten_at: when."""
    return (
        f"Memories that this run changed were forgotten on {forgotten_at[:10]}; those changes "
        "cannot be undone."
    )


def effects_of(run: Run, active_again: Sequence[str], forgotten_at: str | None) -> Iterator[str]:
    """Yield what a run did besides applying proposals, and what happened later to its memories."""
    report = run.report or {}
    for what in ("purged", "forgotten", *STATUS_AFTER.values()):
        if what in report:
            yield f"{counted(int(number_in(report, what)), 'memory', 'memories')} {what}."
    if isinstance(why := run.options.get(FORGOTTEN), str):
        yield clean(f"Reason: {why}")
    if unread := report.get(UNREAD):
        yield clean(f"{parts_queued(len(unread))} for a model: {unread[0]['why']}")
    for reason in report.get("reasons", ()):
        yield clean(f"{reason['conversation']}: {reason['reasoning']}")
    if forgotten_at is not None:
        yield describe_forgotten(forgotten_at)
    if active_again:
        yield clean(f"Active again since: {', '.join(active_again)}.")


def _changes_of(run: Run) -> list[str]:
    """Return how a run changed the numbers of memories and of tokens."""
    if FORGOTTEN in run.options:  # it counts only what it erases
        return [f"{int(number_in(run.report or {}, 'forgotten')):,} forgotten", ""]
    return [_change_of(run, name) or "?" for name in ("active", "tokens")]


def _change_of(run: Run, name: str) -> str:
    """Return a count before and after; empty if the run did not record it."""
    counts = [recorded(run, when).get(name) for when in ("before", "after")]
    are_known = all(isinstance(count, int) for count in counts)
    return " -> ".join(f"{count:,}" for count in counts) if are_known else ""


def _ending(run: Run, states: Mapping[str, int]) -> str:
    """Return how a run ended, how much was undone since, and why it did not do everything."""
    reason = (run.report or {}).get("why")
    if run.outcome == "interrupted" and run.finished_at is None:
        reason = "it was killed, or could not record its end"
    outcome, undone = run.outcome, states.get("undone", 0)
    if undone and outcome != "undone":
        outcome += f", {undone:,} of {undone + states.get('applied', 0):,} undone"
    return f"{outcome}: {reason.rstrip('.')}" if isinstance(reason, str) else outcome


def _cost_of(run: Run) -> str:
    """Return the calls of a run and their cost; empty if it made none, or recorded none."""
    usage = recorded(run, "model")
    calls, usd = int(number_in(usage, "calls")), usage.get("cost_usd")
    if not calls:
        return ""
    cost = usd_of(usd) if isinstance(usd, int | float) else "cost unknown"
    return f"{counted(calls, 'call')}, {cost}"


def started(run: Run) -> str:
    """Return when a run began, to the second."""
    return run.started_at[:19].replace("T", " ")


def _writer_of(run: Run) -> str:
    """Return what wrote the drafts of a run; a purge, a review and a plan write none."""
    options = run.options
    if options.get(OPTION):
        return "none (purge)"
    if FORGOTTEN in options:
        return "none (forget)"
    if options.get(DECIDED):
        return f"none ({_DECIDED.get(str(options[DECIDED]), 'review')})"
    if PHASE in options:
        return f"none ({options[PHASE]})"
    writer = str(options.get("model") or "no model")
    return f"{writer} (conversations)" if INGESTED in options else writer
