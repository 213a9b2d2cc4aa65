"""By class of a file of short pairs: how many that differ are called the same, and the reverse.

    python -m benchmarks.quality.adversarial FILE [--texts]

FILE holds a JSON object a line: two texts `a` and `b`, whether they say the `same`, and their
`class`. `--texts` shows each pair that is decided wrongly.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.json import decode
from rich.console import Console
from rich.table import Table

from slowwave.consolidation.comparison.coverage import covered

from .rates import rate_of, shown


class Pair(Struct, frozen=True):
    """Two texts, whether they say the same, and what makes them hard to tell."""

    a: str
    b: str
    same: bool
    kind: str = field(name="class")

    def is_called_same(self) -> bool:
        """Whether one of the two would go, since the other says all that it says."""
        return any(covered([(self.a, self.b), (self.b, self.a)]))


def main(arguments: Sequence[str]) -> int:
    """Print the table of a file."""
    files = [argument for argument in arguments if argument != "--texts"]
    if len(files) != 1:
        sys.stderr.write("usage: python -m benchmarks.quality.adversarial FILE [--texts]\n")
        return 2
    pairs = [decode(line, type=Pair) for line in Path(files[0]).read_text("utf-8").splitlines()]
    console = Console()
    called = [pair.is_called_same() for pair in pairs]
    console.print(_table(pairs, called))
    if "--texts" in arguments:
        for item, same in zip(pairs, called, strict=True):
            if same is not item.same:
                console.print(f"{item.kind}: {item.a!r} | {item.b!r}", markup=False, soft_wrap=True)
    return 0


def _table(pairs: Sequence[Pair], called: Sequence[bool]) -> Table:
    found = list(zip(pairs, called, strict=True))
    table = Table("class", "differ", "called the same", "same", "found")
    for kind in sorted({pair.kind for pair in pairs}):
        sides = (
            [said for item, said in found if item.kind == kind and item.same is same]
            for same in (False, True)
        )
        table.add_row(kind, *(str(count) if count else "" for side in sides for count in _of(side)))
    differ, same = ([said for item, said in found if item.same is side] for side in (False, True))
    table.add_section()
    table.add_row(
        "all", str(len(differ)), shown(rate_of(differ)), str(len(same)), shown(rate_of(same))
    )
    return table


def _of(called: Sequence[bool]) -> tuple[int, int]:
    return len(called), sum(called)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
