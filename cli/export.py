"""slowwave export: memories as JSON lines."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .settings import ConfigOption, FileArgument, JsonOption, QuietOption


def export(
    file: FileArgument,
    all: Annotated[
        bool, typer.Option("--all", help="Every status, with lineage and all vectors.")
    ] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write the active memories as JSON lines to stdout; --json changes nothing about them."""
    from slowwave.store.exchange import export_lines
    from slowwave.store.file import open_reading

    with open_reading(file) as opened:
        for line in export_lines(opened, all):
            sys.stdout.write(line + "\n")
