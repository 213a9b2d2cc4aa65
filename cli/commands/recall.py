"""slowwave recall: the memories that answer a question, or a block of context for a prompt."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from slowwave.cli.arguments.moments import end_of, start_of
from slowwave.cli.arguments.options import (
    NO_LIMIT,
    ConfigOption,
    EmbedderOption,
    FileArgument,
    JsonOption,
    KindOption,
    LayerOption,
    LimitOption,
    QuietOption,
    TenantsOption,
)
from slowwave.cli.arguments.settings import is_on_command_line
from slowwave.cli.files.places import on_place
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.wording import counted, day_of, shortened_for_stdout
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder
from slowwave.store.places import Place

if TYPE_CHECKING:
    from slowwave.consolidation.recall.block import ContextBlock
    from slowwave.consolidation.recall.search import Hit

_BlockFormat = Literal["text", "json", "messages"]
# Options that have no effect without --block.
_OF_A_BLOCK = ("budget", "worth", "block_format")


@on_place
def recall(
    context: typer.Context,
    file: FileArgument,
    place: Place,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, or words.")],
    limit: LimitOption = 10,
    tenant: TenantsOption = None,
    kind: KindOption = None,
    layer: LayerOption = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="Only with this tag. Repeatable.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="DAY", allow_from_autoenv=False, help="Only observed on this day or later."
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="DAY", allow_from_autoenv=False, help="Only observed on this day or earlier."
        ),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of",
            metavar="DAY",
            allow_from_autoenv=False,
            help="Search the memories as they were on that day.",
        ),
    ] = None,
    archived: Annotated[
        bool,
        typer.Option(
            "--archived",
            allow_from_autoenv=False,
            help="Search archived and expired memories instead.",
        ),
    ] = False,
    recency: Annotated[
        float | None,
        typer.Option(
            metavar="RATE",
            min=0,
            help="Prefer recent memories: 0.7 relevance + 0.3 exp(-RATE x hours). 0.01 halves the "
            "second part in three days.",
        ),
    ] = None,
    diverse: Annotated[
        bool, typer.Option("--diverse", help="Penalize memories that repeat higher-ranked ones.")
    ] = False,
    block: Annotated[
        bool,
        typer.Option("--block", help="Compose one block of text for a prompt, from all layers."),
    ] = False,
    budget: Annotated[
        int,
        typer.Option(metavar="TOKENS", min=1, help="With --block: its maximum length."),
    ] = 4_500,
    worth: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=0..1",
            help="With --block: the weight of a layer, or of context memories. Repeatable. "
            "Default: core=0.7, stable=0.6, working=0.5, ephemeral=0.4, context=0.4.",
        ),
    ] = None,
    block_format: Annotated[
        _BlockFormat,
        typer.Option("--block-format", help="With --block: its format."),
    ] = "text",
    embedder: EmbedderOption = DEFAULT_MODEL,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Find the memories that answer a question, best first, with the reason for each.

    A match in a superseded text finds the memory that replaced it. Writes nothing.
    """
    from slowwave.consolidation.recall.block import BlockOptions, compose_block
    from slowwave.consolidation.recall.index import Filter, RecallIndex, read_recallable_of
    from slowwave.consolidation.recall.search import SearchQuery, search
    from slowwave.store.records import timestamp

    if not query.strip():
        raise typer.BadParameter("The question is blank.")
    output = Output(json, quiet)
    tenants = tuple(tenant or ())
    if archived:
        _search_archived(place, query, limit, tenants, SentenceEmbedder(embedder), output)
        return
    earliest, latest = start_of(since, "--since"), end_of(until, "--until")
    if earliest is not None and latest is not None and earliest > latest:
        raise typer.BadParameter(f"--since {since} is after --until {until}: swap the two.")
    for option in _OF_A_BLOCK:
        if not block and is_on_command_line(context, option):
            output.note(f"--{option.replace('_', '-')} has no effect without --block.")
    search_query = SearchQuery(
        query,
        limit or NO_LIMIT,
        Filter(tenants, kind, layer, tuple(tag or ()), earliest, latest),
        end_of(as_of, "--as-of"),
        recency,
        diverse,
    )
    block_options = BlockOptions(budget, dict(map(_worth, worth or ())))
    now = timestamp(datetime.now(UTC))
    model = SentenceEmbedder(embedder)
    with place.reading() as memory_file, shown_progress(quiet) as progress:
        index = RecallIndex(read_recallable_of(memory_file, tenants, model.name), model, progress)
        if block:
            composed = compose_block(index, search_query, block_options, now)
        else:
            hits = search(index, search_query, now)
    if index.without_vector:
        output.note(
            f"{counted(index.without_vector, 'vector was', 'vectors were')} computed, but not "
            "stored; 'slowwave maintain FILE' stores them."
        )
    result = {"command": "recall", "file": str(file), "query": query}
    if block:
        output.result({**result, "block": _block_as_json(composed)})
        _show_block(composed, block_format, output)
        return
    output.result({**result, "hits": list(map(_hit_as_json, hits))})
    lines = [line for rank, hit in enumerate(hits, 1) for line in _lines(rank, hit)]
    output.show("\n".join(lines) or clean(f"{file}: nothing was found."))


