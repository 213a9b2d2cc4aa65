"""FILE as the URL of a database in which memories lie as rows, tenant by tenant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from slowwave.cli.terminal.output import clean

if TYPE_CHECKING:
    from slowwave.store.postgres.mirror import TenantMirror
    from slowwave.store.postgres.url import DatabaseUrl

# So many tenants are named where one is to be chosen.
_SHOWN = 10


def mirror_of_tenant(
    url: DatabaseUrl, format: str | None, state: Path | None, writes: bool
) -> TenantMirror:
    """Return the mirror of the tenant that a URL names, or of the only one there is.

    writes: whether it is to be changed; the first time, its format has to be named. Raises
    `StoreError`, and wrong usage where it could be several tenants.
    """
    from slowwave.store.postgres.langgraph import PostgresStore
    from slowwave.store.postgres.mirror import TenantMirror
    from slowwave.store.postgres.tenants import has_mirror

    if state is not None:
        raise typer.BadParameter(
            "--state is for files: the mirrors of a database's tenants lie in it, in a table."
        )
    if format is not None:
        refuse_other_formats(format)
    named = url if url.tenant is not None else _only_tenant(url)
    if writes and format is None and not has_mirror(named):
        raise typer.BadParameter(
            f"{named} looks like {PostgresStore.name}, {PostgresStore.about}. Look at what would "
            f"be done with --dry-run; to have it done, say once: --format {PostgresStore.name}"
        )
    return TenantMirror.of(named)


def refuse_other_formats(format: str) -> None:
    """Refuse what memories in a database cannot be of."""
    from slowwave.store.postgres.langgraph import PostgresStore

    if format != PostgresStore.name:
        raise typer.BadParameter(
            f"In a database memories can be of the format {PostgresStore.name}, not '{format}'."
        )


def _only_tenant(url: DatabaseUrl) -> DatabaseUrl:
    from slowwave.store.errors import NotFound
    from slowwave.store.postgres.tenants import tenant_names

    names = tenant_names(url, _SHOWN + 1)
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
