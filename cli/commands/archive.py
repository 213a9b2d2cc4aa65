"""slowwave archive: what is no longer active, searched and brought back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from slowwave.cli.arguments.options import (
    NO_LIMIT,
    ConfigOption,
    EmbedderOption,
    FileArgument,
    JsonOption,
    LimitOption,
    QuietOption,
    TenantsOption,
)
from slowwave.cli.files.foreign import FormatOption, Place, StateOption, place_of
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.wording import day_of, shortened_for_stdout
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder

if TYPE_CHECKING:
    from slowwave.consolidation.recall.hit import Hit
    from slowwave.store.file import MemoryFile
    from slowwave.store.records import Memory

_Action = Literal["search", "restore"]


def archive(
    action: Annotated[_Action, typer.Argument(help="What is to be done.")],
    file: FileArgument,
    what: Annotated[
        str,
        typer.Argument(
            metavar="QUERY|MEMORY", help="What is asked; with restore an id, or the start of it."
        ),
    ],
    limit: LimitOption = 10,
    tenant: TenantsOption = None,
    embedder: EmbedderOption = DEFAULT_MODEL,
    format: FormatOption = None,
    state: StateOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Search what was archived or has expired, best first, or make one of it active again.

    What is restored counts as just used: it is the last to be archived again, and a rule gives it
    its whole time once more.
    """
    output = Output(json, quiet)
    place = place_of(file, format, state, writes=action == "restore")
    about = {"command": "archive", "action": action, "file": str(file)}
    if action == "restore":
        restored = _restored(place, what)
        output.result({**about, "id": restored.id})
        output.show(clean(f"Active again: {restored.id} {restored.content}"))
        return
    if not what.strip():
        raise typer.BadParameter("The question is blank.")
    hits, status = _found(place, what, limit, tuple(tenant or ()), embedder, quiet)
    output.result(
        {
            **about,
            "query": what,
            "hits": [_as_json(one, status[one.memory.id]) for one in hits],
        }
    )
    lines = [
        f"{clean(one.memory.id)}  {day_of(one.memory.observed_at):<10}  "
        f"{status[one.memory.id]:<8}  {shortened_for_stdout(one.memory.content)}"
        for one in hits
    ]
    output.show("\n".join(lines) or clean(f"{file}: nothing was found in the archive."))


def _restored(place: Place, prefix: str) -> Memory:
    from slowwave.store.errors import StoreError
    from slowwave.store.memories import read_memory, refuse_to_restore, restore_memory
    from slowwave.store.records import timestamp

    def bring_back(opened: MemoryFile) -> Memory:
        memory = read_memory(opened, prefix)
        refuse_to_restore(opened, memory)
        if memory.status == "superseded":
            raise StoreError(
                f"Memory {memory.id} is not archived: another took its place.",
                "'slowwave restore' makes it active all the same.",
            )
        return restore_memory(opened, memory.id, timestamp(datetime.now(UTC)))

    return place.change(bring_back)


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
