"""What a model is shown: memories near each other, put together in windows.

Nothing that asks about pairs or tight groups finds what a person finds who reads a whole page: of
one fact's tellings the nearest two have a median cosine of 0.77, one in twenty lies below 0.42. So
each memory is laid beside its nearest, from a low cosine on, and a window is as large as a model
reads with care.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from slowwave.consolidation.clustering.parcels import make_parcels
from slowwave.consolidation.proposals import Window
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.thresholds import (
    LEAST_NEAR_FOR_A_MODEL,
    NEAREST_FOR_A_MODEL,
    WINDOW_TOKENS,
)
from slowwave.store.records import Memory, json_text

from .estimates import TOKENS_A_MEMORY, estimate_window
from .tenant_planner import TenantPlanner

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Windows:
    """The windows of one tenant."""

    def __init__(
        self,
        planner: TenantPlanner,
        settled: Collection[str],
    ) -> None:
        """Take the planner of the tenant.

        settled: ids of memories about which there is nothing left to ask, since they leave.
        """
        self._planner = planner
        self._view = planner.view
        self._settled = frozenset(settled)

    def plan(self) -> Iterator[Window]:
        """Yield the windows; a memory with nothing near it is in none."""
        memories = self._shown()
        new = [at for at, one in enumerate(memories) if self._is_new(one)]
        if not new or len(memories) < 2:
            return
        tokens = [count_tokens(one.content) + TOKENS_A_MEMORY for one in memories]
        laid = make_parcels(
            self._vectors(memories),
            new,
            [],
            tokens,
            NEAREST_FOR_A_MODEL,
            LEAST_NEAR_FOR_A_MODEL,
            WINDOW_TOKENS,
        )
        shown = {at for several in laid for at in several}
        alone = tuple(memories[at].content_hash for at in new if at not in shown)
        for number, several in enumerate(laid):
            in_time = sorted((memories[at] for at in several), key=_when)
            yield self._window(in_time, () if number else alone)

    def _shown(self) -> list[Memory]:
        """Return what may be shown: what is open, and what was made before and may take others in.

        Of memories with one text, one.
        """
        view = self._view
        observed = [
            one
            for row, one in enumerate(view.memories)
            if view.is_fresh(row) and one.id not in self._settled
        ]
        closed = self._settled.union(view.updates, view.kept_as_is)
        made = [one for one in view.derived if one.layer == "stable" and one.id not in closed]
        firsts: dict[str, Memory] = {}
        for one in (*observed, *made):
            firsts.setdefault(one.content_hash, one)
        return list(firsts.values())

    def _is_new(self, memory: Memory) -> bool:
        """Whether no model was shown it; what was made before is only ever shown with others."""
        asked = self._planner.options.asked
        observed = self._view.row(memory.id) is not None
        return observed and (memory.tenant, memory.content_hash) not in asked

    def _vectors(self, memories: Sequence[Memory]) -> NDArray[np.float32]:
        import numpy as np

        return np.stack([one.vector for one in self._view.sources([m.id for m in memories])])

    def _window(self, memories: Sequence[Memory], alone: tuple[str, ...]) -> Window:
        planner, view = self._planner, self._view
        ids = [one.id for one in memories]
        hashes = tuple(one.content_hash for one in memories)
        estimate = estimate_window(view.sources(ids))
        parts = [view.tenant, planner.options.model_key, hashes]
        return Window(
            id=hashlib.sha256(json_text(parts).encode()).hexdigest()[:32],
            tenant=view.tenant,
            memories=tuple(ids),
            content_hashes=hashes,
            alone=alone,
            trusts=tuple(one.trust for one in memories),
            # Without a session, what was said on one day counts as one occasion.
            sessions=tuple(one.session or one.observed_at[:10] for one in memories),
            may_leave=frozenset(one.id for one in memories if planner.may_be_replaced(one)),
            derived=frozenset(one for one in ids if view.row(one) is None),
            apart=frozenset(self._apart(ids)),
            operations=planner.options.only,
            decided=planner.options.remembered,
            excluded=planner.options.excluded,
            prompt_tokens=estimate.prompt,
            answer_tokens=estimate.answer,
            include_protected=planner.options.include_protected,
        )

    def _apart(self, ids: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield the pairs that nobody may join, whatever a model says."""
        shown = set(ids)
        taken_apart = self._view.taken_apart
        for one in ids:
            others = {other for other in shown if (one, other) in taken_apart}
            yield from ((one, other) for other in sorted(others))


def _when(memory: Memory) -> tuple[str, str]:
    """Return the order in which memories are shown: that in which they were said."""
    return memory.observed_at, memory.id
