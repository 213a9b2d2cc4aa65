"""Which options of maintain go together: what makes no sense is refused before anything is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from pathlib import Path

import typer

from slowwave.cli.arguments.option_rules import (
    ABOUT_ASKING,
    ASKING,
    any_of,
    spelled,
    without_effect,
)
from slowwave.cli.arguments.settings import is_on_command_line
from slowwave.cli.pages.report_file import refuse_unwritable
from slowwave.cli.pages.report_form import is_page

# What makes no sense without one of some others.
_NEEDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("api_base", ("model",)),
    ("ask", ASKING),
    ("plan_out", ("dry_run",)),
)
# The same, but a config file for other runs may have them.
_NEEDS_WHERE_SAID: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("checker", ASKING),
    ("record", ASKING),
)
# The same, but a config file for dry runs may have them together with --no-dry-run.
_NEEDS_DRY_RUN = ("ask", "exit_code")
# What has no effect without one of some others: it may stand in a config file for other runs.
_NO_EFFECT_WITHOUT: dict[str, tuple[str, ...]] = {
    **ABOUT_ASKING,
    "keep_backups": ("backup",),
    "retain": ("expire",),
    "guard": ("consolidate",),
    "guard_limit": ("guard",),
    "review": ("consolidate",),
    "reconsider": ("consolidate",),
    "full": ("consolidate",),
}


def phases_of(
    all_phases: bool, consolidate: bool, expire: bool, decay: bool, purge: bool
) -> frozenset[str]:
    """Return the phases that are wanted, but for the limit, which is a number."""
    wanted = {"consolidate": consolidate, "expire": expire, "decay": decay, "purge": purge}
    return frozenset(name for name, chosen in wanted.items() if chosen or all_phases)


def refuse_what_lacks(context: typer.Context, given: Set[str]) -> None:
    """Refuse an option that makes no sense without another one."""
    needs = [
        *_NEEDS,
        *(one for one in _NEEDS_WHERE_SAID if is_on_command_line(context, one[0])),
        *((one, ("dry_run",)) for one in _NEEDS_DRY_RUN if is_on_command_line(context, one)),
    ]
    for one, others in needs:
        if one in given and given.isdisjoint(others):
            raise typer.BadParameter(f"{spelled(one)} goes with {any_of(others)}.")


def refuse_unasked_guard(given: Set[str]) -> None:
    """Refuse to measure in a dry run what a model would not be asked for."""
    if {"guard", "dry_run"} <= given and "ask" not in given and not given.isdisjoint(ASKING):
        raise typer.BadParameter("In a dry run --guard goes with --ask: what is measured is asked.")


def options_without_effect(context: typer.Context, given: Set[str]) -> Iterator[str]:
    """Return what to say of options that have no effect without others."""
    return without_effect(context, given, _NO_EFFECT_WITHOUT)


def refuse_report(report: Path | None, files: Sequence[Path]) -> None:
    """Refuse a report that could not be written, before a night is spent on it."""
    if report is None:
        return
    if len(files) > 1:
        raise typer.BadParameter(
            "--report works with one file only: name one, or run each by itself."
        )
    is_page(report)
    refuse_unwritable(report)
