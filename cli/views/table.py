"""A table for a terminal, so narrow that it fits 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from slowwave.cli.terminal.output import clean

if TYPE_CHECKING:
    from rich.table import Table


def table_of(
    titles: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = (), wrap: int = 0
) -> Table:
    """Return rows under titles.

    numbers: titles of columns of numbers, which follow the rest. wrap: the first column that may be
    wrapped.
    """
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for place, title in enumerate(titles):
        table.add_column(title, no_wrap=place < wrap)
    for title in numbers:
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(*map(clean, row))
    return table
