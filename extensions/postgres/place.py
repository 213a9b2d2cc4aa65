"""FILE as the URL of a database whose rows are memories of tenants."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from slowwave.cli.terminal.output import clean
from slowwave.extensions.formats.place import mirrored_place, unconfirmed
from slowwave.store.errors import NotFound
from slowwave.store.places import Address, Place, PlaceKind

from .url import DatabaseUrl, is_database_url

if TYPE_CHECKING:
    from .format import PostgresFormat

# As --format takes them: a help text must not import the formats.
FORMATS_OF_DATABASES = "langgraph, mem0, agno"
# How many tenants an error names.
_MAX_SHOWN = 10


class Databases(PlaceKind):
    """The tenants of databases, each with its mirror in a table."""

    def address(self, text: str) -> Address | None:
        """Return the URL of a database. Raises `StoreError` if it is ambiguous."""
        return DatabaseUrl.parse(text) if is_database_url(text) else None

    def find(self, file: Path, format: str | None, state: Path | None) -> Place | None:
        """Return the tenant that a URL specifies, or the only one.

        Raises `StoreError`, and wrong usage if there are several tenants.
        """
        if not isinstance(file, DatabaseUrl):
            return None
        from .format import has_mirror
        from .mirror import TenantMirror

        if state is not None:
            raise typer.BadParameter(
                "--state applies to files only; a database keeps its mirrors in a table."
            )
        kind = _recognise(file) if format is None else format_in_database(format)
        named = file if file.tenant is not None else _only_tenant(file, kind)
        read_only = None
        if format is None and not has_mirror(named, kind):
            read_only = unconfirmed(
                f"{named} looks like the format {kind.name} ({kind.about})", kind.name
            )
        return mirrored_place(named, TenantMirror.of(named, kind), read_only)


def database_formats() -> dict[str, type[PostgresFormat]]:
    """Return the formats of memories in a database, by name."""
    from .agno import Agno
    from .langgraph import PostgresStore
    from .mem0 import Mem0

    return {kind.name: kind for kind in (PostgresStore, Mem0, Agno)}


def format_in_database(name: str) -> PostgresFormat:
    """Return a format of memories in a database. Raises wrong usage for an unknown name."""
    kind = database_formats().get(name)
    if kind is None:
        raise typer.BadParameter(
            f"The format of memories in a database is one of {FORMATS_OF_DATABASES}, not '{name}'."
        )
    return kind()


def _recognise(url: DatabaseUrl) -> PostgresFormat:
    """Return the format whose tables a database has; of several the one that has a mirror."""
    from slowwave.extensions.formats.base import Unreadable

    from .format import has_mirror

    formats = (kind() for kind in database_formats().values())
    recognized = [format for format in formats if format.recognises(url)]
    if not recognized:
        raise Unreadable(
            f"{url} does not have tables of memories that slowwave knows.",
            f"It knows those of {FORMATS_OF_DATABASES}.",
        )
    chosen = [format for format in recognized if len(recognized) == 1 or has_mirror(url, format)]
    if len(chosen) != 1:
        names = " or ".join(format.name for format in recognized)
        raise typer.BadParameter(f"{url} may be {names}: specify which with --format.")
    return chosen[0]


def _only_tenant(url: DatabaseUrl, format: PostgresFormat) -> DatabaseUrl:
    from .format import Tenants

    names = [name for name, _ in Tenants(url, format).versions()]
    if not names:
        raise NotFound(f"There are no memories in {url}.")
    if len(names) > 1:
        escaped = [str(url.of(name)).partition("#")[2] for name in names[:_MAX_SHOWN]]
        shown = ", ".join([*escaped, *(["..."] if len(names) > _MAX_SHOWN else [])])
        raise typer.BadParameter(
            clean(
                f"{url} has several tenants: {shown}. Specify one: '{url.of(names[0])}'; 'slowwave "
                "fleet maintain' maintains all of them."
            )
        )
    return url.of(names[0])
