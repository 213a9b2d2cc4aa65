"""What the screen says of one proposal: its sources, its draft, and its reasons, with marks.

Marks are underlined, bold and reversed letters: they show on a screen without colour, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from slowwave.cli.terminal.differences import Span, mark_differences
from slowwave.cli.terminal.output import clean, shortened
from slowwave.cli.terminal.wording import day_of
from slowwave.cli.views.memory import author_of

from .values import compare_values, find_guarded

if TYPE_CHECKING:
    from slowwave.consolidation.running.review_queue import WaitingProposal
    from slowwave.store.records import Memory

GOES, NEW, GUARDED, HEADING = "underline", "bold", "reverse", "bold"
LEGEND = Text.assemble(
    ("only a source says it", GOES), "  ", ("only the draft says it", NEW), "  ", ("value", GUARDED)
)
# So much of a text is shown, and so many sources.
_MOST_SHOWN = 20_000
_MOST_SOURCES = 200
_GONE = "(no longer in the file)"


def sources_of(waiting: WaitingProposal) -> Text:
    """Return the sources one below the other, with what the draft lacks of them."""
    memories = _sources(waiting)
    marked, _ = mark_differences([_shown(one) for one in memories], _draft(waiting))
    parts = [
        _headed(_source_line(waiting, one), spans, GOES)
        for one, spans in zip(memories, marked, strict=True)
    ]
    missing = len(waiting.kept.proposal.sources) - len(waiting.memories)
    parts += [Text(_GONE)] * missing
    left = len(waiting.memories) - len(memories)
    parts += [Text(f"and {left:,} more: slowwave review show FILE {waiting.id[:8]}")] * (left > 0)
    return Text("\n\n").join(parts)


def draft_of(waiting: WaitingProposal) -> Text:
    """Return what would stand, with what is new in it, who worded it, and the values."""
    proposal = waiting.kept.proposal
    memories = _sources(waiting)
    others = [_shown(one) for one in memories if one.id != proposal.survivor]
    days = [day_of(one.observed_at) for one in memories]
    draft = _draft(waiting)
    _, spans = mark_differences(others, draft)
    heading = "stays as it is" if proposal.keeps_text else "would stand"
    lines = [_headed(heading, spans, NEW), Text(""), *_values(others, days, draft)]
    if not proposal.keeps_text:
        worded = dict.fromkeys(author_of(one) for one in proposal.draft.claims)
        lines += [Text(clean(one)) for one in worded]
    return Text("\n").join(lines)


def reasons_of(waiting: WaitingProposal) -> Text:
    """Return why it was proposed, how alike its memories are, and why it waits."""
    proposal = waiting.kept.proposal
    lines = [Text.assemble(("Why  ", HEADING), clean(proposal.reason))]
    alike = f"{proposal.min_similarity:.2f} at the least, {proposal.mean_similarity:.2f} on average"
    lines.append(Text.assemble(("Similarity  ", HEADING), alike))
    if waiting.stale:
        lines.append(Text.assemble(("Stale  ", HEADING), clean(waiting.stale)))
    if waiting.decision.why:
        lines.append(Text.assemble(("Note  ", HEADING), clean(waiting.decision.why)))
    return Text("\n").join(lines)


def first_words(waiting: WaitingProposal, most: int) -> str:
    """Return what a list says of a proposal: the beginning of what would stand."""
    return shortened(_draft(waiting), most)


def haystack(waiting: WaitingProposal) -> str:
    """Return all that a search looks at, in lower case."""
    proposal = waiting.kept.proposal
    said = [one.content for one in waiting.memories.values()]
    return "\n".join(
        (proposal.id, proposal.operation, proposal.reason, proposal.draft.text, *said)
    ).lower()


def _sources(waiting: WaitingProposal) -> list[Memory]:
    known = sorted(waiting.memories.values(), key=lambda one: (one.observed_at, one.id))
    return known[:_MOST_SOURCES]


def _draft(waiting: WaitingProposal) -> str:
    proposal = waiting.kept.proposal
    survivor = waiting.memories.get(proposal.survivor or "")
    if proposal.keeps_text:
        return _shown(survivor) if survivor else _GONE
    return shortened(proposal.draft.text, _MOST_SHOWN)


def _shown(memory: Memory) -> str:
    return shortened(memory.content, _MOST_SHOWN)


def _source_line(waiting: WaitingProposal, memory: Memory) -> str:
    goes = "goes" if memory.id in waiting.kept.proposal.leaving else "stays"
    day = day_of(memory.observed_at)
    known = (goes, day, memory.origin, memory.layer, f"trust {memory.trust:g}", memory.id[:8])
    status = () if memory.status == "active" else (memory.status,)
    return clean(" · ".join(filter(None, (*known, *status))))


def _headed(heading: str, spans: Sequence[Span], style: str) -> Text:
    """Return a line of what is known, and below it a text with its marks."""
    text = Text.assemble(*((one.text, style if one.differs else "") for one in spans))
    for start, end in find_guarded(text.plain):
        text.stylize(GUARDED, start, end)
    return Text.assemble((heading, "dim"), "\n", text)


def _values(sources: Sequence[str], days: Sequence[str], draft: str) -> Iterator[Text]:
    found = compare_values(sources, days, draft)
    for heading, words in (
        ("Values kept  ", found.both),
        ("Only in a source  ", found.only_sources),
        ("Only in the draft  ", found.only_draft),
    ):
        if words:
            yield Text.assemble((heading, HEADING), clean(", ".join(words)))
