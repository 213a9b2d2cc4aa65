"""Checks a draft that should only quote its sources: does it, and does it cite all of them.

What the built-in writer leaves out was found to be told by what it keeps when the plan was made;
a claim cites whom it tells. So nothing is judged again here: it is looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slowwave.consolidation.proposals import Draft, Source
from slowwave.consolidation.text.dates import DATE_MARK
from slowwave.consolidation.text.reading import read

from .faults import Fault

_MARKS = ".!?"


def find_unquoted(draft: Draft, sources: Sequence[Source]) -> list[Fault]:
    """Return what is wrong with a draft of quotations, a sentence each; [] if nothing is."""
    return [Fault(one) for one in (*_invented(draft, sources), *_lost(draft, sources))]


def _invented(draft: Draft, sources: Sequence[Source]) -> Iterator[str]:
    texts = {source.id: source.text for source in sources}
    for claim in draft.claims:
        said = _bare(claim.text)
        cited = [texts[one] for one in claim.sources if one in texts]
        if not said or not any(said in text for text in cited):
            yield f"says what none of its sources says: {claim.text}"


def _lost(draft: Draft, sources: Sequence[Source]) -> Iterator[str]:
    quoted = " ".join(_bare(claim.text) for claim in draft.claims)
    for source in sources:
        citing = [_bare(claim.text) for claim in draft.claims if source.id in claim.sources]
        # What quotes a source tells nothing else of it.
        if all(said in source.text for said in citing):
            lost = [one for one in read(source.text).sentences if _bare(one) not in quoted]
            yield from (f"loses what a source says: {one}" for one in lost)


def _bare(sentence: str) -> str:
    """Return a sentence without the day on which it was said, and without its last full stop."""
    return DATE_MARK.sub("", sentence).strip().rstrip(_MARKS)
