"""slowwave add: store one memory."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Annotated

import typer

from slowwave.cli.arguments.options import FileArgument, OutputOptions
from slowwave.cli.arguments.place_options import refuse_foreign
from slowwave.cli.terminal.output import clean
from slowwave.cli.views.correction import secrets_as_text, similar_as_json, similar_as_text
from slowwave.store.records import Kind, Layer, Origin


def add(
    file: FileArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT|-", help="The memory; - for stdin.")],
    tenant: Annotated[
        str, typer.Option(metavar="NAME", help="The tenant to add it to.")
    ] = "default",
    kind: Annotated[Kind, typer.Option(help="The kind of memory.")] = "fact",
    layer: Annotated[
        Layer, typer.Option(help="How permanent it is, from ephemeral to core (a standing rule).")
    ] = "working",
    origin: Annotated[
        Origin, typer.Option(help="Who stated it; what a human states is protected.")
    ] = "agent",
    trust: Annotated[
        float, typer.Option(metavar="0..1", min=0, max=1, help="Trust: 0 to 1.")
    ] = 0.5,
    importance: Annotated[
        int,
        typer.Option(
            metavar="1..5",
            min=1,
            max=5,
            help="Importance: 1 (hardly matters) to 5 (must not be forgotten).",
        ),
    ] = 3,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="Add a tag. Repeatable.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The source of the memory, such as a file or a person."),
    ] = None,
    session: Annotated[
        str | None, typer.Option(metavar="NAME", help="The session it comes from.")
    ] = None,
    pin: Annotated[bool, typer.Option("--pin", help="Never supersede it.")] = False,
    *,
    output: OutputOptions,
) -> None:
    """Add one memory, and report any that it repeats or contradicts.

    Options set its other fields. 'slowwave import' also accepts observation and expiry times: see
    Import in docs/reference.md.
    """
    from slowwave.consolidation.ingest.secrets import kinds_of_secrets
    from slowwave.consolidation.recall.similar import find_similar
    from slowwave.store.exchange import memory_from_text
    from slowwave.store.file import open_writing
    from slowwave.store.memories import add_memories
    from slowwave.store.shared_tenant import refuse_unpublished

    refuse_foreign(file)
    refuse_unpublished(tenant)
    fields = {
        "tenant": tenant,
        "kind": kind,
        "layer": layer,
        "origin": origin,
        "trust": trust,
        "importance": importance,
        "tags": tag or [],
        "source": source,
        "session": session,
        "pinned": pin,
    }
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape").strip()
    memory = memory_from_text(text, fields, datetime.now(UTC))
    with open_writing(file) as opened:
        similar_memories = find_similar(opened, tenant, text, memory.created_at)
        with opened.transaction():
            add_memories(opened, [memory])
    secrets = kinds_of_secrets(memory.content)
    output.result(
        "add",
        file=str(file),
        id=memory.id,
        similar=list(map(similar_as_json, similar_memories)),
        secrets=list(secrets),
    )
    if secrets:
        output.note(secrets_as_text(secrets))
    output.show(clean(memory.id))
    for similar in similar_memories:
        output.note(similar_as_text(similar))
