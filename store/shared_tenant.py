"""The tenant of shared knowledge, which only what is published gets into."""

from __future__ import annotations

from .errors import StoreError

# The tenant whose memories are the facts that hold now.
SHARED_TENANT = "shared"
HOW_TO_SHARE = "Publish facts with 'slowwave shared'."


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
