"""The receipt of a file, from the content of the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.snapshot.idle import IdleMarks
from slowwave.extensions.fleet.store.disk import version_of
from slowwave.extensions.fleet.store.receipt import Became, Receipt
from slowwave.extensions.formats.base import ChangedMeanwhile
from slowwave.store.errors import FileHeld, StoreError, UnusableFile
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.ledger import Run, count_states, read_runs

from .fleet_job import OPTION, Item

# How often a file is read that agents write to at the same time.
_MAX_READS = 3
# Memories and tokens; None if unknown.
Counted = tuple[int | None, int | None]


def became_of(error: StoreError) -> Became:
    """Return the outcome of a file whose run ended with an error."""
    match error:
        case ChangedMeanwhile():
            return "stale"
        case FileHeld():
            return "held"
        case UnusableFile():
            return "unusable"
    return "failed"


def receipt_of(
    item: Item,
    path: Path,
    became: Became,
    why: str | None,
    outcome: Outcome | None,
    marks: IdleMarks,
) -> Receipt:
    """Return the receipt of a file: its runs, what they did, and until when nothing is due.

    outcome: has the counts if no run has reported them.
    """
    try:
        state = _read_state(path, item.last_run, marks)
    except (StoreError, OSError) as error:
        why = why or getattr(error, "message", str(error))
        became = became if became in ("held", "unusable", "interrupted") else "unusable"
        return Receipt(item.key, became, why, last_run=item.last_run)
    runs, states, until = state.runs, state.states, state.until
    before, after = _counts(runs, outcome)
    if runs and became == "nothing":
        became = "done"  # by a worker that was killed before it returned
    usage = usage_of(runs)
    return Receipt(
        item.key,
        became,
        why,
        version=state.version,
        basis=None if until is None else marks.key,
        until=None if until is None else until[0],
        runs=tuple(run.id for run in runs),
        last_run=runs[-1].id if runs else item.last_run,
        memories_before=before[0],
        memories_after=after[0],
        tokens_before=before[1],
        tokens_after=after[1],
        applied=states["applied"],
        rejected=states["rejected"],
        pending=states["pending"],
        failed=states["failed"] + states["skipped"],
        **usage,
    )


def run_ids(path: Path) -> set[str]:
    """Return the ids of the runs of fleets in a file; none if it cannot be read."""
    with suppress(StoreError), open_reading(path) as file:
        return {run.id for run in _fleet_runs(file, None)}
    return set()


def usage_of(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the runs' usage of a model, as the fields of a receipt.

    A killed run has no report, so its usage is not counted.
    """
    used = [(run.report or {}).get("model") or {} for run in runs]
    costs = [usage.get("cost_usd", 0.0) for usage in used]
    known_costs = [cost for cost in costs if cost is not None]
    return {
        **{
            name: sum(int(usage.get(name) or 0) for usage in used)
            for name in ("calls", "prompt_tokens", "completion_tokens")
        },
        "cost": sum(known_costs) if len(known_costs) == len(costs) else None,
    }


@dataclass(frozen=True)
class _FileState:
    """The content of a file at one moment."""

    version: str
    # The runs of fleets after the latest one that a receipt names, oldest first.
    runs: list[Run]
    # The states of their proposals.
    states: Counter[str]
    # A 1-tuple with the time until which the file is idle; None if it is not idle.
    until: tuple[str | None] | None


def _read_state(path: Path, after: str | None, marks: IdleMarks) -> _FileState:
    """Read from a file all that its receipt says, in one snapshot.

    A file that changes during each of several reads is not idle. Raises `StoreError` and OSError.
    """
    for _ in range(_MAX_READS):
        version = version_of(path)
        with open_reading(path) as file:
            runs = _fleet_runs(file, after)
            counts = count_states(file, after or "") if runs else {}
            states = sum((Counter(counts.get(run.id, {})) for run in runs), start=Counter())
            state = _FileState(version, runs, states, marks.until(file))
        if version_of(path) == version:
            return state
    return replace(state, until=None)


def _fleet_runs(file: MemoryFile, after: str | None) -> list[Run]:
    """Return the runs of fleets in a file after a given one, oldest first."""
    runs = read_runs(file, after or "")
    return sorted((run for run in runs if OPTION in run.options), key=lambda run: run.id)


def _counts(runs: Sequence[Run], outcome: Outcome | None) -> tuple[Counted, Counted]:
    """Return memories and tokens before the first of the runs, and after the last.

    A killed run has not reported them; the run after it, with this outcome, has counted them.
    """
    before: Counted = None, None
    after: Counted = None, None
    if outcome is not None:
        before = outcome.before.active, outcome.before.tokens
        after = outcome.after.active, outcome.after.tokens
    if not runs:
        return before, before
    reported = _reported(runs[-1], "after")
    return _reported(runs[0], "before"), after if None in reported else reported


def _reported(run: Run, when: str) -> Counted:
    counts = (run.report or {}).get(when) or {}
    return counts.get("active"), counts.get("tokens")
