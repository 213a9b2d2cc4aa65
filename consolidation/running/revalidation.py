"""Check pending proposals and plan files again, before they are applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

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
from slowwave.consolidation.vectors.embedder import Embedder, encode_portions, refuse_another_space
from slowwave.consolidation.vectors.matrix import TextVectors
from slowwave.store.file import MemoryFile
from slowwave.store.records import Memory
from slowwave.store.shared_tenant import SHARED_TENANT
from slowwave.store.vectors import from_blob, is_sound, read_vectors_by_id, to_blob

from .apply import find_stale
from .review_queue import read_sources


def revalidate(
    file: MemoryFile,
    proposals: Sequence[Result],
    embedder: Embedder,
    progress: Progress,
    is_trusted: bool,
) -> list[Result]:
    """Return proposals as `planned` if they can still be applied, with the vectors of their drafts.

    is_trusted: whether the memory file itself kept them, after its night checked them.

    A damaged proposal, or one whose sources changed, is `stale`; one whose draft its sources do not
    support is `rejected`. Sources and drafts whose vectors are kept are not embedded again. Raises
    `StoreError` and `EmbedderError`.
    """
    memories = read_sources(file, proposals)
    checked = [
        replace(kept, state="planned" if why is None else "stale", why=why)
        for kept in proposals
        for why in [find_stale(kept, memories)]
    ]
    valid = [kept.proposal for kept in checked if kept.state == "planned"]
    # Unchanged texts need no vectors, and a plan file may write no others.
    writing = {kept.id for kept in valid if is_trusted and not kept.keeps_text}
    drafts = [kept for kept in checked if kept.proposal.id in writing]
    sources_of = _read_sources(file, drafts, memories, embedder)
    vectors = _draft_vectors(drafts, sources_of, embedder, progress)
    for at, kept in enumerate(checked):
        if kept.state == "planned":
            sources = sources_of.get(kept.proposal.id)
            faults = _find_faults(kept.proposal, memories, sources, is_trusted)
            checked[at] = replace(
                kept,
                state="rejected" if faults else "planned",
                why="; ".join(faults) or None,
                vector=vectors.get(kept.proposal.id),
            )
        progress.stage("checking", at + 1, len(checked))
    return checked


def _read_sources(
    file: MemoryFile, drafts: Sequence[Result], memories: Mapping[str, Memory], embedder: Embedder
) -> dict[str, list[Source]]:
    """Return the sources of drafts, sorted, with their vectors, by the ids of proposals."""
    ids = sorted({memory_id for kept in drafts for memory_id in kept.proposal.sources})
    vectors = TextVectors(
        [memories[memory_id] for memory_id in ids], read_vectors_by_id(file, embedder.name, ids)
    )
    vectors.complete(embedder, lambda _: None, Progress())
    of_drafts = {
        kept.proposal.id: [memories[memory_id] for memory_id in sorted(kept.proposal.sources)]
        for kept in drafts
    }
    return {key: Source.of(found, vectors.of(found)) for key, found in of_drafts.items()}


def _draft_vectors(
    drafts: Sequence[Result],
    sources_of: Mapping[str, Sequence[Source]],
    embedder: Embedder,
    progress: Progress,
) -> dict[str, tuple[str, bytes]]:
    """Return the embedding model and the vector of each draft, by the proposal's id.

    Each text is embedded once. A kept vector is used if the sources have vectors of that kind.
    """
    known: dict[str, tuple[str, bytes]] = {}
    missing: dict[str, str] = {}
    for kept in drafts:
        proposal = kept.proposal
        model, blob = kept.vector or ("", b"")
        expected = len(to_blob(sources_of[proposal.id][0].vector))
        if model == embedder.name and is_sound(blob) and len(blob) == expected:
            known[proposal.id] = model, blob
        else:
            missing[proposal.id] = proposal.draft.text
    texts = list(dict.fromkeys(missing.values()))
    stage = partial(progress.stage, "embedding")
    embedded = {
        texts[at]: to_blob(vector)
        for positions, vectors in encode_portions(embedder, texts, stage)
        for at, vector in zip(positions, vectors, strict=True)
    }
    known |= {key: (embedder.name, embedded[text]) for key, text in missing.items()}
    first = next((kept.proposal for kept in drafts if kept.proposal.id in missing), None)
    if first is not None:
        # Before anything is applied.
        vector = from_blob(known[first.id][1])
        refuse_another_space(embedder, vector, sources_of[first.id][0].vector)
    return known


def _find_faults(
    proposal: Proposal,
    memories: Mapping[str, Memory],
    sources: Sequence[Source] | None,
    is_trusted: bool,
) -> list[str]:
    """Return why a proposal whose sources are unchanged is not applied; [] if it is.

    sources: None if it writes no text.
    """
    from slowwave.consolidation.writing.draft_check import find_faults

    if is_trusted:
        return [] if sources is None else find_faults(proposal, sources)
    # Anybody may have written a plan file. A model's texts are refused: nothing has checked them
    # since the plan could be changed.
    found = [memories[memory_id] for memory_id in proposal.sources]
    doubts = [*_doubts_of_origin(proposal), *_doubts_of_memories(proposal, found)]
    return list(dict.fromkeys(doubts))


def _doubts_of_origin(proposal: Proposal) -> Iterator[str]:
    if proposal.by_person or any(claim.written_by == BY_PERSON for claim in proposal.draft.claims):
        yield "a plan cannot contain a person's text: use 'slowwave review FILE'"
    elif proposal.by_model or not proposal.keeps_text:
        yield (
            "a plan cannot contain what a model wrote or grouped: use 'maintain --review always' "
            "and 'slowwave review FILE' instead"
        )
    else:
        made_of = proposal.operation, proposal.tenant, proposal.source_hashes
        if proposal.id != proposal_id(*made_of, method_key(proposal.operation), "extractive"):
            yield "its id does not match its sources"
    if proposal.tenant == SHARED_TENANT:
        yield "shared facts are only changed by 'slowwave shared FILE'"


def _doubts_of_memories(proposal: Proposal, memories: Sequence[Memory]) -> Iterator[str]:
    from slowwave.consolidation.comparison.normal_form import say_the_same

    for memory in memories:
        if commands(memory.content):
            yield f"memory {memory.id} contains instructions to its reader: it is never merged"
        if memory.id == proposal.survivor and memory.content != proposal.draft.text:
            yield f"the draft is not the text of memory {memory.id}, which stays"
        is_leaving = memory.id in proposal.leaving
        if is_leaving and not say_the_same(memory.content, proposal.draft.text):
            yield f"memory {memory.id} does not say the same as the text that would replace it"
