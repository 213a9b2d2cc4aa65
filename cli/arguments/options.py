"""The options and arguments that several commands have, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slowwave.consolidation.proposals import OPERATIONS
from slowwave.store.records import Kind, Layer

from .settings import CONFIG_NAME, FILE_VARIABLE, beside_file, beside_files, read_named

# What --only stands at.
ALL_OPERATIONS = ",".join(OPERATIONS)

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
        help="The memory file, or several.",
        envvar=FILE_VARIABLE,
        is_eager=True,
        callback=beside_files,
        show_default=False,
        readable=False,
    ),
]
TenantsOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Only this tenant; again for more.")
]
EmbedderOption = Annotated[
    str,
    typer.Option(metavar="NAME|PATH", help="A sentence-transformers model on this machine."),
]
IncludeProtectedOption = Annotated[
    bool,
    typer.Option(
        "--include-protected", help="Let human, pinned and core memories be superseded, too."
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="PATH",
        is_eager=True,
        callback=read_named,
        help=f"Options as TOML; without it {CONFIG_NAME} beside FILE, if there is one.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write one JSON object to stdout.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Write nothing but errors (and JSON with --json).")
]
# As many as there are, where 0 is said.
NO_LIMIT = 10**9
MemoryArgument = Annotated[
    str, typer.Argument(metavar="MEMORY", help="Its id, or the start of it.")
]
KindOption = Annotated[Kind | None, typer.Option(help="Of what kind.")]
LayerOption = Annotated[Layer | None, typer.Option(help="How settled.")]
LimitOption = Annotated[int, typer.Option(metavar="N", min=0, help="At most so many; 0 for all.")]
HtmlOption = Annotated[
    Path | None,
    typer.Option("--html", metavar="PATH", help="As a page for a browser; - for stdout."),
]
EnabledOption = Annotated[
    bool,
    typer.Option(
        "--enabled/--no-enabled",
        help="The kill switch: with enabled = false in slowwave.toml nothing is done.",
    ),
]
ConsolidateOption = Annotated[
    bool,
    typer.Option("--consolidate", help="Merge, synthesize and extract: the dream cycle."),
]
OnlyOption = Annotated[str, typer.Option(metavar="OPERATIONS", help=f"Some of {ALL_OPERATIONS}.")]
