"""What may be carried out of groups with faults: without what was turned down.

The sources' own sentences stand for claims at fault, and what says more than the others stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from slowwave.consolidation.planning.composition import with_date, with_full_stop
from slowwave.consolidation.proposals import Claim, Draft, Source
from slowwave.consolidation.text.reading import Reading, read
from slowwave.consolidation.verification.content_words import is_verbatim
from slowwave.consolidation.writing.verifier import Verifier

from .group_proposals import Suggestions
from .suggestion import Group, Suggestion, Unusable


def fallback_before_opinions(
    suggestions: Suggestions, group: Group, suggestion: Suggestion, verifier: Verifier
) -> Suggestion | None:
    """Return what a group may do without its faults if a second opinion is for it, or None.

    Of memories that are the same, what some add is put behind the one that stays, or those stay.
    """
    if suggestion.kind != "same":
        return _with_quotations(suggestion, verifier, is_heard=False)
    found = _composed(suggestions, suggestion, verifier, is_heard=False)
    return found or _narrowed(suggestions, group, verifier)


def fallback_after_opinions(
    suggestions: Suggestions, group: Group, suggestion: Suggestion, verifier: Verifier
) -> Suggestion | None:
    """Return what a group may do without its faults, and without what no second opinion was for."""
    if suggestion.kind != "same":
        return _with_quotations(suggestion, verifier, is_heard=True)
    found = _composed(suggestions, suggestion, verifier, is_heard=True)
    return found or _without_missed(suggestions, group, suggestion, verifier)


def _with_quotations(
    suggestion: Suggestion, verifier: Verifier, is_heard: bool
) -> Suggestion | None:
    """Replace the claims that were turned down by the sources' own sentences.

    Claims at fault go, and the sentences of what they cite come, and those of which something is
    lost. None if that does not pass verification, or is not enough shorter than what goes for it.
    """
    proposal, sources = suggestion.proposal, suggestion.sources
    if proposal.operation == "extract":
        return _reworded_rule(suggestion, verifier)
    if proposal.operation != "synthesize":
        return None
    faults = [one for one in verifier.faults(proposal, sources) if suggestion.still_counts(one)]
    if not is_heard:
        faults = [one for one in faults if not one.soft]
    claims = proposal.draft.claims
    wrong = {one.claim for one in faults if one.claim is not None} | suggestion.doubted
    if is_heard:
        wrong |= {at for at, one in enumerate(claims) if not _is_sound(one, suggestion)}
    sound = [one for at, one in enumerate(claims) if at not in wrong]
    open_ids = {one.source for one in faults if one.source is not None} | suggestion.missed
    open_ids |= {cited for at in wrong for cited in claims[at].sources}
    draft = Draft(tuple(_completed(sound, sources, open_ids, suggestion.missed, verifier)))
    if not draft.claims or not suggestion.is_shorter(draft):
        return None
    completed = replace(
        suggestion,
        proposal=replace(proposal, draft=draft),
        approved=suggestion.approved - open_ids,
    )
    left = [
        one for one in verifier.faults(completed.proposal, sources) if completed.still_counts(one)
    ]
    is_passed = not any(is_heard or not one.soft for one in left)
    return completed if is_passed else None


def _is_sound(claim: Claim, suggestion: Suggestion) -> bool:
    """Whether a source says a claim word for word, or a second opinion is for it."""
    cited = [one.text for one in suggestion.sources if one.id in claim.sources]
    return claim.text in suggestion.approved or is_verbatim(claim.text, cited)


def _composed(
    suggestions: Suggestions, same: Suggestion, verifier: Verifier, is_heard: bool
) -> Suggestion | None:
    """Return a new memory for memories that are the same, of which the one that stays misses some.

    Its sentences come first, and behind them what it does not say. None if that is not worth it.
    """
    with suppress(Unusable):
        new = suggestions.composed(same)
        heard = replace(new, missed=same.missed, approved=same.approved)
        return _with_quotations(heard, verifier, is_heard)
    return None


def _narrowed(suggestions: Suggestions, group: Group, verifier: Verifier) -> Suggestion | None:
    """Return the memory of a group that stands for most others, without those that say more.

    What of it is left to a second opinion must still be heard.
    """
    found = []
    for stay in group.ids:
        tried = replace(group, stay=(stay,))
        with suppress(Unusable):
            suggestion = _try_out(suggestions, tried, verifier)
            faults = verifier.faults(suggestion.proposal, suggestion.sources)
            lost = {one.source for one in faults if not one.soft}
            ids = tuple(one for one in group.ids if one not in lost)
            if stay not in lost:
                found.append(_try_out(suggestions, replace(tried, ids=ids), verifier))
    sound = (
        one
        for one in found
        if all(fault.soft for fault in verifier.faults(one.proposal, one.sources))
    )
    return max(sound, key=lambda one: len(one.proposal.leaving), default=None)


def _without_missed(
    suggestions: Suggestions, group: Group, same: Suggestion, verifier: Verifier
) -> Suggestion | None:
    """Return memories that are the same, without those of which an opinion misses something."""
    ids = tuple(one for one in group.ids if one not in same.missed)
    with suppress(Unusable):
        fewer = replace(
            _try_out(suggestions, replace(group, ids=ids), verifier), approved=same.approved
        )
        faults = verifier.faults(fewer.proposal, fewer.sources)
        if same.missed and not any(fewer.still_counts(one) for one in faults):
            return fewer
    return None


def _try_out(suggestions: Suggestions, group: Group, verifier: Verifier) -> Suggestion:
    """Return what a group would do, and leave its memories free. Raises `Unusable`."""
    suggestion = suggestions.of(group, verifier)
    suggestions.release(suggestion)
    return suggestion


def _reworded_rule(suggestion: Suggestion, verifier: Verifier) -> Suggestion | None:
    """State a rule as the shortest of its voices does that says what the others do."""
    ids = tuple(sorted(source.id for source in suggestion.sources))
    for voice in sorted(suggestion.sources, key=lambda one: (len(one.text), one.id)):
        draft = Draft((Claim(voice.text, ids),))
        proposal = replace(suggestion.proposal, draft=draft)
        if not verifier.faults(proposal, suggestion.sources):
            return replace(suggestion, proposal=proposal).narrowed(verifier)
    return None


def _completed(
    sound: Sequence[Claim],
    sources: Sequence[Source],
    open_ids: Collection[str],
    missed: Collection[str],
    verifier: Verifier,
) -> Iterator[Claim]:
    """Yield claims, and the sentences of open sources that none of them tells, each once.

    The fullest are added first: they tell others. Each source is cited by what tells it.
    missed: of what these say a second opinion found something left out of the claims, so only
    word for word do the claims tell it.
    """
    said_so = [one.text for one in sound]
    claims: list[Claim] = list(sound)
    kept: list[Reading] = [read(one.text) for one in sound]
    covering: dict[str, int] = {}
    open_ones = [one for one in sources if one.id in open_ids]
    said = [(one, sentence) for one in open_ones for sentence in read(one.text).sentences]
    for source, sentence in sorted(said, key=lambda one: -len(one[1])):
        reading = read(sentence)
        place = verifier.find_covering(reading, kept)
        is_missed = source.id in missed and not is_verbatim(sentence, said_so)
        if is_missed and place is not None and place < len(sound):
            place = None
        if place is None:
            place = len(claims)
            claims.append(Claim(with_date(source, with_full_stop(sentence)), (source.id,)))
            kept.append(reading)
        covering.setdefault(source.id, place)
    cited = {one for claim in claims for one in claim.sources}
    for place, claim in enumerate(claims):
        telling = (one for one in covering if one not in cited and covering[one] == place)
        yield replace(claim, sources=(*claim.sources, *telling))
