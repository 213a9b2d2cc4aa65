"""Addresses on a command line, such as the URLs of databases: shown without their secrets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from slowwave.store.errors import StoreError
from slowwave.store.places import Address, address_of

# The key under which the context of a command maps paths to the addresses that they were.
_ADDRESSES = "slowwave.addresses"


def without_secrets(context: typer.Context, args: list[str]) -> tuple[list[str], dict[str, str]]:
    """Return arguments that may be shown, and the original text of each address among them."""
    originals: dict[str, str] = {}
    shown = [_without_secrets(argument, originals) for argument in args]
    # `Path` collapses the slashes of an address.
    context.meta[_ADDRESSES] = {str(Path(name)): text for name, text in originals.items()}
    return shown, originals


def with_originals(value: Any, originals: dict[str, str]) -> Any:
    """Return a value, or a list of values, with the original text of each address."""
    if isinstance(value, list | tuple):
        return type(value)(with_originals(text, originals) for text in value)
    return originals.get(value, value) if isinstance(value, str) else value


def address_named(context: typer.Context, name: str | Path) -> Address | None:
    """Return the address that an argument is; None for a path. Raises wrong usage."""
    originals: dict[str, str] = context.meta[_ADDRESSES]
    text = originals.get(str(Path(name)))
    return None if text is None else parse_address(context, text)


def parse_address(context: typer.Context, text: str) -> Address | None:
    """Return the address that a text is; None for a path.

    Raises wrong usage for an invalid address, and where a command takes only files.
    """
    try:
        address = address_of(text)
    except StoreError as error:
        raise typer.BadParameter(f"{error.message} {error.hint}") from error
    if address is not None and all(option.name != "format" for option in context.command.params):
        raise typer.BadParameter("This command takes a file, not a database.")
    return address


def _without_secrets(argument: str, originals: dict[str, str]) -> str:
    option, is_assigned, value = argument.partition("=")
    if not (option.startswith("--") and is_assigned):
        option, is_assigned, value = "", "", argument
    # An address has no spaces; a text may start with one.
    if len(value.split()) > 1:
        return argument
    try:
        address = address_of(value)
        if address is None:
            return argument
        shown = str(address)
    except StoreError:
        shown = f"{value.partition('://')[0]}://***"
    originals[shown] = value
    return f"{option}{is_assigned}{shown}"
