"""slowwave trace: where a memory came from, and what was made from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import Output, clean, shortened
from .settings import ConfigOption, FileArgument, JsonOption, QuietOption

if TYPE_CHECKING:
    from rich.tree import Tree

    from slowwave.store.lineage import Ancestor


def trace(
    file: FileArgument,
    memory: Annotated[str, typer.Argument(metavar="MEMORY", help="Its id, or the start of it.")],
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show where a memory came from, and what was made from it, to every depth."""
    from rich.text import Text
    from rich.tree import Tree

    from slowwave.store.file import open_reading
    from slowwave.store.lineage import trace_derived, trace_sources
    from slowwave.store.memories import read_memory

    with open_reading(file) as opened:
        found = read_memory(opened, memory)
        sources, derived = trace_sources(opened, found.id), trace_derived(opened, found.id)
    output = Output(json, quiet)
    output.result(
        {
            "memory": {
                "id": found.id,
                "content": found.content,
                "status": found.status,
                "layer": found.layer,
                "generation": found.generation,
            },
            "sources": [_as_json(one, "sources") for one in sources],
            "derived": [_as_json(one, "derived") for one in derived],
        }
    )
    head = f"{found.id} ({found.layer}, {found.status}) {clean(found.content)}"
    tree = Tree(Text(head))
    for title, ancestors in (("made from", sources), ("made into", derived)):
        if ancestors:
            _grow(tree.add(Text(title)), ancestors)
    if not sources and not derived:
        tree.add(Text("nothing was made from it, and it was made from nothing"))
    output.show(tree)


def _as_json(ancestor: Ancestor, behind: str) -> dict[str, Any]:
    return {
        "id": ancestor.id,
        "operation": ancestor.operation,
        "run": ancestor.run_id,
        "content": ancestor.content,
        "status": ancestor.status,
        behind: [_as_json(one, behind) for one in ancestor.behind],
    }


def _grow(tree: Tree, ancestors: tuple[Ancestor, ...]) -> None:
    from rich.text import Text

    for one in ancestors:
        line = f"{one.operation}: {shortened(one.content, 400)} ({one.status}, {one.id})"
        _grow(tree.add(Text(line)), one.behind)
