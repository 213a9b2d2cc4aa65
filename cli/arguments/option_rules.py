"""Which options make no sense without others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

import typer

from .settings import is_on_command_line

# The options by which a model is asked, or its answers come from a recording.
ASKING = ("model", "replay")
# What has no effect where no model is asked; a config file for other runs may have it.
ABOUT_ASKING: dict[str, tuple[str, ...]] = dict.fromkeys(
    ("concurrency", "max_calls", "max_tokens", "max_cost", "max_time"), ASKING
)
# Options with another name on the command line than in a config file, where other commands have
# one of that name.
_OTHER_NAMES = {"all_phases": "--all", "max_active": "--limit"}


def refuse_missing(context: typer.Context, needs: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Refuse options on the command line that make no sense without one of some others."""
    given = given_in(context)
    for one, others in needs:
        if is_on_command_line(context, one) and given.isdisjoint(others):
            raise typer.BadParameter(f"{spelled(one)} goes with {any_of(others)}.")


def without_effect(
    context: typer.Context, given: Set[str], needs: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield what to say of options on the command line that have no effect without others."""
    for one, others in needs.items():
        if is_on_command_line(context, one) and given.isdisjoint(others):
            yield f"{spelled(one)} has no effect without {any_of(others)}."


def without_effect_beside(
    context: typer.Context, needless: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield what to say of options on the command line that others make needless."""
    given = given_in(context)
    for one, others in needless.items():
        if is_on_command_line(context, one) and one in given:
            for other in (each for each in others if each in given):
                yield f"{spelled(one)} has no effect beside {spelled(other)}."
                break


def given_in(context: typer.Context) -> set[str]:
    """Return the options that say something, wherever they were said."""
    return {name for name, value in context.params.items() if value not in (None, False)}


def spelled(option: str) -> str:
    """Return an option as it is spelled on the command line."""
    return _OTHER_NAMES.get(option, f"--{option.replace('_', '-')}")


def any_of(options: Sequence[str]) -> str:
    """Return options of which one is enough, as they are spelled."""
    return " or ".join(map(spelled, options))
