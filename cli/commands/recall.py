"""slowwave recall: the memories that answer a question, or a block of context for a prompt."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from slowwave.cli.arguments.durations import moment_of
from slowwave.cli.arguments.filter_options import FilterOptions
from slowwave.cli.arguments.options import EmbedderOption, OutputOptions, per_call
from slowwave.cli.terminal.output import Output, clean, harmless_json
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.wording import counted, day_of, shortened_for_stdout, time_of
from slowwave.cli.views.memory import findings_as_json, mark, memory_as_json
from slowwave.consolidation.thresholds import MIN_RELEVANCE, WORTHS
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder
from slowwave.store.file import open_reading
from slowwave.store.memories import tenants
from slowwave.store.memory_filter import NO_LIMIT
from slowwave.store.places import Place
from slowwave.store.records import timestamp

if TYPE_CHECKING:
    from slowwave.consolidation.recall.block import ContextBlock
    from slowwave.consolidation.recall.search import Hit

_BlockFormat = Literal["text", "json", "messages"]


def recall(
    place: Place,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, or words.")],
    limit: Annotated[
        int, typer.Option(metavar="N", min=0, help="Maximum number of results; 0 for no limit.")
    ] = 10,
    *,
    only: FilterOptions,
    shared: Annotated[
        bool, typer.Option("--shared", help="With --tenant: search the shared facts, too.")
    ] = False,
    as_of: Annotated[
        str | None,
        per_call("--as-of", metavar="DAY", help="Search the memories as they were on that day."),
    ] = None,
    archived: Annotated[
        bool, per_call("--archived", help="Search archived and expired memories instead.")
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
    min_relevance: Annotated[
        float,
        typer.Option(
            metavar="0..1",
            min=0,
            max=1,
            help="Find nothing if no memory is this relevant, and omit hits less than a "
            "third as relevant as the best. 0 for all.",
        ),
    ] = MIN_RELEVANCE,
    diverse: Annotated[
        bool, typer.Option("--diverse", help="Penalize memories that repeat higher-ranked ones.")
    ] = False,
    block: Annotated[
        bool,
        typer.Option("--block", help="Compose one block of text for a prompt, from all layers."),
    ] = False,
    budget: Annotated[
        int, typer.Option(metavar="TOKENS", min=1, help="With --block: its maximum length.")
    ] = 4_500,
    worth: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=0..1",
            help="With --block: the weight of a layer, or of shared or context memories. "
            f"Repeatable. Default: {', '.join(map('{0[0]}={0[1]}'.format, WORTHS.items()))}.",
        ),
    ] = None,
    block_format: Annotated[
        _BlockFormat, typer.Option("--block-format", help="With --block: its format.")
    ] = "text",
    embedder: EmbedderOption = DEFAULT_MODEL,
    output: OutputOptions,
) -> None:
    """Find the memories that answer a question, best first.

    A match in a superseded text finds the memory that replaced it. Writes nothing.
    """
    from slowwave.consolidation.recall.block import BlockOptions, compose_block
    from slowwave.consolidation.recall.index import (
        RecallIndex,
        read_archived_of,
        read_recallable_of,
    )
    from slowwave.consolidation.recall.search import SearchQuery, search
    from slowwave.store.connection import translate_errors

    filters, moment = only.chosen(), moment_of(as_of, "--as-of", time.max)
    block_options = BlockOptions(budget, dict(map(_worth, worth or ())))
    now = timestamp(datetime.now(UTC))
    # The index has only the memories of the tenants, and shared facts.
    of_any_tenant = replace(filters, tenants=())
    search_query = SearchQuery(
        query, limit or NO_LIMIT, of_any_tenant, moment, recency, diverse, min_relevance
    )
    model = SentenceEmbedder(embedder)
    # The real status of archived memories, by id.
    status: dict[str, str] = {}
    with place.reading() as path, translate_errors(path), shown_progress(output.quiet) as progress:
        with open_reading(path) as opened:
            shows_tenants = len(tenants(opened)) > 1
        if archived:
            recallable, status = read_archived_of(path, filters.tenants, model.name)
        else:
            recallable = read_recallable_of(path, filters.tenants, model.name, shared)
        index = RecallIndex(recallable, model, progress, words_suffice=True)
        if block:
            composed = compose_block(index, search_query, block_options, now)
        else:
            hits = search(index, search_query, now)
    if index.words_only is not None:
        output.note(f"Only words were searched, since embedding failed. {index.words_only}")
    head = {"file": str(place.named), "query": query, "words_only": index.words_only}
    if block:
        output.result("recall", **head, block=_block_as_json(composed))
        _show_block(composed, block_format, output)
        return
    if archived:
        archived_hits = [_archived_as_json(hit, status[hit.memory.id]) for hit in hits]
        output.result("archive", action="search", **head, hits=archived_hits)
    else:
        output.result("recall", **head, hits=list(map(_hit_as_json, hits)))
    lines = [
        line
        for rank, hit in enumerate(hits, 1)
        for line in _lines(rank, hit, status, shows_tenants)
    ]
    scope = " in the archive" if archived else ""
    output.show("\n".join(lines) or clean(f"{place.named}: nothing was found{scope}."))


def _worth(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if name not in WORTHS or not 0.0 <= number <= 1.0:
        raise typer.BadParameter(
            f"--worth takes NAME=0..1, where NAME is one of {', '.join(WORTHS)}, not '{text}'."
        )
    return name, number


def _hit_as_json(hit: Hit) -> dict[str, Any]:
    return {
        "memory": memory_as_json(hit.memory),
        "cosine": round(hit.cosine, 4),
        "by_words": hit.by_words,
        "by_vectors": hit.by_vectors,
        "key": {"id": hit.key.id, "content": hit.key.content, "status": hit.key.status},
        **findings_as_json(hit),
    }


def _lines(rank: int, hit: Hit, status: Mapping[str, str], shows_tenant: bool) -> Iterator[str]:
    """Yield a hit and the reason for it. status: of archived memories, by id."""
    memory = hit.memory
    subject = memory.unmentioned_subject
    yield f"{rank:>2}. {clean(subject and f'{subject}: ')}{shortened_for_stdout(memory.content)}"
    layer = f"shared {memory.layer}" if hit.is_shared else memory.layer
    layer = status.get(memory.id, layer)
    tenant = f"tenant {memory.tenant}" if shows_tenant and not hit.is_shared else ""
    details = filter(None, (tenant, layer, day_of(memory.observed_at), memory.file, memory.id))
    yield clean(f"    {', '.join(details)}")
    words = "none of the words" if hit.by_words is None else f"{_nth(hit.by_words)} by words"
    vectors = "" if hit.by_vectors is None else f", {_nth(hit.by_vectors)} by vectors"
    parts = [f"relevance {hit.relevance + 0.0:.2f}: {words}{vectors}"]
    if hit.key.id != memory.id:
        parts.append(f"found by what it replaced: {shortened_for_stdout(hit.key.content, 200)}")
    if hit.sources:
        parts.append(f"derived from {len(hit.sources)}")
    yield f"    {'; '.join(parts)}"
    if hit.rival is not None:
        rival_name = ", ".join(filter(None, (clean(hit.rival.id), day_of(hit.rival.observed_at))))
        relation = f"newer value in {rival_name}" if hit.later else f"contradicts {rival_name}"
        yield f"    {relation}: {shortened_for_stdout(hit.rival.content)}"
    if instruction := findings_as_json(hit).get("tries_to_command"):
        yield f"    contains instructions to its reader: {shortened_for_stdout(instruction)}"


def _nth(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


def _block_as_json(block: ContextBlock) -> dict[str, Any]:
    return {
        "text": block.text,
        "tokens": block.tokens,
        "lines": [
            {
                "id": line.memory and line.memory.id,
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
            f"{count} omitted, with instructions to the reader: 'slowwave audit FILE' lists them."
        )
    if form == "json":
        _show_json(_block_as_json(block)["lines"], output)
    elif form == "messages":
        _show_json(block.messages, output)
    elif block.text:
        output.show("\n".join(map(clean, block.text.split("\n"))))
    elif block.unfitting:
        found_count = counted(block.unfitting, "memory", "memories")
        output.note(f"Found {found_count}, but nothing that fits into the budget: raise --budget.")
    elif not block.suspicious:
        output.note("No memory was found for the question.")


def _show_json(value: object, output: Output) -> None:
    output.show(harmless_json(jsonlib.dumps(value, ensure_ascii=False)))


def _archived_as_json(hit: Hit, status: str) -> dict[str, Any]:
    memory = hit.memory
    return {
        "id": memory.id,
        "tenant": memory.tenant,
        "content": memory.content,
        "kind": memory.kind,
        "layer": memory.layer,
        "status": status,
        "observed_at": time_of(memory.observed_at),
        "relevance": round(hit.relevance, 4),
        **mark(memory.content),
    }
