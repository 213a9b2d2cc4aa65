"""Addresses, such as the URLs of databases, on a command line: shown without what is secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from slowwave.store.errors import StoreError
from slowwave.store.places import Address, address_of

# Under which a command knows the addresses on its command line, by what they are as paths.
_ADDRESSES = "slowwave.addresses"


def without_secrets(context: typer.Context, args: list[str]) -> tuple[list[str], dict[str, str]]:
    """Return arguments as they may be shown, and how the addresses among them were spelled.

    A text, such as a memory's, is what was said.
    """
    spelled: dict[str, str] = {}
    shown = [_without_secrets(argument, spelled) for argument in args]
    context.meta[_ADDRESSES] = {str(Path(name)): address for name, address in spelled.items()}
    return shown, spelled


def named_by(context: typer.Context, value: Path) -> Path:
    """Return what a name stands for: as a path an address has lost slashes."""
    spelled = _spelled(context, value)
    address = None if spelled is None else take_address(context, spelled)
    return value if address is None else address


def address_named(context: typer.Context, name: str) -> Address | None:
    """Return the address that a value of a command stands for; None for a path."""
    spelled = _spelled(context, Path(name))
    return None if spelled is None else _parsed(spelled)


def take_address(context: typer.Context, text: str) -> Address | None:
    """Return the address that a text is; None for a path.

    Raises wrong usage where a command takes only files.
    """
    address = _parsed(text)
    takes_places = any(parameter.name == "format" for parameter in context.command.params)
    if address is not None and not takes_places:
        raise typer.BadParameter("This command takes a file, and no database.")
    return address


def as_spelled(value: Any, spelled: dict[str, str]) -> Any:
    """Return a text, or several, as they were spelled."""
    if isinstance(value, list | tuple):
        return type(value)(as_spelled(text, spelled) for text in value)
    return spelled.get(value, value) if isinstance(value, str) else value


def _spelled(context: typer.Context, value: Path) -> str | None:
    addresses: dict[str, str] = context.meta[_ADDRESSES]
    return addresses.get(str(value))


def _without_secrets(argument: str, spelled: dict[str, str]) -> str:
    """Return an argument as it may be shown, and keep how it was spelled."""
    option, is_assigned, value = argument.partition("=")
    if not (option.startswith("--") and is_assigned):
        option, is_assigned, value = "", "", argument
    # An address has no spaces; a text may begin with one.
    if len(value.split()) > 1:
        return argument
    try:
        address = address_of(value)
        if address is None:
            return argument
        shown = str(address)
    except StoreError:
        shown = f"{value.partition('://')[0]}://***"
    spelled[shown] = value
    return f"{option}{is_assigned}{shown}"


def _parsed(text: str) -> Address | None:
    try:
        return address_of(text)
    except StoreError as error:
        raise typer.BadParameter(f"{error.message} {error.hint}") from error
