"""A proposal for people: what it is about, what goes, what stays, and the result."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slowwave.cli.terminal.differences import Span, mark_differences
from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted

from .authors import Signed, author_of
from .memory_texts import ShownMemory, dated, in_time

if TYPE_CHECKING:
    from rich.text import Text

    from slowwave.consolidation.proposals import LeftOut, Proposal, Savings

LEGEND = "Marks: - goes, * stays as it is, = is the result."
# On a terminal: words of what goes that do not stand then, and words that stand then alone.
_GOING, _NEW = "underline", "bold"
# States of what was written and checked, and is not applied: what it would have come to is shown.
NOT_WANTED = ("declined", "stale")
# What stands between the day of a memory and its text.
_BEHIND_THE_DAY = "  "


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
    # What would have stood, where a person did not want it or it does not hold any more.
    not_done: str | None = None
    # What the writer left out on purpose.
    left_out: Sequence[LeftOut] = ()

    def lines(self) -> Iterator[str | Text]:
        """Yield it line by line; on a terminal with marks on the words that differ."""
        yield ""
        yield clean(f"{self.operation} {self.key[:8]} ({self.state}): {self.reason}")
        going, result = self._differences()
        for goes, said in self.sources:
            if goes and going:
                day, between, _ = said.rpartition(_BEHIND_THE_DAY)
                yield _marked(f"  - {day}{between}", going.pop(0), _GOING)
            else:
                yield f"  {'-' if goes else '*'} {said}"
        if self.why:
            yield clean(f"  ! {self.why}")
        if self.not_done is not None:
            yield clean(f"    would have stood: {self.not_done}")
        if self.result is None:
            return
        yield _marked("  = ", result, _NEW) if result else clean(f"  = {self.result}")
        worded = Counter(author_of(one) for one in self.claims if one.written_by)
        for whose, count in worded.items():
            yield clean(f"    {counted(count, 'sentence', 'sentences')} {whose}")
        for omitted in self.left_out:
            yield clean(f'    left out ({omitted.why}): "{omitted.words}"')

    def _differences(self) -> tuple[list[list[Span]], list[Span]]:
        """Return what goes and the result, differences marked; nothing where no mark shows."""
        if self.result is None or not sys.stdout.isatty():
            return [], []
        going = [said.rpartition(_BEHIND_THE_DAY)[2] for goes, said in self.sources if goes]
        return mark_differences(going, clean(self.result))


def proposal_block(
    proposal: Proposal,
    state: str,
    why: str | None,
    memories: dict[str, ShownMemory],
    numbers: str = "",
    is_done: bool = True,
) -> ProposalBlock:
    """Return a proposal as a report shows it.

    numbers: what follows its reason. is_done: whether what leaves is gone, or would go; if it is
    not, and `why` says so, nothing stands in the end.
    """
    stands = result_of(proposal.survivor, memories) if proposal.keeps_text else proposal.draft.text
    return ProposalBlock(
        proposal.operation,
        proposal.id,
        state,
        f"{proposal.reason}{numbers}",
        source_lines(
            proposal.sources, proposal.survivor, proposal.leaving if is_done else (), memories
        ),
        why,
        stands if is_done or not why else None,
        () if proposal.keeps_text else proposal.draft.claims,
        stands if not is_done and state in NOT_WANTED else None,
        proposal.left_out,
    )


def worth_as_text(worth: Savings) -> str:
    """Return what a proposal is worth, to follow its reason; nothing where nothing results."""
    numbers = ""
    if worth.tokens_after is not None:
        numbers = f"; {worth.tokens_before:,} -> {worth.tokens_after:,} tokens"
    if worth.trust is not None:
        numbers += f", trust {worth.trust:g}"
    return numbers


def source_lines(
    sources: Sequence[str],
    survivor: str | None,
    going: Collection[str],
    memories: dict[str, ShownMemory],
) -> list[tuple[bool, str]]:
    """Return of each source but the survivor, in time, whether it goes, and what it says."""
    return [
        (one in going, dated(memories.get(one)))
        for one in in_time(sources, memories)
        if one != survivor
    ]


def result_of(survivor: str | None, memories: dict[str, ShownMemory]) -> str:
    """Return what stands where a memory stays as it is."""
    return dated(memories.get(survivor or ""))


def joined(lines: Iterable[str | Text]) -> Text:
    """Return lines as one text, with their marks."""
    from rich.text import Text

    return Text("\n").join(one if isinstance(one, Text) else Text(one) for one in lines)


def _marked(start: str, spans: Iterable[Span], style: str) -> Text:
    from rich.text import Text

    return Text.assemble(start, *((one.text, style if one.differs else "") for one in spans))
