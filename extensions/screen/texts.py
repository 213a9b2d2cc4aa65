"""The texts of a proposal on the screen: its sources, its draft and its reasons, with marks.

Marks are underlined, bold and reversed letters: they are visible on a screen without color.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from slowwave.cli.terminal.differences import Span, mark_differences
from slowwave.cli.terminal.output import clean, shortened, with_file
from slowwave.cli.terminal.wording import day_of
from slowwave.cli.views.proposal import view_pending
from slowwave.consolidation.facts.lookup import has_specifics
from slowwave.consolidation.facts.specifics import Specific, find_specifics

if TYPE_CHECKING:
    from slowwave.consolidation.running.review_queue import PendingProposal
    from slowwave.store.records import Memory

REMOVED, NEW, VALUE, HEADING = "underline", "bold", "reverse", "bold"
LEGEND = Text.assemble(
    ("only in a source", REMOVED), "  ", ("only in the draft", NEW), "  ", ("value", VALUE)
)
# How many characters of a text are shown and read for values, and how many sources are shown.
_MAX_TEXT = 20_000
_MAX_SOURCES = 200
_MISSING = "(no longer in the file)"
# Kinds of specifics that are not values.
_NAMES = ("name", "opening")


def sources_of(pending: PendingProposal) -> Text:
    """Return the sources, with marks for the words that the draft lacks."""
    memories = _sources(pending)
    marked, _ = mark_differences(list(map(_shown, memories)), _draft(pending))
    parts = [
        _headed(_source_line(pending, memory), spans, REMOVED)
        for memory, spans in zip(memories, marked, strict=True)
    ]
    parts += [Text(_MISSING)] * (len(pending.proposal.sources) - len(pending.memories))
    hidden = len(pending.memories) - len(memories)
    if hidden:
        parts.append(
            Text(with_file(f"and {hidden:,} more: slowwave review show FILE {pending.id[:8]}"))
        )
    return Text("\n\n").join(parts)


def draft_of(pending: PendingProposal) -> Text:
    """Return the draft, with marks for new words, its values and its authors."""
    view, proposal = view_pending(pending), pending.proposal
    memories, draft = _sources(pending), _draft(pending)
    sources = [_shown(memory) for memory in memories if memory.id != proposal.survivor]
    days = [day_of(memory.observed_at) for memory in memories]
    _, spans = mark_differences(sources, draft)
    heading = "unchanged" if proposal.keeps_text else "proposed text"
    lines = [_headed(heading, spans, NEW), Text(""), *_values(sources, days, draft)]
    lines += [Text(clean(author)) for author in view.authors]
    return Text("\n").join(lines)


def reasons_of(pending: PendingProposal) -> Text:
    """Return why it was proposed, how similar its memories are, and why it is pending."""
    proposal = pending.proposal
    similarity = f"minimum {proposal.min_similarity:.2f}, mean {proposal.mean_similarity:.2f}"
    reasons = {
        "Why": proposal.reason,
        "Similarity": similarity,
        "Stale": pending.stale,
        "Note": pending.decision.why,
    }
    return Text("\n").join(
        Text.assemble((f"{heading}  ", HEADING), clean(text))
        for heading, text in reasons.items()
        if text
    )


def first_words(pending: PendingProposal, limit: int) -> str:
    """Return the beginning of the draft, for a list."""
    return shortened(_draft(pending), limit)


def searchable_text(pending: PendingProposal) -> str:
    """Return all texts of a proposal that a search reads, in lower case."""
    proposal = pending.proposal
    texts = [memory.content for memory in pending.memories.values()]
    return "\n".join(
        (proposal.id, proposal.operation, proposal.reason, proposal.draft.text, *texts)
    ).lower()


def _sources(pending: PendingProposal) -> list[Memory]:
    by_time = sorted(pending.memories.values(), key=lambda memory: (memory.observed_at, memory.id))
    return by_time[:_MAX_SOURCES]


def _draft(pending: PendingProposal) -> str:
    return shortened(view_pending(pending).result or _MISSING, _MAX_TEXT)


def _shown(memory: Memory) -> str:
    return shortened(memory.content, _MAX_TEXT)


def _source_line(pending: PendingProposal, memory: Memory) -> str:
    role = "superseded" if memory.id in pending.proposal.leaving else "kept"
    status = "" if memory.status == "active" else memory.status
    day, trust = day_of(memory.observed_at), f"trust {memory.trust:g}"
    parts = (role, day, memory.origin, memory.layer, trust, memory.id[:8], status)
    return clean(" · ".join(filter(None, parts)))


def _headed(heading: str, spans: Sequence[Span], style: str) -> Text:
    """Return a heading, and below it a text with its marks."""
    text = Text.assemble(*((span.text, style if span.differs else "") for span in spans))
    for value in _values_in(text.plain):
        text.stylize(VALUE, value.start, value.end)
    return Text.assemble((heading, "dim"), "\n", text)


def _values(sources: Sequence[str], days: Sequence[str], draft: str) -> Iterator[Text]:
    """Yield the values of the sources that the draft keeps, those that it lacks, and its own.

    days: when the sources were observed; an update contains the day of its change.
    """
    read, noted = "\n".join(sources)[:_MAX_TEXT], "\n".join((*sources, *days))
    of_sources = [value.words for value in _values_in(read)]
    kept_values = [words for words in of_sources if has_specifics(draft, words)]
    lost_values = [words for words in of_sources if words not in kept_values]
    own_values = [
        value.words for value in _values_in(draft) if not has_specifics(noted, value.words)
    ]
    for heading, words in (
        ("Values kept  ", kept_values),
        ("Only in a source  ", lost_values),
        ("Only in the draft  ", own_values),
    ):
        if words:
            yield Text.assemble((heading, HEADING), clean(", ".join(dict.fromkeys(words))))


def _values_in(text: str) -> list[Specific]:
    """Return the numbers, identifiers, paths and URLs of a text."""
    return [value for value in find_specifics(text[:_MAX_TEXT]) if value.kind not in _NAMES]
