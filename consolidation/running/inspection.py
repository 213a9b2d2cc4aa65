"""A last look at what waited for a person, before it is applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import Proposal, Source, VerifiedProposal
from slowwave.consolidation.vectors.embedder import (
    Embedder,
    encode_portions,
    refuse_another_space,
)
from slowwave.consolidation.vectors.matrix import TextVectors
from slowwave.store.file import MemoryFile
from slowwave.store.memories import read_memories
from slowwave.store.vectors import read_vectors_by_id

from .apply import find_outdated
from .kept_proposal import KeptProposal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slowwave.store.records import Memory


@dataclass(frozen=True)
class Inspected:
    """A proposal that was looked at once more, with the vector of its draft if it writes one."""

    kept: KeptProposal
    # `planned` if it may be applied.
    written: VerifiedProposal
    vector: NDArray[np.float32] | None = None


def inspect(
    file: MemoryFile,
    several: Sequence[KeptProposal],
    embedder: Embedder,
    progress: Progress,
    is_vouched: bool = True,
) -> list[Inspected]:
    """Look whether proposals still hold, as the night that makes them would.

    is_vouched: whether they lay in the memory file, whose night checked them before; else all that
    they say is doubted.

    One that is damaged, or whose sources have changed, is `stale`, one whose draft does not say
    what they say is `rejected`. What the file has a vector of, sources and drafts, is not embedded
    again. Raises `StoreError`, and `EmbedderError`.
    """
    ids = sorted({one for kept in several for one in kept.proposal.sources})
    memories = {one.id: one for one in read_memories(file, ids)}
    stale = {
        kept.proposal.id: VerifiedProposal(kept.proposal, "stale", why)
        for kept in several
        if (why := find_outdated(kept, _sources(kept.proposal, memories))) is not None
    }
    valid = [kept for kept in several if kept.proposal.id not in stale]
    # What stays word for word needs no vector, and a plan file is trusted with no other text.
    writing = [kept for kept in valid if is_vouched and not kept.proposal.keeps_text]
    check = _Check(file, writing, memories, embedder, progress, is_vouched)
    looked_at = []
    for done, kept in enumerate(several, start=1):
        outdated = stale.get(kept.proposal.id)
        looked_at.append(check.inspected(kept) if outdated is None else Inspected(kept, outdated))
        progress.stage("checking", done, len(several))
    return looked_at


def _sources(proposal: Proposal, memories: Mapping[str, Memory]) -> list[Memory]:
    return [memories[one] for one in sorted(proposal.sources) if one in memories]


class _Check:
    """Compares drafts with their sources; the vectors that were missing are computed together."""

    def __init__(
        self,
        file: MemoryFile,
        writing: Sequence[KeptProposal],
        memories: Mapping[str, Memory],
        embedder: Embedder,
        progress: Progress,
        is_vouched: bool,
    ) -> None:
        """Take the proposals whose texts are compared with their sources, by vectors, too."""
        self._memories = memories
        self._is_vouched = is_vouched
        ids = sorted({one for kept in writing for one in kept.proposal.sources})
        known = [memories[one] for one in ids]
        self._source_vectors = TextVectors(known, read_vectors_by_id(file, embedder.name, ids))
        self._source_vectors.complete(embedder, lambda _: None, Progress())
        self._drafts = {
            kept.proposal.id: vector
            for kept in writing
            if (vector := self._kept_vector(kept, embedder.name)) is not None
        }
        lacking = [one.proposal for one in writing if one.proposal.id not in self._drafts]
        made = _vectors_of([one.draft.text for one in lacking], embedder, progress)
        self._drafts |= {one.id: made[one.draft.text] for one in lacking}
        if lacking:
            # Before anything is applied.
            one = lacking[0]
            refuse_another_space(embedder, self._drafts[one.id], self._sources_of(one)[0].vector)

    def _kept_vector(self, kept: KeptProposal, model: str) -> NDArray[np.float32] | None:
        """Return the vector that waited with a draft, if the sources have their like."""
        vector = None if kept.vector is None else kept.vector.read(model)
        if vector is None or len(vector) != len(self._sources_of(kept.proposal)[0].vector):
            return None
        return vector

    def inspected(self, kept: KeptProposal) -> Inspected:
        """Return a proposal whose sources are as they were, accepted or rejected."""
        from slowwave.consolidation.writing.program_check import find_faults

        from .plan_check import find_doubts

        proposal = kept.proposal
        if not self._is_vouched:
            faults = find_doubts(kept, self._memories)
        elif proposal.keeps_text:
            faults = []
        else:
            faults = find_faults(proposal, self._sources_of(proposal))
        if faults:
            return Inspected(kept, VerifiedProposal(proposal, "rejected", "; ".join(faults)))
        accepted = VerifiedProposal(proposal, "planned", usage=kept.usage)
        return Inspected(kept, accepted, self._drafts.get(proposal.id))

    def _sources_of(self, proposal: Proposal) -> list[Source]:
        memories = _sources(proposal, self._memories)
        vectors = self._source_vectors.of(memories)
        return [
            Source(one.id, one.content, one.observed_at, vector)
            for one, vector in zip(memories, vectors, strict=True)
        ]


def _vectors_of(
    texts: Sequence[str], embedder: Embedder, progress: Progress
) -> dict[str, NDArray[np.float32]]:
    """Return the vector of each text, each embedded once."""
    several = list(dict.fromkeys(texts))
    return {
        several[at]: vector
        for positions, vectors in encode_portions(
            embedder, several, partial(progress.stage, "embedding")
        )
        for at, vector in zip(positions, vectors, strict=True)
    }
