"""FILE as the URL of a database in which memories lie as rows, tenant by tenant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from slowwave.cli.terminal.output import clean

if TYPE_CHECKING:
    from slowwave.extensions.postgres.format import PostgresFormat
    from slowwave.extensions.postgres.mirror import TenantMirror
    from slowwave.extensions.postgres.url import DatabaseUrl

# As --format takes them: a help text shall not load what knows them.
FORMATS_OF_DATABASES = "langgraph, mem0, agno"
# So many tenants are named where one is to be chosen.
_SHOWN = 10


def mirror_of_tenant(
    url: DatabaseUrl, format: str | None, state: Path | None, writes: bool
) -> TenantMirror:
    """Return the mirror of the tenant that a URL names, or of the only one there is.

    writes: whether it is to be changed; the first time, its format has to be named. Raises
    `StoreError`, and wrong usage where it could be several tenants.
    """
    from slowwave.extensions.postgres.mirror import TenantMirror
    from slowwave.extensions.postgres.tenants import has_mirror

    if state is not None:
        raise typer.BadParameter(
            "--state is for files: the mirrors of a database's tenants lie in it, in a table."
        )
    kind = _format_there(url) if format is None else format_in_database(format)
    named = url if url.tenant is not None else _only_tenant(url, kind)
    if writes and format is None and not has_mirror(named, kind):
        raise typer.BadParameter(
            f"{named} looks like {kind.name}, {kind.about}. Look at what would "
            f"be done with --dry-run; to have it done, say once: --format {kind.name}"
        )
    return TenantMirror.of(named, kind)


def format_in_database(name: str) -> PostgresFormat:
    """Return a format of memories in a database. Raises wrong usage if there is none of a name."""
    from slowwave.extensions.postgres.database_formats import database_formats

    found = database_formats().get(name)
    if found is None:
        raise typer.BadParameter(
            f"In a database memories can be of the formats {FORMATS_OF_DATABASES}, not '{name}'."
        )
    return found()


def _format_there(url: DatabaseUrl) -> PostgresFormat:
    """Return the format whose tables a database has; of several the one that has a mirror."""
    from slowwave.extensions.formats.base import Unreadable
    from slowwave.extensions.postgres.database_formats import database_formats
    from slowwave.extensions.postgres.tenants import has_mirror

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
    from slowwave.extensions.postgres.tenants import Tenants
    from slowwave.store.errors import NotFound

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
