"""A lineage as trees, in JSON and on an HTML page: the sources of a memory, or what it became."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from slowwave.store.lineage import Lineage, Relative, Trace

from .memory import author_of

# How many generations are nested before a new tree begins: readers of JSON limit the depth
# (Python's to about 500), and lines have an end.
_DEPTH_OF_JSON = 100
DEPTH_OF_TEXT = 12


@dataclass(frozen=True)
class Branch:
    """A memory at its place in a tree, with its sources."""

    relative: Relative
    behind: tuple[Branch, ...] = ()
    # The sources of the memory are shown elsewhere.
    seen: bool = False
    # The sources of the memory are a tree of their own.
    continued: bool = False


def trees_of(lineage: Lineage, depth: int) -> list[tuple[str, tuple[Branch, ...]]]:
    """Return a lineage as trees, each with the memory that it starts from.

    The sources of a memory are shown once, however many paths lead to it. depth: in generations.
    """
    roots, seen = [lineage.start], {lineage.start}

    def branch(relative: Relative, limit: int) -> Branch:
        if relative.id not in lineage.steps:
            return Branch(relative)
        if relative.id in seen:
            return Branch(relative, seen=True)
        seen.add(relative.id)
        if limit == 0:
            roots.append(relative.id)
            return Branch(relative, continued=True)
        return Branch(relative, branches(relative.id, limit))

    def branches(memory_id: str, limit: int) -> tuple[Branch, ...]:
        return tuple(branch(source, limit - 1) for source in lineage.steps.get(memory_id, ()))

    # The list grows during the iteration.
    return [(root, branches(root, depth)) for root in roots]


def trace_as_json(trace: Trace) -> dict[str, Any]:
    """Return a memory with its lineage, in both directions."""
    memory = trace.memory
    return {
        "memory": {
            "id": memory.id,
            "content": memory.content,
            "status": memory.status,
            # The lineage keeps only the text of a deleted memory.
            "layer": getattr(memory, "layer", None),
            "generation": getattr(memory, "generation", None),
            "claims": list(map(asdict, trace.claims)),
            "derivations": list(map(asdict, trace.derivations)),
        },
        **_as_json(trace.sources, "sources"),
        **_as_json(trace.derived, "derived"),
    }


def _as_json(lineage: Lineage, behind: str) -> dict[str, Any]:
    (_, first), *further = trees_of(lineage, _DEPTH_OF_JSON)
    return {
        behind: _nested(first, behind),
        f"further_{behind}": [
            {"id": root, behind: _nested(branches, behind)} for root, branches in further
        ],
    }


def _nested(branches: tuple[Branch, ...], behind: str) -> list[dict[str, Any]]:
    return [
        {
            "id": branch.relative.id,
            "operation": branch.relative.operation,
            "run": branch.relative.run_id,
            "content": branch.relative.content,
            "status": branch.relative.status,
            behind: _nested(branch.behind, behind),
        }
        | ({"seen": True} if branch.seen else {})
        | ({"continued": True} if branch.continued else {})
        for branch in branches
    ]


def as_lineage_page(file: str, trace: Trace) -> str:
    """Return the page of a memory: its text, what it was made from and what it became."""
    from .report import render

    titled = (("Made from", trace.sources), ("Made into", trace.derived))
    return render(
        "lineage.html",
        {
            "file": file,
            "memory": trace.memory,
            "claims": [(claim.text, author_of(claim)) for claim in trace.claims],
            "sections": [(title, trees_of(lineage, DEPTH_OF_TEXT)) for title, lineage in titled],
        },
    )
