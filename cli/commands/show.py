"""slowwave show: all fields of one memory, or its lineage."""

from __future__ import annotations

import json as jsonlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowwave.cli.arguments.options import (
    HtmlOption,
    MemoryArgument,
    OutputOptions,
    per_call,
    setting,
)
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.wording import shortened_for_stdout
from slowwave.cli.views.ingest import message_as_json, message_as_text
from slowwave.cli.views.lineage import (
    DEPTH_OF_TEXT,
    Branch,
    as_lineage_page,
    trace_as_json,
    trees_of,
)
from slowwave.cli.views.memory import author_of, memory_as_json
from slowwave.cli.views.report_file import STDOUT, refuse_unwritable, write_report
from slowwave.store.errors import NotFound
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.intake import KeptMessage, read_messages_of
from slowwave.store.lineage import Trace, read_derivations, read_trace
from slowwave.store.memories import read_memory
from slowwave.store.places import Place

if TYPE_CHECKING:
    from rich.tree import Tree

    from slowwave.store.records import Memory

# Fields that come first, or under a heading of their own.
_SEPARATE_FIELDS = ("content", "content_hash", "id", "derivations")
# How many characters of the memory, and of each text around it, are shown on a terminal.
_MAX_TEXT = 20_000
_MAX_LINE = 400


def show(
    place: Place,
    memory: MemoryArgument,
    *,
    lineage: Annotated[
        bool, per_call("--lineage", help="Show its ancestors and descendants, to any depth.")
    ] = False,
    html: HtmlOption = None,
    tree: Annotated[
        bool, setting("--tree", allow_from_autoenv=False, help="Same as --lineage.")
    ] = False,
    output: OutputOptions,
) -> None:
    """Show one memory with all its fields, or its lineage."""
    if html is not None:
        if output.json:
            raise typer.BadParameter("Pass only one of --html and --json.")
        refuse_unwritable(html)
    if lineage or tree or html is not None:
        _show_lineage(place, memory, html, output)
        return
    from slowwave.consolidation.facts.specifics import names_in
    from slowwave.store.entities import read_memory_entities
    from slowwave.store.vectors import read_memory_vectors

    with place.reading() as memory_file, open_reading(memory_file) as opened:
        record = _read(opened, memory)
        names = {*read_memory_entities(opened, record.id), *names_in(record.content)}
        vectors = [model for model, _, _ in read_memory_vectors(opened, record.id)]
        derivations = read_derivations(opened, record.id)
    fields = memory_as_json(record) | {
        "entities": sorted(names),
        "vectors": vectors,
        "derivations": list(map(asdict, derivations)),
    }
    output.result("show", file=str(place.named), memory=fields)
    output.show(
        "\n".join([clean(record.id), *map(clean, record.content.split("\n")), "", *_lines(fields)])
    )


def _read(opened: MemoryFile, prefix: str) -> Memory:
    """Return a memory. Raises `NotFound`, which reports how it was removed, and `Ambiguous`."""
    from slowwave.store.purge import find_removed

    try:
        return read_memory(opened, prefix)
    except NotFound:
        removed = find_removed(opened, prefix)
        if removed is None:
            raise
        fate = "forgotten" if removed.is_forgotten else "purged"
        raise NotFound(
            f"Memory {removed.id} was {fate} on {removed.removed_at[:10]} by run {removed.run_id}.",
            "Nothing of it is preserved."
            if removed.is_forgotten
            else "Its text is preserved in the lineage: "
            f"slowwave show FILE {shlex.quote(removed.id)} --lineage",
        ) from None


def _lines(fields: dict[str, Any]) -> Iterator[str]:
    for name, value in fields.items():
        if name not in _SEPARATE_FIELDS and value not in (None, (), [], {}):
            yield clean(f"{name:<14} {_value_text(value)}")
    for derivation in fields["derivations"]:
        writer = derivation["model"] or derivation["writer"]
        origin = f"{derivation['operation']} by {writer}, prompt {derivation['prompt_hash'][:12]}"
        yield clean(f"{'derived':<14} {origin}, run {derivation['run_id']}")


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return jsonlib.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)


def _show_lineage(place: Place, memory: str, html: Path | None, output: Output) -> None:
    """Show a lineage, with the texts of memories that are not in the file. Raises `StoreError`."""
    with place.reading() as memory_file, open_reading(memory_file) as opened:
        trace = read_trace(opened, memory)
        ids_of_sources = (source.id for steps in trace.sources.steps.values() for source in steps)
        ids = list(dict.fromkeys([trace.memory.id, *ids_of_sources]))
        messages = read_messages_of(opened, ids)
    if html is not None:
        write_report(html, as_lineage_page(str(place.named), trace), place.named)
        if html != STDOUT:
            output.show(clean(f"Written: {html}"))
    elif output.json:
        said_in = [
            {"memory": memory_id} | message_as_json(message)
            for memory_id, group in messages.items()
            for message in group
        ]
        output.result("trace", file=str(place.named), **trace_as_json(trace), messages=said_in)
    else:
        output.show(_tree_of(trace, messages))


def _tree_of(trace: Trace, messages: Mapping[str, Sequence[KeptMessage]]) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    memory, sources, derived = trace.memory, trace.sources, trace.derived
    kind = ", ".join(filter(None, (getattr(memory, "layer", None), memory.status)))
    text = shortened_for_stdout(memory.content, _MAX_TEXT)
    root = Tree(Text(f"{clean(memory.id)} ({kind}) {text}"))
    if trace.claims:
        branch = root.add(Text("says"))
        for claim in trace.claims:
            line = f"{shortened_for_stdout(claim.text, _MAX_LINE)} ({author_of(claim)})"
            branch.add(Text(clean(line)))
    for derivation in trace.derivations:
        writer = derivation.model or derivation.writer
        line = f"{derivation.operation} by {writer}, prompt {derivation.prompt_hash[:12]}"
        root.add(Text(clean(line)))
    for memory_id, group in messages.items():
        behind = "" if memory_id == memory.id else f", behind {memory_id}"
        branch = root.add(Text(clean(f"said in{behind}")))
        for message in group:
            branch.add(Text(clean(shortened_for_stdout(message_as_text(message), _MAX_LINE))))
    for lineage, title in ((sources, "derived from"), (derived, "derived memories")):
        for start, branches in trees_of(lineage, DEPTH_OF_TEXT):
            if branches:
                further = "" if start == lineage.start else f", continued from {start}"
                _add(root.add(Text(f"{title}{further}")), branches)
    if not sources.steps and not derived.steps and not messages:
        root.add(Text("it has no sources and no derived memories"))
    return root


def _add(tree: Tree, branches: tuple[Branch, ...]) -> None:
    from rich.text import Text

    for branch in branches:
        relative = branch.relative
        text = shortened_for_stdout(relative.content, _MAX_LINE)
        note = ", shown elsewhere" if branch.seen else ", continued below" * branch.continued
        line = f"{relative.operation}: {text} ({relative.status}, {relative.id}{note})"
        _add(tree.add(Text(clean(line))), branch.behind)
