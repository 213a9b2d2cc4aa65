"""slowwave formats: the memory files of other agents that can be maintained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.options import OutputOptions
from slowwave.cli.terminal.output import Output, clean
from slowwave.store.errors import StoreError
from slowwave.store.validate import is_memory_file

if TYPE_CHECKING:
    from .base import Format


def formats(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="Show only the formats of this file.", readable=False),
    ] = None,
    *,
    find: Annotated[
        bool,
        typer.Option(
            "--find",
            allow_from_autoenv=False,
            help="Find the memories of agents that work in this folder.",
        ),
    ] = False,
    hook: Annotated[
        str | None,
        typer.Option(
            "--hook",
            metavar="EVENT",
            allow_from_autoenv=False,
            hidden=True,
            help="Run as a hook of an agent's harness: session-start or session-end.",
        ),
    ] = None,
    output: OutputOptions,
) -> None:
    """List the other agents' files and databases that can be maintained.

    With PATH, recognize the format of a file, or fail and suggest what to try. With --find, list
    the memories of agents that work in this folder, the nearest first.
    """
    if hook is not None:
        from .hook import answer_hook

        answer_hook(hook)
        return
    if find:
        _show_found(output)
        return
    from slowwave.extensions.postgres.place import database_formats

    from .known_formats import all_formats, recognised, unrecognised
    from .place import offer_tables
    from .table import UserTable

    formats: Sequence[Format | type[Format]] = (
        [*all_formats().values(), UserTable] if path is None else recognised(path)
    )
    databases = [*database_formats().values()] if path is None else []
    output.result(
        "formats",
        file=None if path is None else str(path),
        formats=[
            _as_json(format) | {"dated": format.is_dated, "only_read": format.is_only_read}
            for format in formats
        ],
        databases=list(map(_as_json, databases)),
    )
    lines = list(map(_describe, formats))
    if databases:
        lines += ["\nIn PostgreSQL, by the URL of the database:", *map(_describe, databases)]
    if path is not None and not formats:
        if not is_memory_file(path):
            offer_tables(path)
            raise unrecognised(path)
        lines = [f"{path} is a memory file of slowwave, which does not take --format."]
    output.show("\n".join(lines))


def _show_found(output: Output) -> None:
    from .find import find_memories

    try:
        memories = find_memories(Path.cwd(), is_daily=True)
    except FileNotFoundError:
        raise StoreError("The current folder no longer exists.", "Change to another one.") from None
    output.result(
        "formats",
        found=[
            {"file": str(memory.path), "format": memory.format, "agent": memory.agent}
            for memory in memories
        ],
    )
    lines = [
        f"{memory.format:<18} {clean(str(memory.path))} ({memory.agent})" for memory in memories
    ]
    output.show("\n".join(lines) or "No memory was found.")


def _as_json(format: Format | type[Format]) -> dict[str, object]:
    return {"name": format.name, "about": format.about, "holds": format.holds}


def _describe(format: Format | type[Format]) -> str:
    return f"{format.name:<18} {format.about}\n{'':<18} a memory is {format.holds}"
