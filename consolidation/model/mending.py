"""What may be carried out of groups with faults: without what was turned down.

The sources' own sentences stand for claims at fault, and what says more than the others stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from slowwave.consolidation.planning.extractive import dated, ended, is_shorter
from slowwave.consolidation.proposals import Claim, Draft, Source
from slowwave.consolidation.text.reading import Reading, read
from slowwave.consolidation.writing.checking import Check

from .groups import Group, Suggestion, Suggestions, Unusable


def mended(suggestion: Suggestion, check: Check) -> Draft | None:
    """Give a draft in which the sources' own sentences stand for what was turned down.

    Claims at fault go, and the sentences of what they cite come, and those of which something is
    lost. None if there is none that passes the check and is enough shorter than what goes for it.
    """
    proposal, sources = suggestion.proposal, suggestion.sources
    if proposal.operation == "extract":
        return _voiced(suggestion, check)
    if proposal.operation != "synthesize":
        return None
    faults = [one for one in check.faults(proposal, sources) if suggestion.stands(one)]
    wrong = {one.claim for one in faults} | suggestion.doubted
    claims = proposal.draft.claims
    sound = [one for at, one in enumerate(claims) if at not in wrong]
    open_ids = {one.source for one in faults} | suggestion.missed
    open_ids |= {cited for at in wrong if at is not None for cited in claims[at].sources}
    draft = Draft(tuple(_completed(sound, sources, open_ids, check)))
    if not draft.claims or not _is_worth_it(suggestion, draft):
        return None
    completed = replace(
        suggestion,
        proposal=replace(proposal, draft=draft),
        approved=suggestion.approved - open_ids,
    )
    left = check.faults(completed.proposal, sources)
    return None if any(completed.stands(one) for one in left) else draft


def composed(suggestions: Suggestions, same: Suggestion, check: Check) -> Suggestion | None:
    """Give a new memory for memories that are the same, of which the one that stays misses some.

    Its sentences come first, and behind them what it does not say. None if that is not worth it.
    """
    with suppress(Unusable):
        heard = replace(suggestions.composed(same), missed=same.missed, approved=same.approved)
        draft = mended(heard, check)
        if draft is not None:
            return replace(heard, proposal=replace(heard.proposal, draft=draft))
    return None


def narrowed(suggestions: Suggestions, group: Group, check: Check) -> Suggestion | None:
    """Give the memory of a group that stands for most others, without those that say more.

    What of it is left to a second opinion must still be heard.
    """
    found = []
    for stay in group.ids:
        tried = replace(group, stay=(stay,))
        with suppress(Unusable):
            suggestion = _tried(suggestions, tried, check)
            faults = check.faults(suggestion.proposal, suggestion.sources)
            lost = {one.source for one in faults if not one.soft}
            ids = tuple(one for one in group.ids if one not in lost)
            if stay not in lost:
                found.append(_tried(suggestions, replace(tried, ids=ids), check))
    sound = (
        one for one in found if all(fault.soft for fault in check.faults(one.proposal, one.sources))
    )
    return max(sound, key=lambda one: len(one.proposal.leaving), default=None)


def without(
    suggestions: Suggestions, group: Group, same: Suggestion, check: Check
) -> Iterator[Suggestion]:
    """Give memories that are the same without those of which a second opinion misses something."""
    ids = tuple(one for one in group.ids if one not in same.missed)
    with suppress(Unusable):
        fewer = replace(_tried(suggestions, replace(group, ids=ids), check), approved=same.approved)
        faults = check.faults(fewer.proposal, fewer.sources)
        if not any(fewer.stands(one) for one in faults):
            yield fewer


def _tried(suggestions: Suggestions, group: Group, check: Check) -> Suggestion:
    """Give what a group would do, and leave its memories free. Raises `Unusable`."""
    suggestion = suggestions.of(group, check)
    suggestions.release(suggestion)
    return suggestion


def _is_worth_it(suggestion: Suggestion, draft: Draft) -> bool:
    """Whether it is enough shorter than what goes; of a memory that grows, what is added is."""
    proposal = suggestion.proposal
    leaving = [source for source in suggestion.sources if source.id in proposal.leaving]
    added = [one for one in draft.claims if one.sources != (proposal.survivor,)]
    return is_shorter(Draft(tuple(added)), leaving)


def _voiced(suggestion: Suggestion, check: Check) -> Draft | None:
    """Give the shortest of a rule's voices that says what the others do."""
    ids = tuple(sorted(source.id for source in suggestion.sources))
    for voice in sorted(suggestion.sources, key=lambda one: (len(one.text), one.id)):
        draft = Draft((Claim(voice.text, ids),))
        proposal = replace(suggestion.proposal, draft=draft)
        if not check.faults(proposal, suggestion.sources):
            return draft
    return None


def _completed(
    sound: Sequence[Claim],
    sources: Sequence[Source],
    open_ids: Collection[str | None],
    check: Check,
) -> Iterator[Claim]:
    """Give claims, and the sentences of open sources that none of them tells, each once.

    The fullest are added first: they tell others. Each source is cited by what tells it.
    """
    claims: list[Claim] = list(sound)
    kept: list[Reading] = [read(one.text) for one in sound]
    tellers: dict[str, int] = {}
    open_ones = [one for one in sources if one.id in open_ids]
    said = [(one, sentence) for one in open_ones for sentence in read(one.text).sentences]
    for source, sentence in sorted(said, key=lambda one: -len(one[1])):
        reading = read(sentence)
        place = check.teller(reading, kept)
        if place is None:
            place = len(claims)
            claims.append(Claim(dated(source, ended(sentence)), (source.id,)))
            kept.append(reading)
        tellers.setdefault(source.id, place)
    cited = {one for claim in claims for one in claim.sources}
    for place, claim in enumerate(claims):
        telling = (one for one in tellers if one not in cited and tellers[one] == place)
        yield replace(claim, sources=(*claim.sources, *telling))
