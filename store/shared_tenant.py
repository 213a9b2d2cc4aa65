"""The tenant of shared facts, to which only an extension publishes.

It is protected even if the extension is not installed.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .errors import StoreError
from .extension_points import has_table
from .records import json_text

if TYPE_CHECKING:
    from .file import MemoryFile

# The tenant whose memories are the current facts.
SHARED_TENANT = "shared"
HOW_TO_SHARE = "Publish facts with 'slowwave shared publish FILE'."


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


def refuse_current_facts(file: MemoryFile, memory_ids: Sequence[str]) -> None:
    """Raise `StoreError` if one of the memories is a shared fact that was not retracted."""
    name = has_log(file) and file.value(
        "SELECT subject FROM shared_log JOIN memories ON id = memory_id "
        "WHERE status = 'active' AND id IN (SELECT value FROM json_each(?))",
        [json_text(list(memory_ids))],
    )
    if name:
        command = f"slowwave shared retract {shlex.quote(str(file.path))} {shlex.quote(name)}"
        raise StoreError(
            f"The shared fact '{name}' is current, and only retracted facts can be forgotten.",
            f"Nothing was changed. Retract it first: {command} --author NAME",
        )
