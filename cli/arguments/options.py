"""The options and arguments that several commands have, each declared once."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from slowwave.consolidation.proposals import OPERATIONS
from slowwave.store.records import Kind, Layer

from .settings import CONFIG_NAME, FILE_VARIABLE, beside_file, beside_files, read_named

ALL_OPERATIONS = ",".join(OPERATIONS)
OUTPUT_PANEL = "Output and settings"
# An option of slowwave.toml and the environment: only --help-all shows it.
setting = partial(
    typer.Option, hidden=True, rich_help_panel="Settings, in slowwave.toml or the environment"
)

FileArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="The memory file.",
        is_eager=True,
        callback=beside_file,
        show_default=False,
        readable=False,  # whether it can be read is for the store to say, with its own code
    ),
]
FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="The memory file, or more than one.",
        envvar=FILE_VARIABLE,
        show_envvar=True,
        is_eager=True,
        callback=beside_files,
        show_default=False,
        readable=False,
    ),
]
TenantsOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Only this tenant; repeat for more.")
]
EmbedderOption = Annotated[
    str,
    typer.Option(metavar="NAME|PATH", help="A sentence-transformers model on this machine."),
]
IncludeProtectedOption = Annotated[
    bool,
    typer.Option(
        "--include-protected", help="Allow human, pinned and core memories to be superseded."
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
        help=f"Read settings from this file, not from {CONFIG_NAME} beside FILE.",
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", rich_help_panel=OUTPUT_PANEL, help="Write one JSON object to stdout."),
]
QuietOption = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        rich_help_panel=OUTPUT_PANEL,
        help="Write only errors (and, with --json, the JSON).",
    ),
]
# What --limit 0 means.
NO_LIMIT = 10**9
MemoryArgument = Annotated[
    str, typer.Argument(metavar="MEMORY", help="Its id, or a unique prefix.")
]
KindOption = Annotated[Kind | None, typer.Option(help="Only this kind.")]
LayerOption = Annotated[Layer | None, typer.Option(help="Only this layer.")]
LimitOption = Annotated[
    int, typer.Option(metavar="N", min=0, help="Maximum results; 0 for no limit.")
]
HtmlOption = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="PATH", allow_from_autoenv=False, help="Write an HTML page; - for stdout."
    ),
]
EnabledOption = Annotated[
    bool,
    setting("--enabled/--no-enabled", help="The kill switch: if false, nothing is done."),
]
ConsolidateOption = Annotated[
    bool,
    typer.Option("--consolidate", help="Merge, synthesize and extract: the dream cycle."),
]
FleetMetricsOption = Annotated[
    Path | None,
    typer.Option(
        "--metrics",
        metavar="PATH",
        help="Write the totals as a Prometheus textfile, for node_exporter's textfile collector.",
    ),
]
OnlyOption = Annotated[
    str,
    typer.Option(
        metavar="OPERATIONS",
        show_default=False,
        help=f"Only these operations, separated by commas: {ALL_OPERATIONS}.",
    ),
]
