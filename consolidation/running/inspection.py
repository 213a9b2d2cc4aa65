"""Check pending proposals and plan files again, before they are applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import (
    BY_PERSON,
    Proposal,
    Result,
    Source,
    method_key,
    proposal_id,
)
from slowwave.consolidation.text.injection import commands
from slowwave.consolidation.vectors.embedder import (
    Embedder,
    encode_portions,
    refuse_another_space,
)
from slowwave.consolidation.vectors.matrix import TextVectors
from slowwave.store.file import MemoryFile
from slowwave.store.memories import read_memories
from slowwave.store.shared_tenant import SHARED_TENANT
from slowwave.store.vectors import read_vectors_by_id

from .apply import find_outdated
from .kept_proposal import KeptProposal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slowwave.store.records import Memory


@dataclass(frozen=True)
class InspectedProposal:
    """A proposal that was checked again, with its draft's vector if it writes a text."""

    kept: KeptProposal
    # Its state is `planned` if it may be applied.
    result: Result
    vector: NDArray[np.float32] | None = None


def inspect(
    file: MemoryFile,
    proposals: Sequence[KeptProposal],
    embedder: Embedder,
    progress: Progress,
    is_trusted: bool = True,
) -> list[InspectedProposal]:
    """Check whether proposals can still be applied.

    is_trusted: whether the memory file itself kept them, after its night checked them.

    A damaged proposal, or one whose sources changed, is `stale`; one whose draft its sources do not
    support is `rejected`. Sources and drafts whose vectors are kept are not embedded again. Raises
    `StoreError` and `EmbedderError`.
    """
    ids = sorted({memory_id for kept in proposals for memory_id in kept.proposal.sources})
    memories = {memory.id: memory for memory in read_memories(file, ids)}
    stale = {
        kept.proposal.id: Result(kept.proposal, "stale", why)
        for kept in proposals
        if (why := find_outdated(kept, _sources(kept.proposal, memories))) is not None
    }
    valid = [kept for kept in proposals if kept.proposal.id not in stale]
    # Unchanged texts need no vectors, and a plan file may write no others.
    writing = [kept for kept in valid if is_trusted and not kept.proposal.keeps_text]
    check = _Check(file, writing, memories, embedder, progress, is_trusted)
    inspected = []
    for done, kept in enumerate(proposals, start=1):
        outdated = stale.get(kept.proposal.id)
        inspected.append(
            check.inspected(kept) if outdated is None else InspectedProposal(kept, outdated)
        )
        progress.stage("checking", done, len(proposals))
    return inspected


def _sources(proposal: Proposal, memories: Mapping[str, Memory]) -> list[Memory]:
    return [memories[memory_id] for memory_id in sorted(proposal.sources) if memory_id in memories]


