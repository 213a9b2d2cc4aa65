"""Why a proposal of a plan file is not carried out: anybody may have written the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from slowwave.consolidation.proposals import BY_PERSON, Proposal, method_key, proposal_id
from slowwave.consolidation.text.injection import commands
from slowwave.store.shared_tenant import SHARED_TENANT

from .kept_proposal import KeptProposal

if TYPE_CHECKING:
    from slowwave.store.records import Memory


def find_doubts(kept: KeptProposal, memories: Mapping[str, Memory]) -> list[str]:
    """Return why a proposal that the file itself does not vouch for is not carried out.

    memories: at least its sources, which are as they were when it was planned. What a proposal says
    of itself counts for nothing. A text that a model wrote has been read by a model, but not since
    somebody could change the plan: only `review` carries it out, from the memory file.
    """
    proposal = kept.proposal
    doubts = [
        *_doubts_of_origin(proposal),
        *_doubts_of_memories(proposal, [memories[memory_id] for memory_id in proposal.sources]),
    ]
    return list(dict.fromkeys(doubts))


def _doubts_of_origin(proposal: Proposal) -> Iterator[str]:
    if proposal.by_person or any(one.written_by == BY_PERSON for one in proposal.draft.claims):
        yield "a plan holds nothing that a person worded: 'slowwave review' takes such words"
    elif proposal.by_model or not proposal.keeps_text:
        yield (
            "what a model wrote or grouped is not read again: use 'maintain --review always' and "
            "'slowwave review' in place of a plan file"
        )
    else:
        made_of = proposal.operation, proposal.tenant, proposal.source_hashes
        if proposal.id != proposal_id(*made_of, method_key(proposal.operation), "extractive"):
            yield "its id is not that of what it is made of"
    if proposal.tenant == SHARED_TENANT:
        yield "shared knowledge is changed by 'slowwave shared' alone"


def _doubts_of_memories(proposal: Proposal, memories: Sequence[Memory]) -> Iterator[str]:
    from slowwave.consolidation.comparison.coverage import Coverage

    for memory in memories:
        if commands(memory.content):
            yield f"memory {memory.id} gives orders to its reader, and goes into nothing"
        if memory.id == proposal.survivor and memory.content != proposal.draft.text:
            yield f"the text that is said to stay is not that of memory {memory.id}"
    leaving = [memory for memory in memories if memory.id in proposal.leaving]
    covered = Coverage().covered([(memory.content, proposal.draft.text) for memory in leaving])
    for memory, is_covered in zip(leaving, covered, strict=True):
        if not is_covered:
            yield f"memory {memory.id} says more than what would replace it"
