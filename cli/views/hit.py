"""What every answer of a search has of a hit, in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slowwave.consolidation.recall.search import Hit


def findings_as_json(hit: Hit) -> dict[str, Any]:
    """Return what the search found out about a memory."""
    newer = hit.later and {
        "id": hit.later.id,
        "content": hit.later.content,
        "observed_at": hit.later.observed_at,
    }
    return {
        "relevance": round(hit.relevance, 4),
        "sources": list(hit.sources),
        "shared": hit.is_shared,
        "newer": newer,
        "later": newer and newer["id"],
        # Read by scripts; nothing is guessed any longer.
        "perhaps_later": None,
    }
