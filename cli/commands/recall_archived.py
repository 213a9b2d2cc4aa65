"""`slowwave recall --archived`: memories that were archived or have expired."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from slowwave.cli.arguments.options import NO_LIMIT
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.wording import day_of, shortened_for_stdout
from slowwave.consolidation.vectors.embedder import SentenceEmbedder

if TYPE_CHECKING:
    from slowwave.consolidation.recall.search import Hit
    from slowwave.store.places import Place


def search_archived(
    place: Place, query: str, limit: int, tenants: tuple[str, ...], embedder: str, output: Output
) -> None:
    """Search archived and expired memories, best first. Raises `StoreError`."""
    hits, status = _found(place, query, limit, tenants, embedder, output.quiet)
    output.result(
        {
            "command": "archive",
            "action": "search",
            "file": str(place.named),
            "query": query,
            "hits": [_as_json(hit, status[hit.memory.id]) for hit in hits],
        }
    )
    lines = [
        f"{clean(hit.memory.id)}  {day_of(hit.memory.observed_at):<10}  "
        f"{status[hit.memory.id]:<8}  {shortened_for_stdout(hit.memory.content)}"
        for hit in hits
    ]
    output.show("\n".join(lines) or clean(f"{place.named}: nothing was found in the archive."))


def _found(
    place: Place, query: str, limit: int, tenants: tuple[str, ...], embedder: str, quiet: bool
) -> tuple[list[Hit], dict[str, str]]:
    from slowwave.consolidation.recall.index import RecallIndex, read_archived_of
    from slowwave.consolidation.recall.search import SearchQuery, search
    from slowwave.store.records import timestamp

    model = SentenceEmbedder(embedder)
    with place.reading() as memory_file, shown_progress(quiet) as progress:
        recallable, status = read_archived_of(memory_file, tenants, model.name)
        if not recallable.memories:
            return [], {}
        index = RecallIndex(recallable, model, progress)
        return search(
            index, SearchQuery(query, limit or NO_LIMIT), timestamp(datetime.now(UTC))
        ), status


def _as_json(hit: Hit, status: str) -> dict[str, Any]:
    memory = hit.memory
    return {
        "id": memory.id,
        "tenant": memory.tenant,
        "content": memory.content,
        "kind": memory.kind,
        "layer": memory.layer,
        "status": status,
        "observed_at": memory.observed_at,
        "relevance": round(hit.relevance, 4),
    }
