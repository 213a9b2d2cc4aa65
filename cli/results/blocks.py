"""A proposal for people: what it is about, what goes, what stays, and the result."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slowwave.cli.terminal.differences import Span, mark_differences
from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted

from .authors import Signed, author_of

if TYPE_CHECKING:
    from rich.text import Text

LEGEND = "Marks: - goes, * stays as it is, = is the result."
# On a terminal: words of what goes that do not stand then, and words that stand then alone.
_GOING, _NEW = "underline", "bold"
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
        if self.result is None:
            return
        yield _marked("  = ", result, _NEW) if result else clean(f"  = {self.result}")
        worded = Counter(author_of(one) for one in self.claims if one.written_by)
        for whose, count in worded.items():
            yield clean(f"    {counted(count, 'sentence', 'sentences')} {whose}")

    def _differences(self) -> tuple[list[list[Span]], list[Span]]:
        """Return what goes and the result, differences marked; nothing where no mark shows."""
        if self.result is None or not sys.stdout.isatty():
            return [], []
        going = [said.rpartition(_BEHIND_THE_DAY)[2] for goes, said in self.sources if goes]
        return mark_differences(going, clean(self.result))


def joined(lines: Iterable[str | Text]) -> Text:
    """Return lines as one text, with their marks."""
    from rich.text import Text

    return Text("\n").join(one if isinstance(one, Text) else Text(one) for one in lines)


def _marked(start: str, spans: Iterable[Span], style: str) -> Text:
    from rich.text import Text

    return Text.assemble(start, *((one.text, style if one.differs else "") for one in spans))
