"""The tenant of shared knowledge, which only what is published gets into.

An extension publishes. That nothing else changes what it published holds without it, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import StoreError
from .extension_points import has_table

if TYPE_CHECKING:
    from .file import MemoryFile

# The tenant whose memories are the facts that hold now.
SHARED_TENANT = "shared"
HOW_TO_SHARE = "Publish facts with 'slowwave shared'."


def has_log(file: MemoryFile) -> bool:
    """Whether anything was ever shared in the file."""
    return has_table(file.db, "shared_log") and bool(
        file.value("SELECT EXISTS (SELECT 1 FROM shared_log)")
    )


def refuse_unpublished(tenant: str) -> None:
    """Refuse to write to a tenant what was not published. Raises `StoreError`.

    Also where nothing is shared yet: what somebody else wrote there would keep that from beginning.
    """
    if tenant == SHARED_TENANT:
        raise StoreError(
            f"The tenant '{SHARED_TENANT}' is that of shared knowledge: only what is published "
            "gets into it.",
            HOW_TO_SHARE,
        )
