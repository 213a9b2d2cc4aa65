"""Which options make no sense without others."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from .settings import is_on_command_line

# The options by which a model is asked, or its answers come from a recording.
ASKING = ("model", "replay")


def refuse_missing(context: typer.Context, needs: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Refuse options on the command line that make no sense without one of some others."""
    given = {name for name, value in context.params.items() if value not in (None, False)}
    for one, others in needs:
        if is_on_command_line(context, one) and given.isdisjoint(others):
            named = " or ".join(f"--{other.replace('_', '-')}" for other in others)
            raise typer.BadParameter(f"--{one.replace('_', '-')} goes with {named}.")
