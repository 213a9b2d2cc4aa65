"""A lineage as JSON, both ways: what a memory was made from, and what was made from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .branches import Branch, trees_of

if TYPE_CHECKING:
    from slowwave.store.lineage import Ancestor, Derivation, KeptClaim, Lineage
    from slowwave.store.records import Memory

# How many generations stand inside each other before a new tree begins: readers of JSON give up
# at some depth (Python's at about 500).
_DEPTH_OF_JSON = 100


def trace_as_json(
    found: Memory | Ancestor,
    claims: Sequence[KeptClaim],
    derivations: Sequence[Derivation],
    sources: Lineage,
    derived: Lineage,
) -> dict[str, Any]:
    """Return a memory with its lineage, both ways."""
    return {
        "memory": {
            "id": found.id,
            "content": found.content,
            "status": found.status,
            # Of a memory that has left the file the lineage keeps no more than what it said.
            "layer": getattr(found, "layer", None),
            "generation": getattr(found, "generation", None),
            "claims": [asdict(one) for one in claims],
            "derivations": [asdict(derivation) for derivation in derivations],
        },
        **_as_json(sources, "sources"),
        **_as_json(derived, "derived"),
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
            "id": one.ancestor.id,
            "operation": one.ancestor.operation,
            "run": one.ancestor.run_id,
            "content": one.ancestor.content,
            "status": one.ancestor.status,
            behind: _nested(one.behind, behind),
        }
        | ({"seen": True} if one.seen else {})
        | ({"continued": True} if one.continued else {})
        for one in branches
    ]
