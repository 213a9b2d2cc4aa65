"""How many of the short pairs that look alike are taken for duplicates, by class.

    python -m benchmarks.quality.adversarial FILE [--texts]

FILE holds one JSON object per line: texts `a` and `b`, whether they state the `same`, and their
`class`. `--texts` prints each pair that is judged wrongly.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.json import decode
from rich.console import Console
from rich.table import Table
from scipy.stats import binomtest

from slowwave.consolidation.comparison.coverage import covered


class Pair(Struct, frozen=True):
    """Two texts, whether they state the same, and what makes that hard to decide."""

    a: str
    b: str
    same: bool
    kind: str = field(name="class")

    def is_judged_same(self) -> bool:
        """Whether either text would be removed because the other one covers it."""
        return any(covered([(self.a, self.b), (self.b, self.a)]))


def main(arguments: Sequence[str]) -> int:
    """Judge the pairs of a file, and print a table."""
    files = [argument for argument in arguments if argument != "--texts"]
    if len(files) != 1:
        sys.stderr.write("usage: python -m benchmarks.quality.adversarial FILE [--texts]\n")
        return 2
    pairs = [decode(line, type=Pair) for line in Path(files[0]).read_text("utf-8").splitlines()]
    console = Console()
    judged = [pair.is_judged_same() for pair in pairs]
    console.print(_table(pairs, judged))
    if "--texts" in arguments:
        for pair, same in zip(pairs, judged, strict=True):
            if same is not pair.same:
                console.print(f"{pair.kind}: {pair.a!r} | {pair.b!r}", markup=False, soft_wrap=True)
    return 0


def _table(pairs: Sequence[Pair], judged: Sequence[bool]) -> Table:
    table = Table("class", "different", "judged the same", "same", "judged the same")
    verdicts: dict[tuple[str, bool], list[bool]] = defaultdict(list)
    for pair, verdict in zip(pairs, judged, strict=True):
        verdicts[pair.kind, pair.same].append(verdict)
        verdicts["all", pair.same].append(verdict)
    for kind in sorted({pair.kind for pair in pairs}):
        sides = [verdicts[kind, same] for same in (False, True)]
        table.add_row(kind, *(str(n or "") for side in sides for n in (len(side), sum(side))))
    table.add_section()
    different, same = (verdicts["all", same] for same in (False, True))
    table.add_row("all", str(len(different)), _rate(different), str(len(same)), _rate(same))
    return table


def _rate(verdicts: Sequence[bool]) -> str:
    """Return the share that is true, with its 95% Wilson interval."""
    if not verdicts:
        return "-"
    hits = sum(verdicts)
    interval = binomtest(hits, len(verdicts)).proportion_ci(method="wilson")
    return f"{hits / len(verdicts):.1%} [{interval.low:.1%}, {interval.high:.1%}]"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
