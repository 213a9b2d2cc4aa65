"""The tenant of shared facts, to which only an extension publishes.

It is protected even if the extension is not installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import StoreError
from .extension_points import has_table

if TYPE_CHECKING:
    from .file import MemoryFile

# The tenant whose memories are the current facts.
SHARED_TENANT = "shared"
HOW_TO_SHARE = "Publish facts with 'slowwave shared FILE'."


def has_log(file: MemoryFile) -> bool:
    """Whether anything was ever shared in the file."""
    return has_table(file.conn, "shared_log") and bool(
        file.value("SELECT EXISTS (SELECT 1 FROM shared_log)")
    )


def shared_tenants(file: MemoryFile) -> tuple[str, ...]:
    """Return the tenant of shared facts; () if nothing was ever shared."""
    return (SHARED_TENANT,) if has_log(file) else ()


def refuse_unpublished(tenant: str) -> None:
    """Raise `StoreError` for the tenant of shared facts, even if nothing is shared yet."""
    if tenant == SHARED_TENANT:
        raise StoreError(
            f"The tenant '{SHARED_TENANT}' contains only published shared facts.",
            HOW_TO_SHARE,
        )
