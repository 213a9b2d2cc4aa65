"""slowwave formats: which memory files of other agents can be maintained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slowwave.cli.arguments.options import ConfigOption, JsonOption, QuietOption
from slowwave.cli.terminal.output import Output, clean


def formats(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="[PATH]", help="Say which of them a file is.", readable=False),
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """List the other agents' files and databases that can be maintained.

    With PATH, say which of them it is.
    """
    from slowwave.extensions.postgres.database_formats import database_formats

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
                    "name": one.name,
                    "about": one.about,
                    "holds": one.holds,
                    "dated": one.is_dated,
                    "only_read": one.is_only_read,
                }
                for one in known
            ],
            "databases": [
                {"name": one.name, "about": one.about, "holds": one.holds} for one in databases
            ],
        }
    )
    lines = [_described(one.name, one.about, one.holds) for one in known]
    if databases:
        lines.append("\nIn PostgreSQL, by the URL of the database:")
        lines += [_described(one.name, one.about, one.holds) for one in databases]
    if path is not None and not known:
        lines = [clean(f"{path} is of no format that slowwave knows.")]
    output.show("\n".join(lines))


def _described(name: str, about: str, holds: str) -> str:
    return f"{name:<18} {about}\n{'':<18} a memory is {holds}"
