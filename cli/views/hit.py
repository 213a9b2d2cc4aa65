"""What every answer of a search has of a hit, in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.wording import time_of

if TYPE_CHECKING:
    from slowwave.consolidation.recall.search import Hit
    from slowwave.store.records import Memory


def findings_as_json(hit: Hit) -> dict[str, Any]:
    """Return what the search found out about a memory."""
    newer, contradicts = map(_named, (hit.later, hit.contradicts))
    return {
        "relevance": round(hit.relevance, 4),
        "sources": list(hit.sources),
        "shared": hit.is_shared,
        "newer": newer,
        "later": newer and newer["id"],
        "contradicts": contradicts,
        # Read by scripts; nothing is guessed any longer.
        "perhaps_later": None,
    }


def _named(memory: Memory | None) -> dict[str, str | None] | None:
    if memory is None:
        return None
    return {"id": memory.id, "content": memory.content, "observed_at": time_of(memory.observed_at)}
