"""A lineage for Graphviz or Mermaid, in which the text of a memory is only a label."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from slowwave.cli.terminal.output import shortened

if TYPE_CHECKING:
    from slowwave.store.lineage import Ancestor, Lineage
    from slowwave.store.records import Memory

# How many characters of a memory its box shows, and how many on a line.
_MAX_TEXT = 160
_WIDTH = 40
# Characters that may have a meaning in Mermaid.
_SPECIAL = re.compile(r"[^\w .,:'()-]")


class Graph(NamedTuple):
    """Memories, and which was made into which by what."""

    nodes: Sequence[Memory | Ancestor]
    # The number of the source, that of the derived memory, the operation.
    edges: Sequence[tuple[int, int, str]]


def graph_of(memory: Memory | Ancestor, sources: Lineage, derived: Lineage) -> Graph:
    """Return what a memory was made from and what was made from it, each memory once."""
    nodes: dict[str, Memory | Ancestor] = {memory.id: memory}
    edges: dict[tuple[str, str], str] = {}
    for lineage, is_upwards in ((sources, True), (derived, False)):
        for near, steps in lineage.steps.items():
            for far in steps:
                nodes.setdefault(far.id, far)
                edge = (far.id, near) if is_upwards else (near, far.id)
                edges[edge] = far.operation
    numbers = {memory_id: number for number, memory_id in enumerate(nodes)}
    return Graph(
        list(nodes.values()),
        [
            (numbers[source], numbers[target], operation)
            for (source, target), operation in edges.items()
        ],
    )


def as_dot(graph: Graph) -> str:
    """Return the graph in the language of Graphviz."""
    lines = ["digraph lineage {", "  rankdir=LR;", '  node [shape=box, fontname="sans-serif"];']
    for number, node in enumerate(graph.nodes):
        label = "\\n".join(map(_in_dot, _label(node)))
        style = "solid" if node.status == "active" else "dashed"
        weight = ", penwidth=2" if number == 0 else ""
        lines.append(f'  n{number} [label="{label}", style={style}{weight}];')
    for source, target, operation in graph.edges:
        lines.append(f'  n{source} -> n{target} [label="{_in_dot(operation)}"];')
    return "\n".join([*lines, "}"])


def as_mermaid(graph: Graph) -> str:
    """Return the graph in the language of Mermaid, which GitHub draws in a comment."""
    lines = ["flowchart LR"]
    for number, node in enumerate(graph.nodes):
        lines.append(f'  n{number}["{"<br/>".join(map(_in_mermaid, _label(node)))}"]')
    for source, target, operation in graph.edges:
        lines.append(f'  n{source} -- "{_in_mermaid(operation)}" --> n{target}')
    past = [f"n{number}" for number, node in enumerate(graph.nodes) if node.status != "active"]
    lines.append("  style n0 stroke-width:3px")
    if past:
        lines += ["  classDef past stroke-dasharray:4 3", f"  class {','.join(past)} past"]
    return "\n".join(lines)


def _label(node: Memory | Ancestor) -> Iterator[str]:
    """Yield the lines in the box of a memory."""
    yield f"{shortened(node.id, _WIDTH)} ({node.status})"
    yield from textwrap.wrap(shortened(node.content, _MAX_TEXT), _WIDTH)


def _in_dot(text: str) -> str:
    # Within quotes a backslash begins an escape, and an ampersand an entity.
    return text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')


def _in_mermaid(text: str) -> str:
    """Return a label without quotes, tags, Markdown or %%{directives}%%: they become codes."""
    return _SPECIAL.sub(lambda match: f"#{ord(match[0])};", text)
