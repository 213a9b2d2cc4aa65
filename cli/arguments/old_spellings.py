"""Spellings of earlier versions: they still work, and a line on stderr names the new one."""

from __future__ import annotations

from collections.abc import Iterator

import typer
from typer.core import TyperOption

from .settings import is_on_command_line

# What replaces each command of earlier versions.
_COMMANDS = {
    "init": "import --empty",
    "apply": "review apply",
    "trace": "show --lineage",
    "diff": "log --diff",
    "report": "log",
    "stats": "log --stats",
    "restore": "undo",
    "archive search": "recall --archived",
    "archive restore": "undo",
}
# What replaces each option; any other hidden option is a setting.
_OPTIONS = {
    "all_phases": "--phase all",
    "expire": "--phase expire",
    "decay": "--phase decay",
    "purge": "--phase purge",
    "max_active": "--phase limit, with max_active in slowwave.toml",
    "interactive": "--review always, followed by 'slowwave review ask FILE'",
    "report": "'slowwave log FILE --html PATH' (or --md) after the run",
    "tree": "--lineage",
}
# Hidden options that are neither old nor settings.
_CURRENT = frozenset({"consolidate", "format", "hook", "state", "table"})


def current_command(args: list[str]) -> tuple[list[str], str | None]:
    """Return the arguments in the current spelling, and a hint if it was an old one."""
    for old, new in _COMMANDS.items():
        length = len(old.split())
        if args[:length] == old.split():
            hint = f"Deprecated: 'slowwave {old}' is now 'slowwave {new}'."
            return [*new.split(), *args[length:]], hint
    return args, None


def old_commands() -> str:
    """Return the old commands and their replacements, for --help-all."""
    pairs = "; ".join(f"{old} is now {new}" for old, new in _COMMANDS.items())
    return f"Commands of earlier versions: {pairs}."


def hints_of_options(context: typer.Context) -> Iterator[str]:
    """Yield a hint for each hidden option on the command line."""
    for option in context.command.params:
        if not isinstance(option, TyperOption) or not option.hidden or option.name in _CURRENT:
            continue
        if is_on_command_line(context, option.name):
            yield f"Deprecated: {option.opts[0]} is now {_replacement(option)}."


def _replacement(option: TyperOption) -> str:
    setting = f"{option.name} in slowwave.toml, or SLOWWAVE_{option.name.upper()}"
    return _OPTIONS.get(option.name, setting)
