"""The options and arguments that several commands have, each declared once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from slowwave.cli.terminal.output import Output
from slowwave.consolidation.options import Review
from slowwave.consolidation.proposals import OPERATIONS, Operation
from slowwave.store.extension_points import registered

from .settings import CONFIG_NAME, FILE_VARIABLE, config_for_file, config_for_files, read_named

ALL_OPERATIONS = ",".join(OPERATIONS)
PROPOSALS_PANEL = "Proposals"
OUTPUT_PANEL = "Output and settings"


def checked_by(parse: Callable[[Any], object]) -> Callable[[Any], Any]:
    """Return the callback of an option whose value is refused as `parse` does."""

    def check(value: Any) -> Any:
        if value is not None:
            parse(value)
        return value

    return check


# An option of slowwave.toml and the environment: only --help-all shows it.
setting = partial(
    typer.Option, hidden=True, rich_help_panel="Settings, in slowwave.toml or the environment"
)
# An option of a single call, which neither slowwave.toml nor the environment sets.
per_call = partial(typer.Option, allow_from_autoenv=False)

FileArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="The memory file.",
        is_eager=True,
        callback=config_for_file,
        show_default=False,
        readable=False,  # the store refuses an unreadable file, with its own exit code
    ),
]
FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="The memory files.",
        envvar=FILE_VARIABLE,
        show_envvar=True,
        is_eager=True,
        callback=config_for_files,
        show_default=False,
        readable=False,
    ),
]
TenantsOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Only this tenant. Repeatable.")
]
EmbedderOption = Annotated[
    str,
    typer.Option(
        metavar="NAME|PATH",
        help="The embedding model: a sentence-transformers model on this machine.",
    ),
]
IncludeProtectedOption = Annotated[
    bool,
    typer.Option(
        "--include-protected",
        help="Allow changes to protected memories (written by a human, pinned, or core).",
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="PATH",
        is_eager=True,
        callback=read_named,
        rich_help_panel=OUTPUT_PANEL,
        help=f"Read settings from this file, not from {CONFIG_NAME} next to FILE.",
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", rich_help_panel=OUTPUT_PANEL, help="Print one JSON object."),
]
QuietOption = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        rich_help_panel=OUTPUT_PANEL,
        help="Print only errors (and the JSON of --json).",
    ),
]


@dataclass(frozen=True)
class OutputOptions(Output):
    """What every command takes: how it prints, and where its settings are."""

    json: JsonOption = False
    quiet: QuietOption = False
    config: ConfigOption = None


DryRunOption = Annotated[
    bool, per_call("--dry-run", help="Show whether it is possible, without changing anything.")
]
MemoryArgument = Annotated[
    str, typer.Argument(metavar="MEMORY", help="The id of a memory, or a unique prefix.")
]
HtmlOption = Annotated[
    Path | None, per_call("--html", metavar="PATH", help="Write an HTML page. - for stdout.")
]
SkipInvalidOption = Annotated[
    bool, typer.Option("--skip-invalid", help="Skip and report invalid lines.")
]
EnabledOption = Annotated[
    bool,
    setting(
        "--enabled/--no-enabled",
        help="Kill switch: --no-enabled, or enabled = false, makes the command do nothing.",
    ),
]
ReviewOption = Annotated[
    Review,
    typer.Option(
        rich_help_panel=PROPOSALS_PANEL,
        help="What to queue for 'slowwave review'. always: all; risky: updates, rules, protected "
        "or loosely connected memories, a model's own words; never: none.",
    ),
]


def worker_of(option: str) -> Any:
    """Return what an extension registers for an option. Raises wrong usage if none does."""
    workers = dict(registered("options", option))
    if option not in workers:
        raise typer.BadParameter(f"--{option} requires an extension that is not installed.")
    return workers[option]


def operations_of(only: str) -> frozenset[Operation]:
    """Return the operations of --only. Raises `typer.BadParameter`."""
    chosen = frozenset(map(str.strip, only.split(",")))
    if unknown := sorted(chosen - {*OPERATIONS}):
        raise typer.BadParameter(f"--only takes {ALL_OPERATIONS}, not '{','.join(unknown)}'.")
    return cast("frozenset[Operation]", chosen)


OnlyOption = Annotated[
    str,
    typer.Option(
        metavar="OPERATIONS",
        show_default=False,
        callback=checked_by(operations_of),
        help=f"Only these operations, comma-separated: {ALL_OPERATIONS}.",
    ),
]
