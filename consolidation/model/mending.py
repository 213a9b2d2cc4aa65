"""A model's draft without its faulty claims: what they cite stands in their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from slowwave.consolidation.planning.extractive import dated, ended, is_shorter
from slowwave.consolidation.proposals import Claim, Draft, Source
from slowwave.consolidation.text.reading import Reading, read
from slowwave.consolidation.writing.checking import Check

from .groups import Suggestion


def mended(suggestion: Suggestion, check: Check) -> Draft | None:
    """Give a draft in which the sources' own sentences stand for claims that were turned down.

    None if there is none that passes the check and is enough shorter than what goes for it.
    """
    proposal, sources = suggestion.proposal, suggestion.sources
    if proposal.operation != "synthesize" or proposal.survivor is not None:
        return None
    faults = check.faults(proposal, sources)
    wrong = {one.claim for one in faults} | suggestion.doubted
    sound = [one for at, one in enumerate(proposal.draft.claims) if at not in wrong]
    draft = Draft(tuple(_completed(sound, sources, check)))
    leaving = [source for source in sources if source.id in proposal.leaving]
    if not draft.claims or not is_shorter(draft, leaving):
        return None
    return None if check.faults(replace(proposal, draft=draft), sources) else draft


def _completed(sound: Sequence[Claim], sources: Sequence[Source], check: Check) -> Iterator[Claim]:
    """Give claims, and the sentences of the sources that none of them tells, each once.

    The fullest are added first: they tell others. Each source is cited by what tells it.
    """
    claims: list[Claim] = list(sound)
    kept: list[Reading] = [read(one.text) for one in sound]
    tellers: dict[str, int] = {}
    said = [(one, sentence) for one in sources for sentence in read(one.text).sentences]
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
