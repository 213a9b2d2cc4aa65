"""Why a proposal of a plan file is not carried out: anybody may have written the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from slowwave.consolidation.proposals import BY_PERSON, Proposal, Source, proposal_id
from slowwave.consolidation.text.injection import commands
from slowwave.store.shared_tenant import SHARED_TENANT

from .kept_proposal import KeptProposal

if TYPE_CHECKING:
    from slowwave.consolidation.writing.verifier import Verifier
    from slowwave.store.records import Memory

_UNCLEARED = " (a second opinion may clear that, and a plan brings none along)"


def find_doubts(
    kept: KeptProposal,
    memories: Mapping[str, Memory],
    sources: Sequence[Source],
    verifier: Verifier,
) -> str:
    """Return why a proposal that the file itself does not vouch for is not carried out, or "".

    memories: at least its sources, which are as they were when it was planned. sources: the same,
    as a writer sees them. What it says of itself counts for nothing: whoever wrote its text, that
    is checked as a model's draft, for which nobody has given a second opinion, and besides as one
    that no model wrote, if it says so.
    """
    doubts = [
        *_doubts_of_origin(kept),
        *_doubts_of_memories(kept.proposal, [memories[one.id] for one in sources]),
        *_doubts_of_text(kept.proposal, sources, verifier),
    ]
    return "; ".join(dict.fromkeys(doubts))


def _doubts_of_origin(kept: KeptProposal) -> Iterator[str]:
    from slowwave.consolidation.planning.composition import method_key

    proposal = kept.proposal
    if proposal.by_person or any(one.written_by == BY_PERSON for one in proposal.draft.claims):
        yield "a plan holds nothing that a person worded: 'slowwave review' takes such words"
    writer = "model" if proposal.by_model else "extractive"
    key = kept.model_key or "" if proposal.by_model else method_key(proposal.operation)
    made_of = proposal.operation, proposal.tenant, proposal.source_hashes
    if proposal.id != proposal_id(*made_of, key, writer):
        yield "its id is not that of what it is made of"
    if proposal.tenant == SHARED_TENANT:
        yield "shared knowledge is changed by 'slowwave shared' alone"


def _doubts_of_memories(proposal: Proposal, memories: Sequence[Memory]) -> Iterator[str]:
    for memory in memories:
        if commands(memory.content):
            yield f"memory {memory.id} gives orders to its reader, and goes into nothing"
        if memory.id != proposal.survivor:
            continue
        if proposal.keeps_text:
            if memory.content != proposal.draft.text:
                yield f"the text that is said to stay is not that of memory {memory.id}"
        elif memory.generation == 0 or (memory.protected and not proposal.include_protected):
            yield f"the text of memory {memory.id} is not one that a run may write anew"


def _doubts_of_text(
    proposal: Proposal, sources: Sequence[Source], verifier: Verifier
) -> Iterator[str]:
    """Yield what is wrong with a draft, and which sources would leave though they say more."""
    is_merge = proposal.operation == "merge" and not proposal.by_model
    if is_merge or proposal.operation == "extract":
        leaving = [one for one in sources if one.id in proposal.leaving]
        restating = verifier.restating(proposal.draft.text, [one.text for one in leaving])
        for at, source in enumerate(leaving):
            if at not in restating:
                yield f"memory {source.id} says more than what would stand for it"
    if is_merge:
        return  # nothing else is written
    faults = verifier.faults(replace(proposal, by_model=True), sources)
    if not proposal.by_model:
        faults += verifier.faults(proposal, sources)
    for fault in faults:
        yield fault.why + (_UNCLEARED if fault.soft else "")
