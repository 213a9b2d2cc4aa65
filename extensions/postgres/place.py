"""FILE as the URL of a database in which memories lie as rows, tenant by tenant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from slowwave.cli.terminal.output import clean
from slowwave.extensions.formats.place import mirrored_place
from slowwave.store.places import Address, Place, PlaceKind

from .url import DatabaseUrl, is_database_url

if TYPE_CHECKING:
    from .format import PostgresFormat

# As --format takes them: a help text shall not load what knows them.
FORMATS_OF_DATABASES = "langgraph, mem0, agno"
# So many tenants are named where one is to be chosen.
_SHOWN = 10


class Databases(PlaceKind):
    """The tenants of databases, each with its mirror in a table."""

    def address(self, text: str) -> Address | None:
        """Return the URL of a database. Raises `StoreError` if it could be read in two ways."""
        return DatabaseUrl.parse(text) if is_database_url(text) else None

    def find(self, file: Path, format: str | None, state: Path | None) -> Place | None:
        """Return the tenant that a URL names, or the only one there is.

        Raises `StoreError`, and wrong usage where it could be several tenants.
        """
        return _tenant(file, format, state) if isinstance(file, DatabaseUrl) else None


def _tenant(url: DatabaseUrl, format: str | None, state: Path | None) -> Place:
    from .mirror import TenantMirror
    from .tenants import has_mirror

    if state is not None:
        raise typer.BadParameter(
            "--state is for files: the mirrors of a database's tenants lie in it, in a table."
        )
    kind = _format_there(url) if format is None else format_in_database(format)
    named = url if url.tenant is not None else _only_tenant(url, kind)
    unconfirmed = None
    if format is None and not has_mirror(named, kind):
        unconfirmed = (
            f"{named} looks like {kind.name}, {kind.about}. Look at what would "
            f"be done with --dry-run; to have it done, say once: --format {kind.name}"
        )
    return mirrored_place(named, TenantMirror.of(named, kind), unconfirmed)


def format_in_database(name: str) -> PostgresFormat:
    """Return a format of memories in a database. Raises wrong usage if there is none of a name."""
    from .database_formats import database_formats

    found = database_formats().get(name)
    if found is None:
        raise typer.BadParameter(
            f"In a database memories can be of the formats {FORMATS_OF_DATABASES}, not '{name}'."
        )
    return found()


def _format_there(url: DatabaseUrl) -> PostgresFormat:
    """Return the format whose tables a database has; of several the one that has a mirror."""
    from slowwave.extensions.formats.base import Unreadable

    from .database_formats import database_formats
    from .tenants import has_mirror

    found = [one for one in (kind() for kind in database_formats().values()) if one.recognises(url)]
    if not found:
        raise Unreadable(
            f"{url} has no tables of memories that slowwave knows.",
            f"It knows those of {FORMATS_OF_DATABASES}.",
        )
    mirrored = [one for one in found if has_mirror(url, one)] if len(found) > 1 else found
    if len(mirrored) != 1:
        names = " or ".join(one.name for one in found)
        raise typer.BadParameter(f"{url} may be {names}: say which with --format.")
    return mirrored[0]


def _only_tenant(url: DatabaseUrl, format: PostgresFormat) -> DatabaseUrl:
    from slowwave.store.errors import NotFound

    from .tenants import Tenants

    names = Tenants(url, format).names(_SHOWN + 1)
    if not names:
        raise NotFound(f"There are no memories in {url}.")
    if len(names) > 1:
        shown = ", ".join([*names[:_SHOWN], *(["..."] if len(names) > _SHOWN else [])])
        raise typer.BadParameter(
            clean(
                f"{url} has several tenants: {shown}. Name one: '{url.of(names[0])}'; the nights "
                "of all are for 'slowwave fleet maintain'."
            )
        )
    return url.of(names[0])
