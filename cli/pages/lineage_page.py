"""A lineage as one HTML page: a tree that opens and closes without a script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from slowwave.cli.results.authors import author_of

from .branches import Branch
from .page import render

if TYPE_CHECKING:
    from slowwave.store.lineage import Ancestor, KeptClaim
    from slowwave.store.records import Memory

# Trees, each with the memory that it starts from.
Trees = Sequence[tuple[str, Sequence[Branch]]]


def as_lineage_page(
    file: str,
    memory: Memory | Ancestor,
    claims: Sequence[KeptClaim],
    sources: Trees,
    derived: Trees,
) -> str:
    """Return the page of one memory: what it says, what it was made from and made into."""
    return render(
        "lineage.html",
        {
            "file": file,
            "memory": memory,
            "claims": [(one.text, author_of(one)) for one in claims],
            "sections": [("Made from", sources), ("Made into", derived)],
        },
    )
