"""What a model was, or would be, asked, and which memories it is not shown, in JSON and text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import clean, with_file
from slowwave.cli.terminal.wording import MAX_LISTED, counted, day_of, parts_queued, unlisted

from .ingest import STATES
from .memory import dated, ids_in, read_views

if TYPE_CHECKING:
    from slowwave.consolidation.proposals import AskedWindow, Dense, Result
    from slowwave.consolidation.running.outcome import Outcome, QueuedPartsResult
    from slowwave.store.intake import Backlog


def question_as_json(asked: AskedWindow) -> dict[str, Any]:
    """Return a question and its state."""
    window = asked.window
    return {
        "id": window.id,
        "tenant": window.tenant,
        "memories": window.memories,
        "estimated_tokens": window.tokens,
        "state": asked.state,
        "why": asked.why,
        "turned_down": asked.turned_down,
    }


def questions_as_text(asked: Sequence[AskedWindow], results: Sequence[Result]) -> list[str]:
    """Return what a model was, or would be, asked, what it left unchanged, and what failed.

    results: of the run. A memory in none of the model's valid proposals was left as it is.
    """
    if not asked:
        return []
    from slowwave.consolidation.planning.estimates import FOLLOW_UPS

    is_planned = all(question.state == "planned" for question in asked)
    shown = [question for question in asked if is_planned or question.state == "applied"]
    count = sum(len(question.window.memories) for question in shown)
    memories, questions = counted(count, "memory", "memories"), counted(len(shown), "question")
    if is_planned:
        tokens = sum(question.window.tokens for question in asked)
        return [
            f"Left to the model: {memories} in {questions}, about "
            f"{tokens:,} tokens; with checking and repairs up to {round(FOLLOW_UPS * tokens):,}."
        ]
    discarded = ("rejected", "stale", "failed", "skipped")
    merged_ids = ids_in(
        result.proposal.sources
        for result in results
        if result.proposal.by_model and result.state not in discarded
    )
    unchanged = sum(
        memory not in merged_ids for question in shown for memory in question.window.memories
    )
    ending = f", and left {unchanged:,} of them unchanged" if unchanged else ""
    lines = [f"The model was shown {memories} in {questions}{ending}."] if shown else []
    unanswered = Counter(question.why for question in asked if question.state != "applied")
    for why, count in unanswered.most_common():
        lines.append(f"  ! {counted(count, 'question')}: {why}")
    turned_down = Counter(why for question in asked for why in question.turned_down)
    for why, count in turned_down.most_common(MAX_LISTED):
        lines.append(f"  ! {counted(count, 'group')} rejected: {why}")
    return ["\n".join(map(clean, [*lines, *unlisted(len(turned_down))]))]


def routes_as_json(outcome: Outcome, path: Path) -> list[dict[str, Any]]:
    """Return whether each dense memory, and each that a model is shown, stays verbatim, and why."""
    from slowwave.consolidation.reports.key_facts import anchors_of, key_facts
    from slowwave.consolidation.text.density import density_of

    dense = outcome.plan.dense
    tenants_by_id = {
        id_: asked.window.tenant for asked in outcome.asked for id_ in asked.window.memories
    }
    memories = read_views(path, [*(memory.memory for memory in dense), *tenants_by_id])
    texts = {memory.id: memory.content for memory in memories.values()}
    routes = []
    for memory in dense:
        text = texts.get(memory.memory, "")
        routes.append(
            _route("extractive", memory.memory, memory.tenant, memory.score, memory.why)
            | {"key_facts": key_facts(text), "anchors": anchors_of(text)}
        )
    for memory_id, tenant in tenants_by_id.items():
        if memory_id in texts:
            density = density_of(texts[memory_id])
            routes.append(_route("model", memory_id, tenant, density.score, density.why))
    return routes


def _route(route: str, memory: str, tenant: str, score: float, why: str) -> dict[str, Any]:
    return {"memory": memory, "tenant": tenant, "way": route, "density": score, "why": why}


def dense_as_text(dense: Sequence[Dense], path: Path) -> list[str]:
    """Return which memories stay verbatim, and why; nothing if there are none."""
    if not dense:
        return []
    count = counted(len(dense), "memory", "memories")
    lines = [
        f"Kept verbatim: {count} of code, data or identifiers. These are never sent to a "
        "model, and merged only with identical texts."
    ]
    memories = read_views(path, (memory.memory for memory in dense[:MAX_LISTED]))
    for memory in dense[:MAX_LISTED]:
        lines.append(f"  {dated(memories.get(memory.memory))} ({clean(memory.memory)})")
        lines.append(f"    {memory.why}")
    return ["\n".join([*lines, *unlisted(len(dense))])]


def queued_parts_as_json(parts: QueuedPartsResult) -> dict[str, Any]:
    """Return what became of conversation parts that were queued for a model, as format 1."""
    broken_off = parts.broken_off
    return {
        "waiting": parts.waiting,
        "waiting_since": parts.backlog.since,
        "tries": parts.backlog.tries,
        "runs": list(parts.runs),
        "read": parts.read,
        "unread": parts.unread,
        "memories": {state: parts.states.get(state, 0) for state in STATES},
        "why": parts.why if broken_off is None else broken_off.message,
        "model": asdict(parts.usage),
    }


def queued_parts_as_text(parts: QueuedPartsResult) -> list[str]:
    """Return the same as a paragraph; nothing if nothing is queued and nothing was read."""
    if parts.runs:
        return ["\n".join(map(clean, _read_parts(parts)))]
    if not parts.waiting:
        return []
    when = backlog_age(parts.backlog)
    next_step = "a real run" if parts.would_be_read else "a run with --model"
    return [f"{parts_queued(parts.waiting)} for a model, {when}: {next_step} reads them first."]


def backlog_age(backlog: Backlog) -> str:
    """Return since when something is queued, and how often a model was asked about it."""
    tries = ""
    if backlog.tries:
        up_to = "up to " if backlog.parts > 1 else ""
        tries = f", after {up_to}{counted(backlog.tries, 'try', 'tries')}"
    return f"since {day_of(backlog.since or '')}{tries}"


def _read_parts(parts: QueuedPartsResult) -> Iterator[str]:
    states = [
        f"{parts.states[state]} {wording}"
        for state, (_, wording) in STATES.items()
        if parts.states.get(state)
    ]
    calls = f" ({counted(parts.usage.calls, 'call')})" if parts.usage.calls else ""
    outcome = f": {', '.join(states) or 'nothing to remember'}" if parts.read else ""
    count_read = counted(parts.read, "conversation part was", "conversation parts were")
    yield f"{count_read} read{calls}{outcome}."
    if parts.unread:
        count = counted(parts.unread, "conversation part is", "conversation parts are")
        yield f"  ! {count} still queued, {backlog_age(parts.backlog)}: {parts.why}"
        yield with_file(
            "  Let another model read them: slowwave maintain FILE --model NAME. Or undo the run "
            "that queued them: slowwave log FILE"
        )
    for run in parts.runs if parts.read else ():
        yield with_file(f"Undo it with: slowwave undo FILE {run}")
