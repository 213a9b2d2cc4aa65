"""Options that require other options: refused, or accepted with a note."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

import typer

from .settings import is_on_command_line

# With one of these, a model or a recording answers.
ASKING = ("model", "replay")
# These have no effect without a model; a config file for other runs may set them.
ABOUT_ASKING: dict[str, tuple[str, ...]] = dict.fromkeys(
    ("concurrency", "max_calls", "max_tokens", "max_cost", "max_time"), ASKING
)


def refuse_missing(context: typer.Context, needs: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Refuse options that lack what they require; in settings only --ask, in a dry run."""
    options = given_in(context)
    for option, needed in needs:
        is_dry_ask = option == "ask" and "dry_run" in options
        is_meant = is_dry_ask or is_on_command_line(context, option)
        if is_meant and option in options and options.isdisjoint(needed):
            raise typer.BadParameter(f"{_spelled(option)} requires {_any_of(needed)}.")


def without_effect(
    context: typer.Context, options: Set[str], needs: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield a note for each option on the command line that has no effect alone."""
    for option, needed in needs.items():
        if is_on_command_line(context, option) and options.isdisjoint(needed):
            yield f"{_spelled(option)} has no effect without {_any_of(needed)}."


def given_in(context: typer.Context) -> set[str]:
    """Return the options that have a value, from any source."""
    return {name for name, value in context.params.items() if value not in (None, False)}


def _spelled(option: str) -> str:
    return "--phase consolidate" if option == "consolidate" else f"--{option.replace('_', '-')}"


def _any_of(options: Sequence[str]) -> str:
    return " or ".join(map(_spelled, options))
