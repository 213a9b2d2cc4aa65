"""The URLs of databases on a command line: without passwords where a name may be shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from slowwave.extensions.postgres.url import DatabaseUrl, is_database_url
from slowwave.store.errors import StoreError

# Under which a command knows the URLs on its command line, by what they are as paths.
_URLS = "slowwave.urls"


def without_passwords(context: typer.Context, args: list[str]) -> tuple[list[str], dict[str, str]]:
    """Return arguments as they may be shown, and how the URLs among them were spelled.

    A text, such as a memory's, is what was said.
    """
    spelled: dict[str, str] = {}
    shown = [_without_password(one, spelled) for one in args]
    context.meta[_URLS] = {str(Path(one)): url for one, url in spelled.items()}
    return shown, spelled


def named_by(context: typer.Context, value: Path) -> Path:
    """Return what a name stands for: as a path a database's URL has lost slashes."""
    spelled = _spelled(context, value)
    return value if spelled is None else take_database(context, spelled)


def database_named(context: typer.Context, name: str) -> DatabaseUrl | None:
    """Return the database that a value of a command stands for; None for what is no URL."""
    spelled = _spelled(context, Path(name))
    return None if spelled is None else _database(spelled)


def take_database(context: typer.Context, text: str) -> DatabaseUrl:
    """Return the database of a URL, where a command takes other agents' files."""
    url = _database(text)
    if all(one.name != "format" for one in context.command.params):
        raise typer.BadParameter("This command takes a file, and no database.")
    return url


def as_spelled(value: Any, spelled: dict[str, str]) -> Any:
    """Return a text, or several, as they were spelled."""
    if isinstance(value, list | tuple):
        return type(value)(as_spelled(one, spelled) for one in value)
    return spelled.get(value, value) if isinstance(value, str) else value


def _spelled(context: typer.Context, value: Path) -> str | None:
    urls: dict[str, str] = context.meta[_URLS]
    return urls.get(str(value))


def _without_password(argument: str, spelled: dict[str, str]) -> str:
    """Return an argument as it may be shown, and keep how it was spelled."""
    option, is_assigned, value = argument.partition("=")
    if not (option.startswith("--") and is_assigned):
        option, is_assigned, value = "", "", argument
    # A URL has no spaces; a text may begin with one.
    if not is_database_url(value) or len(value.split()) > 1:
        return argument
    try:
        shown = str(DatabaseUrl.parse(value))
    except StoreError:
        shown = "postgresql://***"
    spelled[shown] = value
    return f"{option}{is_assigned}{shown}"


def _database(text: str) -> DatabaseUrl:
    try:
        return DatabaseUrl.parse(text)
    except StoreError as error:
        raise typer.BadParameter(f"{error.message} {error.hint}") from error