class _Check:
    """Checks drafts against their sources; missing vectors are computed together."""

    def __init__(
        self,
        file: MemoryFile,
        writing: Sequence[KeptProposal],
        memories: Mapping[str, Memory],
        embedder: Embedder,
        progress: Progress,
        is_trusted: bool,
    ) -> None:
        """Take the proposals whose drafts are compared with their sources by vectors."""
        self._memories = memories
        self._is_vouched = is_trusted
        ids = sorted({memory_id for kept in writing for memory_id in kept.proposal.sources})
        known = [memories[memory_id] for memory_id in ids]
        self._source_vectors = TextVectors(known, read_vectors_by_id(file, embedder.name, ids))
        self._source_vectors.complete(embedder, lambda _: None, Progress())
        self._drafts = {
            kept.proposal.id: vector
            for kept in writing
            if (vector := self._kept_vector(kept, embedder.name)) is not None
        }
        lacking = [kept.proposal for kept in writing if kept.proposal.id not in self._drafts]
        made = _vectors_of([proposal.draft.text for proposal in lacking], embedder, progress)
        self._drafts |= {proposal.id: made[proposal.draft.text] for proposal in lacking}
        if lacking:
            # Before anything is applied.
            proposal = lacking[0]
            refuse_another_space(
                embedder, self._drafts[proposal.id], self._sources_of(proposal)[0].vector
            )

    def _kept_vector(self, kept: KeptProposal, model: str) -> NDArray[np.float32] | None:
        """Return the vector that waited with a draft, if the sources have their like."""
        vector = None if kept.vector is None else kept.vector.read(model)
        if vector is None or len(vector) != len(self._sources_of(kept.proposal)[0].vector):
            return None
        return vector

    def inspected(self, kept: KeptProposal) -> InspectedProposal:
        """Accept or reject a proposal whose sources are unchanged."""
        from slowwave.consolidation.writing.program_check import find_faults

        proposal = kept.proposal
        if not self._is_vouched:
            faults = _find_doubts(kept, self._memories)
        elif proposal.keeps_text:
            faults = []
        else:
            faults = find_faults(proposal, self._sources_of(proposal))
        if faults:
            return InspectedProposal(kept, Result(proposal, "rejected", "; ".join(faults)))
        accepted = Result(proposal, "planned", usage=kept.usage)
        return InspectedProposal(kept, accepted, self._drafts.get(proposal.id))

    def _sources_of(self, proposal: Proposal) -> list[Source]:
        memories = _sources(proposal, self._memories)
        vectors = self._source_vectors.of(memories)
        return [
            Source(memory.id, memory.content, memory.observed_at, vector)
            for memory, vector in zip(memories, vectors, strict=True)
        ]


def _vectors_of(
    texts: Sequence[str], embedder: Embedder, progress: Progress
) -> dict[str, NDArray[np.float32]]:
    """Return the vector of each text, each embedded once."""
    distinct = list(dict.fromkeys(texts))
    return {
        distinct[at]: vector
        for positions, vectors in encode_portions(
            embedder, distinct, partial(progress.stage, "embedding")
        )
        for at, vector in zip(positions, vectors, strict=True)
    }


def _find_doubts(kept: KeptProposal, memories: Mapping[str, Memory]) -> list[str]:
    """Return why a proposal of a plan file, which anybody may have written, is not applied.

    memories: at least its sources, unchanged since it was planned. A model's texts are refused:
    nothing has checked them since the plan could be changed.
    """
    proposal = kept.proposal
    doubts = [
        *_doubts_of_origin(proposal),
        *_doubts_of_memories(proposal, [memories[memory_id] for memory_id in proposal.sources]),
    ]
    return list(dict.fromkeys(doubts))


def _doubts_of_origin(proposal: Proposal) -> Iterator[str]:
    if proposal.by_person or any(claim.written_by == BY_PERSON for claim in proposal.draft.claims):
        yield "a plan cannot hold a person's text: use 'slowwave review'"
    elif proposal.by_model or not proposal.keeps_text:
        yield (
            "a plan cannot hold what a model wrote or grouped: use 'maintain --review always' and "
            "'slowwave review' instead"
        )
    else:
        made_of = proposal.operation, proposal.tenant, proposal.source_hashes
        if proposal.id != proposal_id(*made_of, method_key(proposal.operation), "extractive"):
            yield "its id does not match its sources"
    if proposal.tenant == SHARED_TENANT:
        yield "shared knowledge is only changed by 'slowwave shared'"


def _doubts_of_memories(proposal: Proposal, memories: Sequence[Memory]) -> Iterator[str]:
    from slowwave.consolidation.comparison.coverage import Coverage

    for memory in memories:
        if commands(memory.content):
            yield f"memory {memory.id} gives orders to its reader, and cannot be consolidated"
        if memory.id == proposal.survivor and memory.content != proposal.draft.text:
            yield f"the draft is not the text of memory {memory.id}, which stays"
    leaving = [memory for memory in memories if memory.id in proposal.leaving]
    covered = Coverage().covered([(memory.content, proposal.draft.text) for memory in leaving])
    for memory, is_covered in zip(leaving, covered, strict=True):
        if not is_covered:
            yield f"memory {memory.id} says more than the text that would replace it"
