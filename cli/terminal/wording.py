"""Numbers, days and texts for a line on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from slowwave.store.records import UNDATED

from .output import clean, shortened

# How many of a kind a report shows people; --json has all of them.
MAX_LISTED = 10
# Enough characters of a text to recognize a memory.
_MAX_CHARACTERS = 200
_MAX_NAMED = 5


def counted(count: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun. plural: by default, with an s."""
    return f"{count:,} {singular if count == 1 else plural or f'{singular}s'}"


def parts_queued(count: int) -> str:
    """Return how many conversation parts are queued."""
    return counted(count, "conversation part is queued", "conversation parts are queued")


def named(names: Sequence[str]) -> str:
    """Return the first of some names on one line, and whether there are others."""
    ending = " and others" if len(names) > _MAX_NAMED else ""
    return clean(", ".join(names[:_MAX_NAMED]) + ending)


def unlisted(count: int) -> list[str]:
    """Return a line that counts what exceeds `MAX_LISTED`; nothing if everything is shown."""
    return [f"  ... {count - MAX_LISTED:,} more with --json"] if count > MAX_LISTED else []


def day_of(observed_at: str) -> str:
    """Return the day of a time; nothing if the time is unknown."""
    return "" if observed_at == UNDATED else clean(observed_at[:10])


def time_of(observed_at: str) -> str | None:
    """Return a time as JSON has it; None if the time is unknown."""
    return None if observed_at == UNDATED else observed_at


def shortened_for_stdout(text: str, limit: int = _MAX_CHARACTERS) -> str:
    """Return a text on one line: on a terminal its beginning, in a pipe or a file all of it."""
    return shortened(text, limit) if sys.stdout.isatty() else clean(text)
