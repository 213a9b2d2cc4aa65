"""The receipt of a file, from what stands in the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.snapshot.idle import IdleMarks
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.store.errors import StoreError
from slowwave.store.file import open_reading
from slowwave.store.fleet.disk import version_of
from slowwave.store.fleet.receipt import Became, Receipt
from slowwave.store.ledger import Run, count_states, read_runs
from slowwave.store.memories import consolidated_tenants, count_memories

from .fleet_job import OPTION, Item

# How often a file is looked at that agents write to meanwhile.
_LOOKS = 3
# Of which a run's report says how many there were.
_COUNTED = ("active", "tokens")


def receipt_of(
    item: Item,
    path: Path,
    became: Became,
    why: str | None,
    outcome: Outcome | None,
    marks: IdleMarks,
) -> Receipt:
    """Return the receipt of a file: its runs, what they did, and until when nothing is due.

    outcome: gives the counts of a file in which no run was.
    """
    try:
        runs = fleet_runs(path, item.last_run)
        version, until = _at_rest(path, marks)
        states = _states_of(path, runs)
        before, after = _counts(path, runs, outcome)
    except (StoreError, OSError) as error:
        why = why or getattr(error, "message", str(error))
        became = became if became in ("held", "unusable", "interrupted") else "unusable"
        return Receipt(item.key, became, why, last_run=item.last_run)
    if runs and became == "nothing":
        became = "done"  # by a worker that did not come to say so
    usage = usage_of(runs)
    return Receipt(
        item.key,
        became,
        why,
        version=version,
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


def fleet_runs(path: Path, after: str | None) -> list[Run]:
    """Return the runs of fleets in a file that came after one, oldest first."""
    with open_reading(path) as file:
        runs = read_runs(file, after or "")
    return sorted((run for run in runs if OPTION in run.options), key=lambda run: run.id)


def usage_of(runs: Sequence[Run]) -> dict[str, Any]:
    """Return what runs asked of a model, as a receipt has it.

    A run that was killed has no report: what it paid for is not counted here.
    """
    used = [(run.report or {}).get("model") or {} for run in runs]
    costs = [one.get("cost_usd", 0.0) for one in used]
    known = [one for one in costs if one is not None]
    return {
        **{
            name: sum(int(one.get(name) or 0) for one in used)
            for name in ("calls", "prompt_tokens", "completion_tokens")
        },
        "cost": sum(known) if len(known) == len(costs) else None,
    }


def _at_rest(path: Path, marks: IdleMarks) -> tuple[str, tuple[str | None] | None]:
    """Return the version of a file, and until when it rests; None if it does not.

    Both are of one moment: what an agent writes meanwhile is for the next night.
    """
    for _ in range(_LOOKS):
        version = version_of(path)
        until = marks.until()
        if version_of(path) == version:
            return version, until
    return version, None


def _states_of(path: Path, runs: Sequence[Run]) -> Counter[str]:
    if not runs:
        return Counter()
    with open_reading(path) as file:
        states = count_states(file)
    return sum((Counter(states.get(run.id, {})) for run in runs), start=Counter())


Counted = tuple[int | None, int | None]


def _counts(path: Path, runs: Sequence[Run], outcome: Outcome | None) -> tuple[Counted, Counted]:
    """Return memories and tokens before the first of the runs, and after the last."""
    if not runs:
        counts = None if outcome is None else outcome.before
        same = (None, None) if counts is None else (counts.active, counts.tokens)
        return same, same
    after = _reported(runs[-1], "after")
    if None in after:
        with open_reading(path) as file:
            counted = count_memories(file, consolidated_tenants(file, ()), count_tokens)
        after = counted.active, counted.tokens
    return _reported(runs[0], "before"), after


def _reported(run: Run, when: str) -> Counted:
    counts = (run.report or {}).get(when) or {}
    active, tokens = (counts.get(name) for name in _COUNTED)
    return active, tokens
