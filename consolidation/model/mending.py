"""A model's draft without its faulty claims: what they cite stands in their place."""

from __future__ import annotations

from collections.abc import Sequence
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
    draft = Draft((*sound, *_untold(sources, sound, check)))
    leaving = [source for source in sources if source.id in proposal.leaving]
    if not draft.claims or not is_shorter(draft, leaving):
        return None
    return None if check.faults(replace(proposal, draft=draft), sources) else draft


def _untold(sources: Sequence[Source], sound: Sequence[Claim], check: Check) -> list[Claim]:
    """Give the sentences of the sources that no claim tells, each once."""
    kept: list[Reading] = [read(one.text) for one in sound]
    added = []
    for source in sources:
        for sentence in read(source.text).sentences:
            said = read(sentence)
            if check.teller(said, kept) is None:
                added.append(Claim(dated(source, ended(sentence)), (source.id,)))
                kept.append(said)
    return added
