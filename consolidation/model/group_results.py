"""What becomes of the groups of an answer: proposals, conflicts, or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from slowwave.consolidation.proposals import (
    Conflict,
    Draft,
    Proposal,
    State,
    VerifiedProposal,
)
from slowwave.consolidation.verification.content_words import is_verbatim
from slowwave.consolidation.verification.faults import Fault
from slowwave.consolidation.writing.verifier import Verifier

from .answer_forms import StatedOpinion
from .dialogue import WindowDialogue
from .fallbacks import fallback_after_opinions
from .opinions import Doubt, faults_after_opinions
from .suggestion import Group, Suggestion


@dataclass(frozen=True)
class FaultyGroup:
    """A group that cannot be used, and why; and what it would do, if that is known."""

    group: Group
    faults: tuple[str, ...]
    suggestion: Suggestion | None


@dataclass(frozen=True)
class DoubtedGroup:
    """A group that is carried out unless a second opinion is against it."""

    group: Group
    suggestion: Suggestion
    doubts: tuple[Doubt, ...]


def split_by_opinions(
    dialogue: WindowDialogue,
    doubted: Sequence[DoubtedGroup],
    opinions: Sequence[StatedOpinion],
    verifier: Verifier,
) -> tuple[list[Suggestion], list[FaultyGroup]]:
    """Split the groups by second opinions: those confirmed, and the others.

    opinions: on all doubts of all groups in a row, by their numbers from 1.
    """
    usable, turned_down, first = [], [], 1
    for one in doubted:
        own = [
            opinion.model_copy(update={"n": opinion.n - first + 1})
            for opinion in opinions
            if first <= opinion.n < first + len(one.doubts)
        ]
        first += len(one.doubts)
        faults, restating = faults_after_opinions(one.doubts, own, verifier)
        if faults:
            why = tuple(fault.why for fault in faults)
            dialogue.suggestions.release(one.suggestion)
            turned_down.append(FaultyGroup(one.group, why, _with_opinions(one, faults)))
        else:
            usable.append(one.suggestion.joined_by(restating))
    return usable, turned_down


def _with_opinions(one: DoubtedGroup, faults: Sequence[Fault]) -> Suggestion:
    """Note what a second opinion is against, and what it is for."""
    claims = one.suggestion.proposal.draft.claims
    doubted = frozenset(fault.claim for fault in faults if fault.claim is not None)
    missed = frozenset(fault.source for fault in faults if fault.source is not None)
    texts = {claim.text for at, claim in enumerate(claims) if at not in doubted}
    ids = {source.id for source in one.suggestion.sources} - missed
    return replace(one.suggestion, doubted=doubted, missed=missed, approved=frozenset(texts | ids))


def proposals_of(
    dialogue: WindowDialogue, suggestions: Sequence[Suggestion]
) -> Iterator[VerifiedProposal]:
    """Yield the groups that may be carried out, each with its share of what was used."""
    written = [VerifiedProposal(_signed(dialogue, one), "planned", one.why) for one in suggestions]
    yield from dialogue.shared(written)


def _signed(dialogue: WindowDialogue, suggestion: Suggestion) -> Proposal:
    """Note for each claim that no source says word for word who worded it and who confirmed it."""
    proposal = suggestion.proposal
    texts = {source.id: source.text for source in suggestion.sources}
    claims = tuple(
        one
        if is_verbatim(one.text, [texts[cited] for cited in one.sources])
        else replace(one, written_by=dialogue.models.writer, checked_by=dialogue.models.checker)
        for one in proposal.draft.claims
    )
    return replace(proposal, draft=Draft(claims))


_WHY = {
    "conflict": "a model says that both cannot be true",
    "newer": "a model takes the later one for newer, and nothing in it says that anything changed",
}


def conflicts_of(dialogue: WindowDialogue, group: Group) -> list[Conflict]:
    """Return what of a group cannot both be true, one conflict for each two in a row."""
    by_id = {source.id: source for source in dialogue.job.sources}
    known = sorted(
        (by_id[one] for one in group.ids if one in by_id), key=lambda one: one.observed_at
    )
    return [
        Conflict(
            (earlier.id, later.id),
            dialogue.window.tenant,
            "statement",
            (earlier.text, later.text),
            _WHY[group.kind],
        )
        for earlier, later in pairwise(known)
    ]


def proposals_without_faults(
    dialogue: WindowDialogue,
    faulty: Sequence[FaultyGroup],
    verifier: Verifier,
    state: State = "rejected",
) -> Iterator[VerifiedProposal]:
    """Yield what becomes of groups that cannot be used after all.

    state: of those of which nothing is written; only `rejected` is remembered.
    """
    dialogue.turned_down += [why for one in faulty if not one.suggestion for why in one.faults]
    found = [_after_fallback(dialogue, one, verifier, state) for one in faulty]
    settled = [one for one in found if one is not None]
    yield from (one for one in settled if one.state != "planned")
    yield from dialogue.shared([one for one in settled if one.state == "planned"])


def _after_fallback(
    dialogue: WindowDialogue, one: FaultyGroup, verifier: Verifier, state: State
) -> VerifiedProposal | None:
    """Return what becomes of a group with faults: without what is at fault, or nothing of it."""
    suggestion, why = one.suggestion, "; ".join(one.faults)
    if suggestion is None:
        return None
    found = fallback_after_opinions(dialogue.suggestions, one.group, suggestion, verifier)
    if found is None:
        return VerifiedProposal(suggestion.proposal, state, why)
    found = found.turned_down(one.faults)
    return VerifiedProposal(_signed(dialogue, found), "planned", found.why)
