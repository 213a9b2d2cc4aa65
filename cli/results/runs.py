"""A run in a line, for every command that lists runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slowwave.cli.terminal.output import clean
from slowwave.store.ageing import PHASE
from slowwave.store.intake import DROPPED, INGESTED
from slowwave.store.ledger import DECIDED
from slowwave.store.purge import OPTION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slowwave.store.ledger import Run


def headline(run: Run, states: Mapping[str, int]) -> str:
    """Describe a run in a line; `states` counts what became of its proposals."""
    parts = [started(run), outcome_now(run.outcome, states), str(writer_of(run)), *_numbers(run)]
    return clean(f"Run {run.id}: {', '.join(parts)}.")


def _numbers(run: Run) -> list[str]:
    return [
        f"{went(run, name)} {noun}"
        for name, noun in (("active", "memories"), ("tokens", "tokens"))
        if went(run, name)
    ]


def went(run: Run, name: str) -> str:
    """Return how many of something were active before and after, where a report says so."""
    counts = [(run.report or {}).get(when) for when in ("before", "after")]
    numbers = [one.get(name) for one in counts if isinstance(one, dict)]
    known = [f"{one:,}" for one in numbers if isinstance(one, int)]
    return " -> ".join(known) if len(known) == len(counts) else ""


def outcome_now(outcome: str, states: Mapping[str, int]) -> str:
    """Return how a run ended, and how much of it was taken back since."""
    undone = states.get("undone", 0)
    if not undone or outcome == "undone":
        return outcome
    return f"{outcome}, {undone:,} of {undone + states.get('applied', 0):,} undone"


def started(run: Run) -> str:
    """Return when a run began, to the second."""
    return run.started_at[:19].replace("T", " ")


def writer_of(run: Run) -> object:
    """Return what wrote the drafts of a run; a purge, a review and a plan write none."""
    if run.options.get(OPTION):
        return "none: a purge"
    if run.options.get(DECIDED):
        return f"none: a {'plan' if run.options[DECIDED] == 'plan' else 'review'}"
    if PHASE in run.options:
        return f"none: {run.options[PHASE]}"
    if DROPPED in run.options:
        return "none: thrown away"
    writer = run.options.get("model") or "extractive"
    return f"{writer}, of conversations" if INGESTED in run.options else writer
