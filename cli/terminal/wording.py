"""Numbers, days and texts as they stand in a line on the terminal."""

from __future__ import annotations

import sys

from slowwave.store.records import UNDATED

from .output import clean, shortened

# So many characters of a text are enough to know which memory it is.
MOST_SAID = 200


def counted(count: int, one: str, more: str) -> str:
    """Return a number with its noun."""
    return f"{count:,} {one if count == 1 else more}"


def day_of(observed_at: str) -> str:
    """Return the day of a time; nothing where nobody says when it was."""
    return "" if observed_at == UNDATED else clean(observed_at[:10])


def shortened_for_stdout(text: str, most: int = MOST_SAID) -> str:
    """Return a text on one line: on a terminal the beginning, in a pipe or a file all of it."""
    return shortened(text, most) if sys.stdout.isatty() else clean(text)
