"""What the screen says of one proposal: its sources, its draft, and its reasons, with marks.

Marks are underlined, bold and reversed letters: they show on a screen without colour, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from slowwave.cli.results.authors import author_of
from slowwave.cli.terminal.differences import Span, mark_differences
from slowwave.cli.terminal.output import clean, shortened
from slowwave.cli.terminal.wording import day_of
from slowwave.consolidation.facts.reading import Reading, read
from slowwave.consolidation.facts.values import KnownValues

if TYPE_CHECKING:
    from slowwave.consolidation.running.review_queue import WaitingProposal
    from slowwave.store.records import Memory

GOES, NEW, GUARDED, HEADING = "underline", "bold", "reverse", "bold"
LEGEND = Text.assemble(
    ("only in a source", GOES), "  ", ("only in the draft", NEW), "  ", ("value", GUARDED)
)
# Maximum characters of a text, and sources.
_MOST_SHOWN = 20_000
_MOST_SOURCES = 200
_GONE = "(no longer in the file)"


def sources_of(waiting: WaitingProposal) -> Text:
    """Return the sources one below the other, with what the draft lacks of them."""
    memories = _sources(waiting)
    marked, _ = mark_differences([_shown(memory) for memory in memories], _draft(waiting))
    parts = [
        _headed(_source_line(waiting, item), spans, GOES)
        for item, spans in zip(memories, marked, strict=True)
    ]
    missing = len(waiting.kept.proposal.sources) - len(waiting.memories)
    parts += [Text(_GONE)] * missing
    left = len(waiting.memories) - len(memories)
    parts += [Text(f"and {left:,} more: slowwave review show FILE {waiting.id[:8]}")] * (left > 0)
    return Text("\n\n").join(parts)


def draft_of(waiting: WaitingProposal) -> Text:
    """Return the proposed text with marks of what is new, its author, and its values."""
    proposal = waiting.kept.proposal
    memories = _sources(waiting)
    rest = [_shown(memory) for memory in memories if memory.id != proposal.survivor]
    days = [day_of(memory.observed_at) for memory in memories]
    draft = _draft(waiting)
    _, spans = mark_differences(rest, draft)
    heading = "stays unchanged" if proposal.keeps_text else "proposed text"
    lines = [_headed(heading, spans, NEW), Text(""), *_values(rest, days, draft)]
    if not proposal.keeps_text:
        worded = dict.fromkeys(author_of(claim) for claim in proposal.draft.claims)
        lines += [Text(clean(item)) for item in worded]
    return Text("\n").join(lines)


def reasons_of(waiting: WaitingProposal) -> Text:
    """Return why it was proposed, how alike its memories are, and why it waits."""
    proposal = waiting.kept.proposal
    lines = [Text.assemble(("Why  ", HEADING), clean(proposal.reason))]
    alike = f"minimum {proposal.min_similarity:.2f}, mean {proposal.mean_similarity:.2f}"
    lines.append(Text.assemble(("Similarity  ", HEADING), alike))
    if waiting.stale:
        lines.append(Text.assemble(("Stale  ", HEADING), clean(waiting.stale)))
    if waiting.decision.why:
        lines.append(Text.assemble(("Note  ", HEADING), clean(waiting.decision.why)))
    return Text("\n").join(lines)


def first_words(waiting: WaitingProposal, most: int) -> str:
    """Return the beginning of the proposed text for the list."""
    return shortened(_draft(waiting), most)


def haystack(waiting: WaitingProposal) -> str:
    """Return all that a search looks at, in lower case."""
    proposal = waiting.kept.proposal
    contents = [memory.content for memory in waiting.memories.values()]
    return "\n".join(
        (proposal.id, proposal.operation, proposal.reason, proposal.draft.text, *contents)
    ).lower()


def _sources(waiting: WaitingProposal) -> list[Memory]:
    known = sorted(waiting.memories.values(), key=lambda item: (item.observed_at, item.id))
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
    goes = "leaves" if memory.id in waiting.kept.proposal.leaving else "stays"
    day = day_of(memory.observed_at)
    known = (goes, day, memory.origin, memory.layer, f"trust {memory.trust:g}", memory.id[:8])
    status = () if memory.status == "active" else (memory.status,)
    return clean(" · ".join(filter(None, (*known, *status))))


def _headed(heading: str, spans: Sequence[Span], style: str) -> Text:
    """Return a line of what is known, and below it a text with its marks."""
    text = Text.assemble(*((span.text, style if span.differs else "") for span in spans))
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


# Characters; the rest of a longer text gets no marks.
_MOST_READ = 20_000


@dataclass(frozen=True)
class Compared:
    """The values in the sources and in the draft, as they are spelled there."""

    both: tuple[str, ...]
    only_sources: tuple[str, ...]
    only_draft: tuple[str, ...]


def find_guarded(text: str) -> list[tuple[int, int]]:
    """Return the spans of values and negations in a text, in its order."""
    reading = _read(text)
    words = {value.words for value in reading.values} | set(reading.negators)
    if not words:
        return []
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    any_word = "|".join(map(re.escape, longest_first))
    found = re.finditer(rf"(?<!\w)(?:{any_word})(?!\w)", text, re.IGNORECASE)
    return [item.span() for item in found]


def compare_values(sources: Sequence[str], days: Iterable[str], draft: str) -> Compared:
    """Return which values of the sources the draft has, which it lacks, and which are its own.

    days: on which the sources were observed; an update says since when it is so.
    """
    there, here = [_read(source) for source in sources], [_read(draft)]
    kept, lost = _found(there, here)
    return Compared(kept, lost, _found(here, [*there, *map(_read, days)])[1])


def _found(
    readings: Sequence[Reading], rest: Sequence[Reading]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the values and denials of texts that other texts have, and those that they lack."""
    known = KnownValues(value for reading in rest for value in reading.values)
    denials = {word.casefold() for reading in rest for word in reading.negators}
    stated = {value.words: known.has(value) for reading in readings for value in reading.values} | {
        word: word.casefold() in denials for reading in readings for word in reading.negators
    }
    had, lacked = ([word for word in stated if stated[word] is side] for side in (True, False))
    return tuple(had), tuple(lacked)


def _read(text: str) -> Reading:
    return read(text[:_MOST_READ])
