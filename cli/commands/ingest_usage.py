"""Which options and arguments of 'slowwave ingest' go together."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer

from slowwave.cli.arguments.option_rules import (
    ABOUT_ASKING,
    ASKING,
    given_in,
    refuse_missing,
    without_effect,
    without_effect_beside,
)
from slowwave.cli.arguments.settings import is_on_command_line
from slowwave.store.opening import is_database
from slowwave.store.shared_tenant import refuse_unpublished

# What makes no sense without one of some others.
_NEEDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("api_base", ("model",)),
    ("checker", ASKING),
    ("record", ASKING),
    ("ask", ASKING),
    ("ask", ("dry_run",)),
)
_NO_EFFECT_WITHOUT = {**ABOUT_ASKING, "instructions": ASKING, "interval": ("watch",)}
# What reads all messages leaves nothing to say of how many.
_NO_EFFECT_BESIDE = {"lookback": ("whole", "distill"), "whole": ("distill",)}
# What is about conversations that wait already, and reads none.
_OF_WHAT_WAITS = ("waiting", "drop")


def refuse_databases(file: Path, conversations: Sequence[Path]) -> None:
    """Refuse a database in place of a conversation: FILE may stand in the wrong place."""
    for one in conversations:
        if not is_database(one):
            continue
        if is_database(file):
            raise typer.BadParameter(f"{one} is a database, and no conversation.")
        others = [file, *(other for other in conversations if other != one)]
        named = " ".join(shlex.quote(str(path)) for path in (one, *others))
        raise typer.BadParameter(
            f"{one} is a database, and {file} is none. The memory file comes first: "
            f"slowwave ingest {named}"
        )


def refuse_what_does_not_go(context: typer.Context, has_conversations: bool) -> None:
    """Refuse options that make no sense without others, or beside them."""
    refuse_missing(context, _NEEDS)
    _refuse_unknown_format(context.params["from_format"])
    beside = (("conversations beside it", has_conversations),)
    _refuse_beside(context, "watch", (*beside, ("--dry-run", bool(context.params["dry_run"]))))
    for one in _OF_WHAT_WAITS:
        others = [
            (f"--{other}", is_on_command_line(context, other))
            for other in (*_OF_WHAT_WAITS, "watch", "model", "replay")
            if other != one
        ]
        _refuse_beside(context, one, (*beside, *others))


def refuse_tenant(tenant: str) -> None:
    """Refuse a tenant that no conversation goes into. Raises `StoreError` for that of all."""
    if not tenant.strip():
        raise typer.BadParameter("--tenant takes a name, not a blank.")
    refuse_unpublished(tenant)


def options_without_effect(context: typer.Context) -> Iterator[str]:
    """Return what to say of options that have no effect without others."""
    yield from without_effect(context, given_in(context), _NO_EFFECT_WITHOUT)
    yield from without_effect_beside(context, _NO_EFFECT_BESIDE)


def _refuse_unknown_format(name: str | None) -> None:
    from slowwave.store.conversations.conversation_formats import FORMATS

    known = [one.name for one in FORMATS]
    if name is not None and name not in known:
        raise typer.BadParameter(
            f"Unknown conversation format '{name}'. Known formats: {', '.join(known)}."
        )


def _refuse_beside(context: typer.Context, option: str, others: Sequence[tuple[str, bool]]) -> None:
    """Refuse an option of the command line beside the first of some others that is there."""
    other = next((name for name, is_there in others if is_there), None)
    if other is not None and is_on_command_line(context, option):
        raise typer.BadParameter(f"--{option} does not go with {other}.")
