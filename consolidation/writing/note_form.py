"""Check the form of a text that is written from notes in Markdown.

Headings, links and fenced code are copied, never written: a text has those of its notes, and has
all links and fenced code of the notes that it replaces, unless it omits them on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from slowwave.consolidation.proposals import Proposal, Source

_PART = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[^\n]*\n.*?^(?P=fence)[ \t]*$"
    r"|(?P<link>\[\[[^\]\n]+\]\]|\[[^\]\n]*\]\([^)\s]+\))"
    r"|^(?P<heading>#{1,6}[ \t]+\S[^\n]*)$",
    re.MULTILINE | re.DOTALL,
)


def find_form_faults(proposal: Proposal, sources: Sequence[Source]) -> Iterator[str]:
    """Yield the faults of a draft's form, as sentences; none without a note among its sources."""
    notes = [source for source in sources if source.is_note]
    if not notes:
        return
    text = proposal.draft.text
    written = dict(_parts(text))
    for part, kind in written.items():
        if not any(part in _plain(source.text) for source in sources):
            yield f'"{part}" ({kind}) is in none of the cited memories'
    omitted = _plain(" ".join(left_out.words for left_out in proposal.left_out))
    for note in notes:
        for part, kind in _parts(note.text):
            is_kept = part in written or kind == "heading" or part in omitted
            if note.id in proposal.leaving and not is_kept:
                yield f'the text lacks "{part}" ({kind}) of a memory that it replaces'


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield the links, headings and fenced blocks of a text, each with its kind."""
    for found in _PART.finditer(text):
        # The last group that took part; within a fence that is its mark.
        yield _plain(found[0]).lstrip("# "), found.lastgroup or ""


def _plain(text: str) -> str:
    return " ".join(text.split())
