"""Texts as readings, sources and drafts, for tests of judging and writing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from slowwave.consolidation.proposals import Draft, Source
from slowwave.store.records import Claim

# Every source lies in the same place: for tests in which vectors decide nothing.
_SOMEWHERE = np.array([1.0, 0.0], dtype=np.float32)


def sources(*texts: str) -> list[Source]:
    """Return texts as sources m1, m2 ..., said on the first, second ... of March 2026."""
    days = (datetime(2026, 3, 1, 9, tzinfo=UTC) + timedelta(days=n) for n in range(len(texts)))
    return [
        Source(f"m{number}", text, day.isoformat(), _SOMEWHERE)
        for number, (text, day) in enumerate(zip(texts, days, strict=True), start=1)
    ]


def draft(*claims: tuple[str, Sequence[int]]) -> Draft:
    """Return a draft of texts, each with the numbers of the sources that it cites."""
    return Draft(tuple(Claim(text, tuple(f"m{each}" for each in cited)) for text, cited in claims))
