"""Nights that propose: those of the nine memories of the README, in review mode or as a plan."""

from __future__ import annotations

from pathlib import Path

from cli_calls import Cli, Ended
from model_nights import smoke_id
from nights import rows

MERGE = "ebc30bb9"
SYNTHESIS, UPDATE = smoke_id("synthesize", 1, 2, 4, 9), smoke_id("update", 5, 6)
# What says all that the three memories of the synthesis say, in one sentence.
IN_ONE = (
    "Helvi settles the invoices from the shared account on the first Tuesday of the month, after "
    "the bank's cut-off at 14:00."
)


def states(path: Path) -> dict[str, str]:
    """Return the state of each proposal by its short id."""
    proposals = rows(path, "SELECT key, state FROM proposals ORDER BY run_id")
    return {row["key"][:8]: row["state"] for row in proposals}


def reviewed_night(cli: Cli, path: Path, review: str = "always", *more: object) -> Ended:
    """Run a night whose proposals wait for a person."""
    return cli("maintain", path, "--review", review, *more)


def planned(cli: Cli, path: Path, *options: object) -> Path:
    """Write the plan of a night to a file."""
    plan = path.with_name("plan.json")
    ended = cli("maintain", path, "--dry-run", "--plan-out", plan, *options)
    assert ended.code == 0, ended.err
    return plan
