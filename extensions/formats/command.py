"""slowwave formats: the memory files of other agents that can be maintained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slowwave.cli.arguments.options import ConfigOption, JsonOption, QuietOption
from slowwave.cli.terminal.output import Output, clean


def formats(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="Show only the formats of this file.", readable=False),
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """List the other agents' files and databases that can be maintained.

    With PATH, recognize the format of a file.
    """
    from slowwave.extensions.postgres.place import database_formats

    from .known_formats import all_formats, recognised

    known = [kind() for kind in all_formats().values()] if path is None else recognised(path)
    databases = [kind() for kind in database_formats().values()] if path is None else []
    output = Output(json, quiet)
    output.result(
        {
            "command": "formats",
            "file": None if path is None else str(path),
            "formats": [
                {
                    "name": format.name,
                    "about": format.about,
                    "holds": format.holds,
                    "dated": format.is_dated,
                    "only_read": format.is_only_read,
                }
                for format in known
            ],
            "databases": [
                {"name": format.name, "about": format.about, "holds": format.holds}
                for format in databases
            ],
        }
    )
    lines = [_describe(format.name, format.about, format.holds) for format in known]
    if databases:
        lines.append("\nIn PostgreSQL, by the URL of the database:")
        lines += [_describe(format.name, format.about, format.holds) for format in databases]
    if path is not None and not known:
        lines = [clean(f"{path} does not have a format that slowwave knows.")]
    output.show("\n".join(lines))


def _describe(name: str, about: str, holds: str) -> str:
    return f"{name:<18} {about}\n{'':<18} a memory is {holds}"
