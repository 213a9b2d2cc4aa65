"""The days that stand in brackets in front of the sentences of a derived memory."""

from __future__ import annotations

import re

_DAY = r"\d{4}-\d{2}-\d{2}"
# In front of a sentence that speaks of "yesterday": the day on which it was said. In front of what
# changed: since when it is so or, where nobody says that, when it was noted; or from when until
# when it was.
DATE_MARK = re.compile(rf"\[(?:since |noted )?({_DAY})(?: until ({_DAY}))?\] ")
NEWEST_MARK = re.compile(rf"\[(?:since|noted) ({_DAY})\] ")


def current_part(text: str) -> str:
    """Return what a text that `compose_update` wrote says of today; all of any other text."""
    marked = NEWEST_MARK.match(text)
    if marked is None:
        return text
    ended = next((one for one in DATE_MARK.finditer(text) if one[2] is not None), None)
    return text[marked.end() : ended.start() if ended else None].strip()
