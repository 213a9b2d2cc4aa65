"""A proposal for people: what it is about, what goes, what stays, and what stands then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .memory_texts import Signed, counted, whose_words
from .output import clean

LEGEND = "What goes has a -, what stays as it is a *, what stands then a =."


@dataclass(frozen=True)
class ProposalBlock:
    """What is shown of one proposal."""

    operation: str
    key: str
    state: str
    reason: str
    # What each source says, and whether it goes.
    sources: Sequence[tuple[bool, str]]
    # What went wrong, or was left out.
    why: str | None
    # What stands in the end; None where nothing was done.
    result: str | None
    claims: Sequence[Signed] = ()

    def lines(self) -> Iterator[str]:
        """Yield it line by line."""
        yield ""
        yield clean(f"{self.operation} {self.key[:8]} ({self.state}): {self.reason}")
        for goes, said in self.sources:
            yield f"  {'-' if goes else '*'} {said}"
        if self.why:
            yield clean(f"  ! {self.why}")
        if self.result is None:
            return
        yield clean(f"  = {self.result}")
        worded = Counter(whose_words(one) for one in self.claims if one.written_by)
        for whose, count in worded.items():
            yield clean(f"    {counted(count, 'sentence', 'sentences')} {whose}")
