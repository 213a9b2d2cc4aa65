"""The days that stand in front of claims, and claims that turn false without one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from slowwave.consolidation.proposals import Claim, Source
from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.dates import DATE_MARK
from slowwave.consolidation.text.reading import read

_NOW = re.compile(r"\b(?:for )?(?:now|currently)\b", re.IGNORECASE)
_THIS_YEAR = re.compile(r"\bthis year\b", re.IGNORECASE)


def find_misdated(claim: Claim, cited: Sequence[Source]) -> Iterator[str]:
    """Find days that no source gives, and what needs a day in front and has none."""
    marks = list(DATE_MARK.finditer(claim.text))
    said = {source.observed_at[:10] for source in cited}
    relative = {source.observed_at[:10] for source in cited if _is_relative(source.text)}
    known = relative if _is_relative(claim.text) and relative else said
    stated = _days(mark for source in cited for mark in DATE_MARK.finditer(source.text))
    for mark in marks:
        # Since when something is so, or until when it was, is when it was first said.
        spanning = mark[2] is not None or mark[0].startswith(("[since", "[noted"))
        for day in sorted(_days([mark]) - stated - (said if spanning else known)):
            yield f"invents the date {day}"
    if not marks and _is_dated_by_day(claim.text, cited):
        # Where nobody knows when it was said, there is no day to ask for.
        days = " or ".join(f"[{day}]" for day in sorted(known | stated) if day)
        if days:
            yield f"speaks of a day without {days} in front: {claim.text}"


def _is_relative(text: str) -> bool:
    """Whether a text speaks of a day by when it was said: "yesterday's run", "on Monday"."""
    reading = read(text)
    weekday = any(value.kind == "weekday" for value in reading.values)
    return weekday or reading.deictic or not reading.words.isdisjoint(lexicon.DEICTIC)


def _is_dated_by_day(text: str, cited: Sequence[Source]) -> bool:
    """Whether a text turns false without the day on which it was said.

    "This year" does not where all was said in one year: the memory's own day tells which. "For
    now" says no more than that it is so.
    """
    if len({source.observed_at[:4] for source in cited}) == 1:
        text = _THIS_YEAR.sub("", text)
    return read(_NOW.sub("", text)).deictic


def _days(marks: Iterable[re.Match[str]]) -> set[str]:
    return {day for mark in marks for day in mark.groups() if day is not None}
