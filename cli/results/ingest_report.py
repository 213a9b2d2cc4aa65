"""What an ingest did, for people and for programs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Set
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import clean, shortened
from slowwave.cli.terminal.wording import counted

if TYPE_CHECKING:
    from slowwave.consolidation.ingest.ingest_outcome import IngestOutcome, IngestResult
    from slowwave.consolidation.ingest.parts import Cut
    from slowwave.consolidation.writing.writer import Writer
    from slowwave.store.intake import KeptMessage

# So much of a text is shown on a line.
_MOST_SHOWN = 500
_MARKS = {"stored": "+", "told": "=", "raw": "?", "rejected": "!"}


def as_json(outcome: IngestOutcome, writer: Writer) -> dict[str, Any]:
    """Return an outcome as format 1."""
    usage = outcome.usage
    return {
        "run": outcome.run_id,
        "before": asdict(outcome.before),
        "after": asdict(outcome.after),
        "conversations": [_conversation(one) for one in outcome.cuts],
        "memories": [
            {
                "state": one.state,
                "content": one.content,
                "kind": one.kind,
                "importance": one.importance,
                "tags": list(one.tags),
                "expires_at": one.expires_at,
                "id": one.memory,
                "proposal": one.proposal,
                "corrects": list(one.corrects),
                "why": one.why,
                "conversation": one.conversation,
                "messages": list(map(message_as_json, one.messages)),
            }
            for one in outcome.remembered
        ],
        "unread": [
            {
                "conversation": one.part.conversation,
                "messages": [said.place for said in one.part.new],
                "state": one.state,
                "why": one.why,
                "estimated_tokens": one.tokens,
            }
            for one in outcome.unread
        ],
        "taken_up": outcome.taken_up,
        "waiting": outcome.waiting,
        "model": {
            "writer": writer.name,
            "name": writer.model,
            "calls": usage.calls,
            "cached": usage.cached,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cost_usd": usage.cost_usd,
        },
    }


def message_as_json(one: KeptMessage) -> dict[str, Any]:
    """Return a message behind a memory as format 1."""
    return {
        "conversation": one.conversation,
        "message": one.place,
        "role": one.role,
        "speaker": one.speaker,
        "said_at": one.said_at,
        "content": one.content,
        "quotes": list(one.quotes),
        "read_by": one.model,
    }


def message_as_text(one: KeptMessage) -> str:
    """Return a message behind a memory on a line: where it stands, and the words that count."""
    who = one.speaker or one.role
    when = f", {one.said_at[:10]}" if one.said_at else ""
    said = " [...] ".join(one.quotes) or one.content
    return f"{one.conversation}, message {one.place}, {who}{when}: {said}"


def reading_what_waits(file: Path, tenant: str) -> str:
    """Return the command by which a model reads what waits of a tenant."""
    named = "" if tenant == "default" else f" --tenant {shlex.quote(tenant)}"
    return f"slowwave ingest {shlex.quote(str(file))}{named} --model NAME"


def as_text(
    outcome: IngestOutcome, file: Path, tenant: str, dry_run: bool, writer: Writer
) -> list[str]:
    """Return an outcome for people, line by line."""
    lines: list[str] = []
    unread = {chain for one in outcome.unread for chain in one.part.chains}
    lines += [_said_of(one, unread) for one in outcome.cuts]
    if outcome.taken_up:
        lines.append(f"{counted(outcome.taken_up, 'part', 'parts')} that waited for a model read.")
    for one in outcome.remembered:
        lines += _memory(one)
    lines += _unread(outcome)
    lines.append(_summary(outcome, writer, dry_run))
    if outcome.waiting and not any(one.state == "failed" for one in outcome.unread):
        wait = counted(outcome.waiting, "part waits", "parts wait")
        lines.append(f"{wait} for a model: {reading_what_waits(file, tenant)}")
    if outcome.run_id is not None and any(one.state != "rejected" for one in outcome.remembered):
        lines.append(f"Take it back: slowwave undo {shlex.quote(str(file))} {outcome.run_id}")
    if dry_run:
        lines.append("Dry run: nothing was written.")
    return list(map(clean, lines))


def _conversation(one: Cut) -> dict[str, Any]:
    return {
        "name": one.conversation.name,
        "format": one.conversation.format,
        "session": one.conversation.session,
        "messages": len(one.conversation.messages),
        "known": one.known,
        "left_unread": one.left,
        "commanding": [said.place for said in one.commanding],
        "parts": len(one.parts),
    }


def _said_of(one: Cut, unread: Set[str]) -> str:
    conversation = one.conversation
    new = {chain for part in one.parts for chain in part.chains}
    said = [f"{len(new - unread)} read"]
    if new & unread:
        said.append(f"{len(new & unread)} not read yet")
    if one.known:
        said.append(f"{one.known} known")
    if one.left:
        said.append(f"{one.left} further back left unread (--whole reads them)")
    if one.commanding:
        places = ", ".join(str(message.place) for message in one.commanding)
        said.append(f"message {places} left out: it gives orders to its reader")
    count = counted(len(conversation.messages), "message", "messages")
    return f"{conversation.name} ({conversation.format}): {count}, {', '.join(said)}."


def _memory(one: IngestResult) -> Iterator[str]:
    named = f" {one.kind} {one.importance}" if one.kind else ""
    yield f"{_MARKS[one.state]}{named}: {shortened(one.content, _MOST_SHOWN)}"
    if one.corrects:
        yield f"    corrects {', '.join(one.corrects)}"
    if one.state in ("rejected", "raw"):
        yield f"    {'turned down' if one.state == 'rejected' else 'kept as it is'}: {one.why}"
    elif one.state == "told":
        yield f"    {one.why}; its importance is {one.importance}"
    for message in one.messages if one.state in ("stored", "told") else ():
        yield f"    {shortened(message_as_text(message), _MOST_SHOWN)}"


def _unread(outcome: IngestOutcome) -> Iterator[str]:
    for one in outcome.unread:
        places = f"{one.part.new[0].place} to {one.part.new[-1].place}"
        what = f"{one.part.conversation}, messages {places}"
        if one.state == "planned":
            yield f"? {what}: the model would be asked, some {one.tokens:,} tokens (--ask asks it)"
        else:
            yield f"? {what}: could not be read, and waits in the file: {one.why}"


def _summary(outcome: IngestOutcome, writer: Writer, dry_run: bool) -> str:
    if not (outcome.cuts or outcome.taken_up or outcome.unread or outcome.waiting):
        return "There is no conversation to read, and none waits for a model."
    counts = [
        f"{len(found)} {what}"
        for state, what in (
            ("stored", "would be stored" if dry_run else "stored"),
            ("told", "already known"),
            ("rejected", "turned down"),
            ("raw", "answers kept as they are"),
        )
        if (found := outcome.of(state)) or state == "stored"
    ]
    by = f"by {writer.model}" if writer.model else "by rules, without a model"
    calls = f", {counted(outcome.usage.calls, 'call', 'calls')}" if outcome.usage.calls else ""
    return f"{', '.join(counts)}; read {by}{calls}."