def _worth(text: str) -> tuple[str, float]:
    from slowwave.consolidation.recall.block import WORTHS

    name, _, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if name not in WORTHS or not 0.0 <= number <= 1.0:
        raise typer.BadParameter(
            f"--worth takes one of {', '.join(WORTHS)}, = and a number from 0 to 1, not '{text}'."
        )
    return name, number


def _hit_as_json(hit: Hit) -> dict[str, Any]:
    return {
        "memory": asdict(hit.memory),
        "relevance": round(hit.relevance, 4),
        "cosine": round(hit.cosine, 4),
        "by_words": hit.by_words,
        "by_vectors": hit.by_vectors,
        "key": {"id": hit.key.id, "content": hit.key.content, "status": hit.key.status},
        "sources": list(hit.sources),
        "later": None if hit.later is None else hit.later.id,
        # Read by scripts; nothing is guessed any longer.
        "perhaps_later": None,
    }


def _lines(rank: int, hit: Hit) -> Iterator[str]:
    memory = hit.memory
    yield f"{rank:>2}. {shortened_for_stdout(memory.content)}"
    yield f"    {memory.layer}, {day_of(memory.observed_at)}, {clean(memory.id)}"
    words = "none of the words" if hit.by_words is None else f"{_nth(hit.by_words)} by words"
    parts = [f"relevance {hit.relevance + 0.0:.2f}: {words}, {_nth(hit.by_vectors)} by vectors"]
    if hit.key.id != memory.id:
        parts.append(f"found by what it replaced: {shortened_for_stdout(hit.key.content, 200)}")
    if hit.later is not None:
        parts.append(f"an older value than {clean(hit.later.id)} gives")
    if hit.sources:
        parts.append(f"made from {len(hit.sources)}")
    yield f"    {'; '.join(parts)}"


def _nth(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


def _block_as_json(block: ContextBlock) -> dict[str, Any]:
    return {
        "text": block.text,
        "tokens": block.tokens,
        "lines": [
            {
                "id": line.memory.id,
                "label": line.label,
                "text": line.text,
                "score": round(line.score, 4),
                "tokens": line.tokens,
            }
            for line in block.lines
        ],
        "messages": block.messages,
        "suspicious": list(block.suspicious),
    }


def _show_block(block: ContextBlock, form: _BlockFormat, output: Output) -> None:
    """Write the block, in a form that the program that builds the prompt reads."""
    if block.suspicious:
        count = counted(len(block.suspicious), "memory", "memories")
        output.note(
            f"{count} left out that would command the reader: 'slowwave audit FILE' names them."
        )
    if form == "json":
        output.show(jsonlib.dumps(_block_as_json(block)["lines"], ensure_ascii=False))
    elif form == "messages":
        output.show(jsonlib.dumps(block.messages, ensure_ascii=False))
    elif not block.text:
        output.note("No memory fits into that number of tokens, or there is none.")
    else:
        output.show("\n".join(map(clean, block.text.split("\n"))))


def _search_archived(
    place: Place,
    query: str,
    limit: int,
    tenants: tuple[str, ...],
    model: SentenceEmbedder,
    output: Output,
) -> None:
    """Search archived and expired memories, best first. Raises `StoreError`."""
    from slowwave.consolidation.recall.index import RecallIndex, read_archived_of
    from slowwave.consolidation.recall.search import SearchQuery, search
    from slowwave.store.records import timestamp

    hits: Sequence[Hit] = ()
    with place.reading() as memory_file, shown_progress(output.quiet) as progress:
        recallable, status = read_archived_of(memory_file, tenants, model.name)
        if recallable.memories:
            index = RecallIndex(recallable, model, progress)
            search_query = SearchQuery(query, limit or NO_LIMIT)
            hits = search(index, search_query, timestamp(datetime.now(UTC)))
    output.result(
        {
            "command": "archive",
            "action": "search",
            "file": str(place.named),
            "query": query,
            "hits": [
                {
                    "id": hit.memory.id,
                    "tenant": hit.memory.tenant,
                    "content": hit.memory.content,
                    "kind": hit.memory.kind,
                    "layer": hit.memory.layer,
                    "status": status[hit.memory.id],
                    "observed_at": hit.memory.observed_at,
                    "relevance": round(hit.relevance, 4),
                }
                for hit in hits
            ],
        }
    )
    lines = [
        f"{clean(hit.memory.id)}  {day_of(hit.memory.observed_at):<10}  "
        f"{status[hit.memory.id]:<8}  {shortened_for_stdout(hit.memory.content)}"
        for hit in hits
    ]
    output.show("\n".join(lines) or clean(f"{place.named}: nothing was found in the archive."))
