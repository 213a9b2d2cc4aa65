"""Faults of a model's draft that are no more than another word for the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slowwave.consolidation.proposals import Draft, Source
from slowwave.consolidation.thresholds import ENTAILED_WITH_A_MODEL
from slowwave.consolidation.verification.faults import Fault

# How likely it is that one text says all that another says.
Likelihood = Callable[[str, str], float]


def without_cleared(
    faults: Sequence[Fault], draft: Draft, sources: Sequence[Source], likelihood: Likelihood
) -> list[Fault]:
    """Give the faults without those of plain words that the network clears.

    A model has said that the words mean the same; here a second one says so, too. Values, names,
    literals, denials and the like are never cleared. likelihood: of (what is said, who tells it).
    """
    texts = {source.id: source.text for source in sources}

    def is_cleared(fault: Fault) -> bool:
        if not fault.soft:
            return False
        if fault.source is not None:
            return likelihood(texts[fault.source], draft.text) >= ENTAILED_WITH_A_MODEL
        if fault.claim is None:
            return False
        claim = draft.claims[fault.claim]
        told = " ".join(texts[one] for one in claim.sources)
        return likelihood(claim.text, told) >= ENTAILED_WITH_A_MODEL

    return [one for one in faults if not is_cleared(one)]
