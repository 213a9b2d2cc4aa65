"""slowwave recall: what the file remembers of a question."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
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

from .recall_archived import search_archived

if TYPE_CHECKING:
    from slowwave.consolidation.recall.block import ContextBlock
    from slowwave.consolidation.recall.hit import Hit

_BlockFormat = Literal["text", "json", "messages"]


# What has no effect without --block.
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
        bool, typer.Option("--diverse", help="Rank memories lower that repeat better hits.")
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
            help="With --block: the weight of a layer, or of kind context. Repeatable. Default: "
            "core=0.7, stable=0.6, working=0.5, ephemeral=0.4, context=0.4.",
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
    from slowwave.consolidation.recall.filter import Filter
    from slowwave.consolidation.recall.index import RecallIndex, read_recallable_of
    from slowwave.consolidation.recall.search import SearchQuery, search
    from slowwave.store.records import timestamp

    if not query.strip():
        raise typer.BadParameter("The question is blank.")
    if archived:
        search_archived(place, query, limit, tuple(tenant or ()), embedder, Output(json, quiet))
        return
    earliest, latest = start_of(since, "--since"), end_of(until, "--until")
    if earliest is not None and latest is not None and earliest > latest:
        raise typer.BadParameter(f"--since {since} is after --until {until}: swap the two.")
    output = Output(json, quiet)
    for one in _OF_A_BLOCK:
        if not block and is_on_command_line(context, one):
            output.note(f"--{one.replace('_', '-')} has no effect without --block.")
    wish = SearchQuery(
        query,
        limit or NO_LIMIT,
        Filter(
            tuple(tenant or ()),
            kind,
            layer,
            tuple(tag or ()),
            earliest,
            latest,
        ),
        end_of(as_of, "--as-of"),
        recency,
        diverse,
    )
    block_wish = BlockOptions(budget, dict(map(_worth, worth or ())))
    now = timestamp(datetime.now(UTC))
    model = SentenceEmbedder(embedder)
    with place.reading() as memory_file, shown_progress(quiet) as progress:
        recallable = read_recallable_of(memory_file, wish.filter.tenants, model.name)
        index = RecallIndex(recallable, model, progress)
        if block:
            composed = compose_block(index, wish, block_wish, now)
        else:
            hits = search(index, wish, now)
    if index.without_vector:
        output.note(
            f"{counted(index.without_vector, 'vector was', 'vectors were')} computed, but not "
            "stored; 'slowwave maintain' stores them."
        )
    about = {"command": "recall", "file": str(file), "query": query}
    if block:
        output.result({**about, "block": _block_as_json(composed)})
        _show_block(composed, block_format, output)
        return
    output.result({**about, "hits": [_hit_as_json(one) for one in hits]})
    output.show("\n".join(_lines(hits)) or clean(f"{file}: nothing was found."))


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
        "perhaps_later": None if hit.perhaps_later is None else hit.perhaps_later.id,
    }


def _lines(hits: Sequence[Hit]) -> list[str]:
    lines = []
    for rank, hit in enumerate(hits, 1):
        memory = hit.memory
        lines.append(
            f"{rank:>2}. {shortened_for_stdout(memory.content)}\n"
            f"    {memory.layer}, {day_of(memory.observed_at)}, {clean(memory.id)}\n"
            f"    {_why(hit)}"
        )
    return lines


def _why(hit: Hit) -> str:
    words = "none of the words" if hit.by_words is None else f"{_nth(hit.by_words)} by words"
    parts = [f"relevance {hit.relevance + 0.0:.2f}: {words}, {_nth(hit.by_vectors)} by vectors"]
    if hit.key.id != hit.memory.id:
        parts.append(f"found by what it replaced: {shortened_for_stdout(hit.key.content, 200)}")
    if hit.later is not None:
        parts.append(f"an older value than {clean(hit.later.id)} gives")
    if hit.perhaps_later is not None:
        parts.append(f"perhaps an older value than {clean(hit.perhaps_later.id)} gives")
    if hit.sources:
        parts.append(f"made from {len(hit.sources)}")
    return "; ".join(parts)


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


def _show_block(block: ContextBlock, as_what: _BlockFormat, output: Output) -> None:
    """Write the block for whatever builds the prompt: the result, whatever its form."""
    if block.suspicious:
        left_out = len(block.suspicious)
        output.note(
            f"{counted(left_out, 'memory', 'memories')} left out that would command the reader: "
            "'slowwave maintain --dry-run' names them."
        )
    if as_what == "json":
        output.show(jsonlib.dumps(_block_as_json(block)["lines"], ensure_ascii=False))
    elif as_what == "messages":
        output.show(jsonlib.dumps(block.messages, ensure_ascii=False))
    elif not block.text:
        output.note("Nothing that is remembered fits into so few tokens, or nothing is remembered.")
    else:
        output.show("\n".join(map(clean, block.text.split("\n"))))
