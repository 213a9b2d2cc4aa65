"""An ingest and the messages behind a memory, in JSON and text."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Set
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import clean, shortened, with_file
from slowwave.cli.terminal.wording import counted
from slowwave.store.intake import INGESTED, KeptMessage

from .run import number_in, recorded

if TYPE_CHECKING:
    from slowwave.consolidation.ingest.ingest_outcome import IngestOutcome, IngestResult
    from slowwave.consolidation.ingest.parts import Cut
    from slowwave.consolidation.writing.writer import Writer
    from slowwave.store.ledger import Run

# How many characters of a text are shown on a line.
_MAX_TEXT = 500
# What became of texts: the mark of each state, and how it is worded.
STATES = {
    "stored": ("+", "stored"),
    "told": ("=", "already known"),
    "rejected": ("!", "rejected"),
    "raw": ("?", "answers kept unchanged"),
}


def as_json(outcome: IngestOutcome, writer: Writer) -> dict[str, Any]:
    """Return an outcome as format 1."""
    return {
        "run": outcome.run_id,
        "before": asdict(outcome.before),
        "after": asdict(outcome.after),
        "conversations": list(map(conversation_as_json, outcome.cuts)),
        "memories": list(map(_memory_as_json, outcome.remembered)),
        "unread": [
            {
                "conversation": unread.part.conversation,
                "messages": [message.place for message in unread.part.new],
                "state": unread.state,
                "why": unread.why,
                "estimated_tokens": unread.tokens,
            }
            for unread in outcome.unread
        ],
        "reasons": outcome.reasons,
        "seconds": round(outcome.seconds, 3),
        "taken_up": outcome.taken_up,
        "waiting": outcome.queued,
        "model": {"writer": writer.name, "name": writer.model, **asdict(outcome.usage)},
    }


def conversation_as_json(cut: Cut) -> dict[str, Any]:
    """Return a conversation, and how much of it is read, as format 1."""
    return {
        "name": cut.conversation.name,
        "format": cut.conversation.format,
        "session": cut.conversation.session,
        "messages": len(cut.conversation.messages),
        "known": cut.known_count,
        "left_unread": cut.unread_count,
        "commanding": [message.place for message in cut.commanding],
        "masked": [{"message": place, "kinds": list(kinds)} for place, kinds in cut.masked.items()],
        "parts": len(cut.parts),
    }


def _memory_as_json(result: IngestResult) -> dict[str, Any]:
    return {
        "state": result.state,
        "content": result.content,
        "kind": result.kind,
        "importance": result.importance,
        "tags": list(result.tags),
        "expires_at": result.expires_at,
        "id": result.memory,
        "proposal": result.proposal,
        "corrects": list(result.corrects),
        "why": result.why,
        "conversation": result.conversation,
        "messages": list(map(message_as_json, result.messages)),
    }


def message_as_json(message: KeptMessage) -> dict[str, Any]:
    """Return a message behind a memory as format 1."""
    return {
        "conversation": message.conversation,
        "message": message.place,
        "role": message.role,
        "speaker": message.speaker,
        "said_at": message.said_at,
        "content": message.content,
        "quotes": list(message.quotes),
        "read_by": message.model,
    }


def message_as_text(message: KeptMessage) -> str:
    """Return where a message behind a memory is, and the words that count."""
    speaker = message.speaker or message.role
    when = f", {message.said_at[:10]}" if message.said_at else ""
    words = " [...] ".join(message.quotes) or message.content
    return f"{message.conversation}, message {message.place}, {speaker}{when}: {words}"


@dataclass(frozen=True)
class IngestTotals:
    """What the ingests of a file did in all, except those that were undone."""

    runs: int
    # The number of texts by state.
    texts: dict[str, int]
    seconds: float

    @classmethod
    def of(cls, runs: Iterable[Run]) -> IngestTotals:
        """Add up runs; those of other commands do not count."""
        ingests = [run for run in runs if INGESTED in run.options and run.outcome != "undone"]
        states = [recorded(run, "states") for run in ingests]
        texts = {state: int(sum(number_in(part, state) for part in states)) for state in STATES}
        seconds = sum(number_in(run.report or {}, "seconds") for run in ingests)
        return cls(len(ingests), texts, float(seconds))

    @property
    def duplicate_share(self) -> float:
        """The share of texts that a memory said already, from 0 to 1."""
        duplicates = self.texts["told"]
        return duplicates / ((duplicates + self.texts["stored"]) or 1)

    def as_json(self) -> dict[str, Any]:
        """Return the totals as format 1."""
        rounded = {"seconds": round(self.seconds, 3), "duplicate_share": self.duplicate_share}
        return asdict(self) | rounded

    def as_text(self) -> str:
        """Return the totals in a sentence."""
        texts = (f"{self.texts[state]:,} {words}" for state, (_, words) in STATES.items())
        return (
            f"{counted(self.runs, 'run')} of conversations in {self.seconds:,.0f} s: "
            f"{', '.join(texts)}; {self.duplicate_share:.0%} duplicates."
        )


def as_text(outcome: IngestOutcome, tenant: str, dry_run: bool, writer: Writer) -> list[str]:
    """Return an outcome for people, line by line."""
    unread = {chain for result in outcome.unread for chain in result.part.chains}
    lines = [_conversation(cut, unread) for cut in outcome.cuts]
    if outcome.taken_up:
        lines.append(f"Read {counted(outcome.taken_up, 'queued part')}.")
    for result in outcome.remembered:
        lines += _memory(result)
    lines += _unread(outcome, writer)
    if not (outcome.cuts or outcome.taken_up or outcome.unread or outcome.queued):
        lines.append("There is no conversation to read, and none is queued for a model.")
    elif writer.model is not None:
        lines.append(_summary(outcome, writer, dry_run))
    if outcome.queued and not any(result.state == "failed" for result in outcome.unread):
        queued = counted(outcome.queued, "part is queued", "parts are queued")
        option = "" if tenant == "default" else f" --tenant {shlex.quote(tenant)}"
        lines.append(
            with_file(
                f"{queued} for a model: slowwave ingest FILE{option} --model NAME, or let an agent "
                "answer: slowwave questions FILE"
            )
        )
    has_changes = any(result.state != "rejected" for result in outcome.remembered)
    has_changes |= any(part.state == "queued" for part in outcome.unread)
    if outcome.run_id is not None and has_changes:
        lines.append(with_file(f"Undo it with: slowwave undo FILE {outcome.run_id}"))
    if dry_run:
        lines.append("Dry run: nothing was written.")
    return list(map(clean, lines))


def _conversation(cut: Cut, unread: Set[str]) -> str:
    conversation = cut.conversation
    new_chains = {chain for part in cut.parts for chain in part.chains}
    parts = [f"{len(new_chains - unread)} read"]
    if new_chains & unread:
        parts.append(f"{len(new_chains & unread)} not read yet")
    if cut.known_count:
        parts.append(f"{cut.known_count} known")
    if cut.unread_count:
        parts.append(f"{cut.unread_count} earlier not read (--whole reads them)")
    count = counted(len(conversation.messages), "message")
    sentences = [f"{conversation.name} ({conversation.format}): {count}, {', '.join(parts)}."]
    if cut.commanding:
        places = ", ".join(str(message.place) for message in cut.commanding)
        sentences.append(f"Skipped, with instructions to the reader: message {places}.")
    if cut.masked:
        masked = (f"{', '.join(kinds)} in message {place}" for place, kinds in cut.masked.items())
        sentences.append(f"Masked: {'; '.join(masked)}.")
    return " ".join(sentences)


def _memory(result: IngestResult) -> Iterator[str]:
    kind = f" {result.kind} {result.importance}:" if result.kind else ""
    yield f"{STATES[result.state][0]}{kind} {shortened(result.content, _MAX_TEXT)}"
    if result.corrects:
        yield f"    corrects {', '.join(result.corrects)}"
    if result.state in ("rejected", "raw"):
        verdict = "rejected" if result.state == "rejected" else "kept unchanged"
        yield f"    {verdict}: {result.why}"
        return
    if result.state != "stored":
        yield f"    {result.why}; its importance is {result.importance}"
    for message in result.messages:
        yield f"    {shortened(message_as_text(message), _MAX_TEXT)}"


def _unread(outcome: IngestOutcome, writer: Writer) -> Iterator[str]:
    planned = "the model would be asked, about {:,} tokens (--ask asks it)"
    if writer.model is None:
        planned = "would be queued for a model, about {:,} tokens"
    for unread in outcome.unread:
        places = f"{unread.part.new[0].place} to {unread.part.new[-1].place}"
        messages = f"{unread.part.conversation}, messages {places}"
        if unread.state == "planned":
            yield f"? {messages}: {planned.format(unread.tokens)}"
        elif unread.state != "queued":
            yield f"? {messages}: could not be read, so it is queued: {unread.why}"


def _summary(outcome: IngestOutcome, writer: Writer, dry_run: bool) -> str:
    would_be = "would be " if dry_run else ""
    counts = [
        f"{len(results)} {would_be if state == 'stored' else ''}{what}"
        for state, (_, what) in STATES.items()
        if (results := outcome.of(state)) or state == "stored"
    ]
    usage = outcome.usage
    calls = f", {counted(usage.calls, 'call')}" if usage.calls else ""
    if usage.cached:
        calls += f", {counted(usage.cached, 'answer')} from the cache"
    reader = f"; read by {writer.model}{calls}" if usage.calls or usage.cached else ""
    return f"{', '.join(counts)}{reader}."
