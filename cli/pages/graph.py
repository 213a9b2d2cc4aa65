"""A lineage for Graphviz or Mermaid, in which the text of a memory is only a label."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slowwave.cli.terminal.output import shortened

if TYPE_CHECKING:
    from slowwave.store.lineage import Lineage

# So much of a memory stands in its box, on lines of so many characters.
_MOST_SAID = 160
_WIDTH = 40
# What may mean something to Mermaid.
_TELLING = re.compile(r"[^\w .,:'()-]")


@dataclass(frozen=True)
class Node:
    """One memory in a graph."""

    id: str
    content: str
    status: str


@dataclass(frozen=True)
class Graph:
    """Memories by a number of their own, and which was made into which by what."""

    nodes: Sequence[Node]
    # Source, what was made from it, operation.
    edges: Sequence[tuple[int, int, str]]


def graph_of(start: Node, sources: Lineage, derived: Lineage) -> Graph:
    """Return all that a memory was made from and all that was made from it, each memory once."""
    nodes = {start.id: start}
    edges: dict[tuple[str, str], str] = {}
    for lineage, upwards in ((sources, True), (derived, False)):
        for near, others in lineage.steps.items():
            for other in others:
                nodes.setdefault(other.id, Node(other.id, other.content, other.status))
                edge = (other.id, near) if upwards else (near, other.id)
                edges[edge] = other.operation
    numbers = {one: number for number, one in enumerate(nodes)}
    return Graph(
        list(nodes.values()),
        [(numbers[of], numbers[to], operation) for (of, to), operation in edges.items()],
    )


def as_dot(graph: Graph) -> str:
    """Return the graph as Graphviz takes it."""
    lines = ["digraph lineage {", "  rankdir=LR;", '  node [shape=box, fontname="sans-serif"];']
    for number, node in enumerate(graph.nodes):
        label = "\\n".join(_in_dot(line) for line in _lines(node))
        style = "solid" if node.status == "active" else "dashed"
        weight = ", penwidth=2" if number == 0 else ""
        lines.append(f'  n{number} [label="{label}", style={style}{weight}];')
    for of, to, operation in graph.edges:
        lines.append(f'  n{of} -> n{to} [label="{_in_dot(operation)}"];')
    return "\n".join([*lines, "}"])


def as_mermaid(graph: Graph) -> str:
    """Return the graph as Mermaid takes it, which GitHub and others draw in a comment."""
    lines = ["flowchart LR"]
    for number, node in enumerate(graph.nodes):
        label = "<br/>".join(_in_mermaid(line) for line in _lines(node))
        lines.append(f'  n{number}["{label}"]')
    for of, to, operation in graph.edges:
        lines.append(f'  n{of} -- "{_in_mermaid(operation)}" --> n{to}')
    past = [f"n{at}" for at, node in enumerate(graph.nodes) if node.status != "active"]
    lines.append("  style n0 stroke-width:3px")
    if past:
        lines += ["  classDef past stroke-dasharray:4 3", f"  class {','.join(past)} past"]
    return "\n".join(lines)


def _lines(node: Node) -> Iterator[str]:
    """Yield what stands in the box of a memory, line by line."""
    yield f"{shortened(node.id, _WIDTH)} ({node.status})"
    yield from textwrap.wrap(shortened(node.content, _MOST_SAID), _WIDTH)


def _in_dot(text: str) -> str:
    # Within quotes a backslash begins an escape, and an ampersand an entity.
    for sign, escape in (("&", "&amp;"), ("\\", "\\\\"), ('"', '\\"')):
        text = text.replace(sign, escape)
    return text


def _in_mermaid(text: str) -> str:
    """Return a label without quotes, tags, Markdown or %%{directives}%%: such signs are codes."""
    return _TELLING.sub(lambda sign: f"#{ord(sign[0])};", text)
