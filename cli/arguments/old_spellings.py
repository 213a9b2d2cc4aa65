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
# What to do instead of each option; any other hidden option is a setting.
_OPTIONS = {
    "all_phases": "pass --phase all",
    "expire": "pass --phase expire",
    "decay": "pass --phase decay",
    "purge": "pass --phase purge",
    "max_active": "pass --phase limit, with max_active in slowwave.toml",
    "old_consolidate": "omit it, since it is the default",
    "report": "run 'slowwave log FILE --html PATH' (or --md) afterwards",
    "tree": "pass --lineage",
}
# Hidden options that are neither old nor settings.
_CURRENT = frozenset({"consolidate", "format", "hook", "state", "table", "target"})


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
        replacement = replacement_of(option)
        if replacement is not None and is_on_command_line(context, option.name):
            yield f"Deprecated: instead of {option.opts[0]}, {replacement}."


def replacement_of(option: object) -> str | None:
    """Return what to do instead of passing an option; None if it is a current one."""
    if not isinstance(option, TyperOption) or not option.hidden or option.name in _CURRENT:
        return None
    setting = f"set {option.name} in slowwave.toml, or SLOWWAVE_{option.name.upper()}"
    return _OPTIONS.get(option.name, setting)
