"""Plan windows: clusters of memories, packed to the size of one question.

On the first night that is everything with anything near it. Later it is what is new, its nearest
neighbors and the derived memories among them. Where a cluster was cut to fit into windows, what
lies near across the cut is shown once more in the same night.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import chain, permutations
from typing import TYPE_CHECKING

from slowwave.consolidation.clustering.clusters import find_clusters, join_near, pack, run_dbscan
from slowwave.consolidation.clustering.forest import sign_of, spanning_forest
from slowwave.consolidation.clustering.neighbours import Neighbours
from slowwave.consolidation.options import PlanOptions
from slowwave.consolidation.proposals import Undecided, Window
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.text.tokens import count_tokens
from slowwave.consolidation.thresholds import (
    LARGE_TENANT,
    NARROW_EPS,
    NEAREST_FOR_A_MODEL,
    WIDE_EPS,
    WIDE_SIMILARITY,
    WINDOW_TOKENS,
)
from slowwave.store.records import Memory, content_hash, json_text

from .duplicates import may_be_superseded
from .estimates import TOKENS_A_MEMORY, Estimate, estimate_texts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The number of nearest pairs of a window that are shown to a user who has no model.
_MAX_EXAMPLES = 10
# How many rows are compared with all others at once: 80 MB for 20,000 of them.
_ROWS_AT_ONCE = 1_000


def plan_windows(view: TenantView, options: PlanOptions, leaving: Collection[str]) -> list[Window]:
    """Return what a model is asked about one tenant.

    leaving: ids of memories that are superseded without a model.
    """
    memories = shown_memories(view, leaving)
    if options.answered:
        earlier = [window for window in options.answered if window.tenant == view.tenant]
        parts = _across_cuts(view, memories, earlier)
        return [window_of(view, options, [memories[row] for row in part]) for part in parts]
    near_new, alone = _find_near_new(view, options, memories)
    return [
        window_of(view, options, shown, () if number else alone)
        for number, (shown, _) in enumerate(near_new)
    ]


def find_undecided(
    view: TenantView, options: PlanOptions, leaving: Collection[str]
) -> Iterator[Undecided]:
    """Yield what each window would ask a model, with its nearest pairs as examples."""
    import numpy as np

    for shown, near in _find_near_new(view, options, shown_memories(view, leaving))[0]:
        ids = tuple(memory.id for memory in shown)
        nearest = np.argsort(-near.steps.astype(np.int32), kind="stable")[:_MAX_EXAMPLES]
        similarities, estimate = near.similarities, _estimate(shown)
        yield Undecided(
            sources=ids,
            similarity=round(float(similarities.mean()), 4) if len(near) else 0.0,
            prompt_tokens=estimate.prompt,
            answer_tokens=estimate.answer,
            examples=tuple(
                (ids[near.left[pair]], ids[near.right[pair]], round(float(similarities[pair]), 4))
                for pair in nearest.tolist()
            ),
        )


def _find_near_new(
    view: TenantView, options: PlanOptions, memories: list[Memory]
) -> tuple[list[tuple[list[Memory], Neighbours]], tuple[str, ...]]:
    """Return the windows: clusters with new memories, packed.

    Each window has its memories and the pairs that join them. Also returns the new texts, by hash,
    that are in none.
    """
    import numpy as np

    # What no model was shown; a derived memory is only ever shown with others.
    new = [
        row
        for row, memory in enumerate(memories)
        if view.row(memory.id) is not None
        and (memory.tenant, memory.content_hash) not in options.asked
    ]
    if not new or len(memories) < 2:
        return [], ()
    shows_all = 2 * len(new) >= len(memories)
    vectors = view.vectors.of(memories)
    rows = range(len(memories)) if shows_all else _new_and_nearest(vectors, new)
    chosen = [memories[row] for row in rows]
    eps = WIDE_EPS if len(chosen) <= LARGE_TENANT else NARROW_EPS
    sizes = [_size(memory) for memory in chosen]
    compare_all, scan = partial(view.near, chosen, 1.0 - eps), run_dbscan
    if shows_all:
        texts = zip((memory.content_hash for memory in chosen), vectors, strict=True)
        signs = [sign_of(text_hash, vector) for text_hash, vector in texts]
        forest = view.forest.extend(signs, vectors, 1.0 - eps, compare_all)
        scan = join_near if view.forest.is_grown else run_dbscan
    else:
        forest = spanning_forest(compare_all())
    fresh = set(new)
    near_clusters = find_clusters(forest, eps, sizes, WINDOW_TOKENS, scan)
    clusters = [part for part in near_clusters if any(rows[place] in fresh for place in part)]
    windows = [sorted(window) for window in pack(clusters, sizes, WINDOW_TOKENS)]
    fresh -= {rows[place] for window in windows for place in window}
    alone = tuple(memories[row].content_hash for row in sorted(fresh))
    return [
        ([chosen[place] for place in window], forest.among(np.array(window))) for window in windows
    ], alone


def shown_memories(view: TenantView, leaving: Collection[str]) -> list[Memory]:
    """Return what a model may be shown, in the order in which it was observed.

    That is observed memories that are not part of a derived one, and derived ones; of memories with
    the same text only the first.
    """
    observed = [memory for row, memory in enumerate(view.memories) if view.is_fresh(row)]
    derived = [memory for memory in view.derived if memory.id not in view.verbatim_only]
    firsts: dict[str, Memory] = {}
    for memory in (*observed, *derived):
        if memory.id not in leaving:
            firsts.setdefault(memory.content_hash, memory)
    return sorted(firsts.values(), key=partial(_when, view))


def _when(view: TenantView, memory: Memory) -> tuple[str, bool, str]:
    """Return what orders a window: the same in every run, unlike the id of a derived memory."""
    derived = memory.generation > 0
    return view.stated_at(memory), derived, memory.content_hash if derived else memory.id


def _estimate(memories: Sequence[Memory]) -> Estimate:
    has_notes = any(memory.is_note for memory in memories)
    return estimate_texts([memory.content for memory in memories], has_notes)


def _size(memory: Memory) -> int:
    return count_tokens(memory.content) + TOKENS_A_MEMORY


def _new_and_nearest(vectors: NDArray[np.float32], new: Sequence[int]) -> list[int]:
    """Return the new rows and the nearest of each, sorted."""
    import numpy as np

    rows_to_show = set(new)
    for start in range(0, len(new), _ROWS_AT_ONCE):
        rows = np.asarray(new[start : start + _ROWS_AT_ONCE])
        product = vectors[rows] @ vectors.T
        product[np.arange(len(rows)), rows] = -1.0
        count = min(NEAREST_FOR_A_MODEL, len(vectors) - 1)
        nearest = np.argpartition(-product, count - 1, axis=1)[:, :count]
        near = np.take_along_axis(product, nearest, axis=1) >= WIDE_SIMILARITY
        rows_to_show.update(nearest[near].tolist())
    return sorted(rows_to_show)


def _across_cuts(
    view: TenantView, memories: Sequence[Memory], earlier: Sequence[Window]
) -> list[list[int]]:
    """Return windows of what lies near each other and was in different windows of this night."""
    import numpy as np

    if len(earlier) < 2 or not memories:
        return []
    windows_of: dict[str, set[int]] = {}
    for number, window in enumerate(earlier):
        for memory_id in window.memories:
            windows_of.setdefault(memory_id, set()).add(number)
    for edge in view.edges:
        windows_of.setdefault(edge.derived_id, set()).update(windows_of.get(edge.source_id, ()))
    near = view.near(memories, 1.0 - NARROW_EPS)
    if not len(near):
        return []
    seen = [windows_of.get(memory.id, set()) for memory in memories]
    across = np.fromiter(
        (
            bool(seen[left] and seen[right]) and seen[left].isdisjoint(seen[right])
            for left, right in zip(near.left.tolist(), near.right.tolist(), strict=True)
        ),
        bool,
        len(near),
    )
    sizes = [_size(memory) for memory in memories]
    clusters = find_clusters(near.select(across), NARROW_EPS, sizes, WINDOW_TOKENS)
    # A cluster that had to be cut again may contain a part that was in one window before.
    fresh = [part for part in clusters if not set.intersection(*(seen[row] for row in part))]
    return pack(fresh, sizes, WINDOW_TOKENS)


def window_of(
    view: TenantView, options: PlanOptions, memories: Sequence[Memory], alone: tuple[str, ...] = ()
) -> Window:
    """Return the window of these memories. alone: as in `Window`."""
    memories = sorted(memories, key=partial(_when, view))
    ids = [memory.id for memory in memories]
    held_back = (permutations(group.intersection(ids), 2) for group in options.apart)
    hashes = tuple(memory.content_hash for memory in memories)
    estimate = _estimate(memories)
    parts = [view.tenant, options.model_key, hashes]
    return Window(
        id=content_hash(json_text(parts))[:32],
        tenant=view.tenant,
        memories=tuple(ids),
        content_hashes=hashes,
        alone=alone,
        trusts=tuple(memory.trust for memory in memories),
        may_leave=frozenset(
            memory.id
            for memory in memories
            if may_be_superseded(view, memory, options.include_protected)
        ),
        derived=frozenset(memory_id for memory_id in ids if view.row(memory_id) is None),
        apart=frozenset(filter(set(ids).issuperset, chain(view.user_separated, *held_back))),
        operations=options.only,
        decided=options.remembered,
        prompt_tokens=estimate.prompt,
        answer_tokens=estimate.answer,
        include_protected=options.include_protected,
    )
