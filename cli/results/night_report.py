"""A plan or an outcome, as format 1 for programs and as a report for people."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted, shortened_for_stdout
from slowwave.store.records import MAX_CHARACTERS

from .ageing import after_the_night, aged_as_json, before_the_night
from .blocks import LEGEND, ProposalBlock, joined, proposal_block, worth_as_text
from .left_as_it_is import (
    MOST_SHOWN,
    conflicts_as_json,
    conflicts_as_text,
    refused_as_text,
    undecided_as_json,
    undecided_as_text,
)
from .memory_texts import MemoryTexts, ShownMemory, memories_of
from .purge_report import leaving_as_text, purged_as_json, purged_as_text, staying_as_text
from .questions_report import question_as_json, questions_as_text
from .routes import dense_as_text
from .taken_up import waiting_parts_as_json, waiting_parts_as_text
from .waiting import earlier_as_text, set_aside_as_text

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from slowwave.consolidation.proposals import Plan, Result, Suspicion, TooLong
    from slowwave.consolidation.running.outcome import Outcome
    from slowwave.consolidation.writing.writer import Writer
    from slowwave.store.memories import Counts
    from slowwave.store.places import Budget

_MOST_SUSPICIOUS = 5
# So many characters of what such a memory says are shown on a terminal.
_MOST_SAID = 100


def as_json(outcome: Outcome, file: str, dry_run: bool, writer: Writer) -> dict[str, Any]:
    """Return an outcome as format 1: the same keys for a dry run and a real one."""
    return {
        "file": file,
        "dry_run": dry_run,
        # What kept it from beginning; then there is nothing else to say.
        "gate": None,
        "run": outcome.run_id,
        "plan": outcome.plan.digest,
        "before": asdict(outcome.before),
        "after": asdict(outcome.after),
        "proposals": [_result(result) for result in outcome.results],
        # Where there is a model, it was asked.
        "undecided": undecided_as_json(() if writer.model else outcome.plan.undecided),
        # There may be a hundred thousand of them, and nothing in them is to be copied.
        "refused": list(map(vars, outcome.plan.refused)),
        "conflicts": conflicts_as_json(outcome.conflicts),
        "questions": [question_as_json(one) for one in outcome.asked],
        "suspicious": list(map(vars, outcome.plan.suspicious)),
        "too_long": list(map(vars, outcome.plan.too_long)),
        "damaged": outcome.plan.damaged,
        "waiting": outcome.earlier.waiting,
        "set_aside": [{"proposal": one.id, "why": one.stale} for one in outcome.earlier.outdated],
        "conversations": waiting_parts_as_json(outcome.waiting_parts),
        **aged_as_json(outcome),
        **purged_as_json(outcome.purged),
        "backup": None if outcome.backup is None else str(outcome.backup),
        "model": {
            "writer": writer.name,
            "name": writer.model,
            "checker": writer.checker,
            **asdict(outcome.usage),
        },
    }


def as_text(
    outcome: Outcome,
    file: Path,
    dry_run: bool,
    writer: Writer,
    memory_texts: MemoryTexts,
    verbose: bool = False,
) -> list[RenderableType]:
    """Return an outcome for people: what it is worth, what was done and why, and what is left."""
    plan = outcome.plan
    parts: list[RenderableType] = [_headline(outcome, file, dry_run)]
    if outcome.results or _has_other_changes(outcome):
        parts.append(_counts(outcome.before, outcome.after))
    parts += earlier_as_text(outcome.earlier.waiting, file)
    parts += before_the_night(outcome, dry_run, file, memory_texts, verbose)
    parts += waiting_parts_as_text(outcome.waiting_parts, file)
    if outcome.results:
        parts.append(_proposals(outcome, memory_texts))
    if outcome.asked:
        parts.append(questions_as_text(outcome.asked))
    if outcome.conflicts:
        most = None if verbose else MOST_SHOWN
        parts.append(conflicts_as_text(outcome.conflicts, memory_texts, most))
    if plan.undecided and writer.model is None:
        parts.append(undecided_as_text(plan.undecided, memory_texts))
    if plan.refused and (outcome.results or verbose):
        parts.append(refused_as_text(plan.refused, memory_texts, verbose))
    parts += _unconsidered(plan)
    parts += after_the_night(outcome, dry_run, file, memory_texts, verbose)
    parts += _purge_and_backup(outcome, dry_run, verbose)
    parts += leaving_as_text(outcome.purged, memory_texts, dry_run, verbose)
    if verbose:
        parts += staying_as_text(outcome.purged, memory_texts)
    if outcome.results or outcome.asked:
        parts.append(_ending(outcome, file, dry_run))
    # A blank line between them.
    return [line for part in parts for line in (part, "")][:-1]


def remarks(outcome: Outcome, dry_run: bool, file: Path, memory_texts: MemoryTexts) -> list[str]:
    """Return what else is to be said of a night, besides its proposals and pairs."""
    return [
        *earlier_as_text(outcome.earlier.waiting, file),
        *before_the_night(outcome, dry_run, file, memory_texts),
        *waiting_parts_as_text(outcome.waiting_parts, file),
        *([questions_as_text(outcome.asked)] if outcome.asked else []),
        *_unconsidered(outcome.plan),
        *after_the_night(outcome, dry_run, file, memory_texts),
        *_purge_and_backup(outcome, dry_run, False),
        *leaving_as_text(outcome.purged, memory_texts, dry_run, verbose=False),
    ]


def budget_as_json(before: Budget | None, after: Budget | None) -> dict[str, Any]:
    """Return how full another agent's file was and is; nothing where it has no limit."""
    if before is None or after is None:
        return {}
    return {"budget": asdict(after) | {"before": before.used}}


def budget_as_text(before: Budget | None, after: Budget | None) -> Iterator[str]:
    """Say how much of what its agent takes a file had, and has."""
    if before is not None and after is not None:
        now = "" if after.used == before.used else f", {after.used:,} now"
        yield ""
        yield f"Its agent takes {after.most:,} {after.unit}: it had {before.used:,}{now}."


def _result(result: Result) -> dict[str, Any]:
    proposal, worth = result.proposal, result.worth
    return {
        "id": proposal.id,
        "operation": proposal.operation,
        "tenant": proposal.tenant,
        "sources": proposal.sources,
        "survivor": proposal.survivor,
        "derived": result.derived,
        "entities": proposal.topics,
        "similarity": {"min": proposal.min_similarity, "mean": proposal.mean_similarity},
        "cohesion": proposal.mean_similarity,
        "trust": worth.trust if worth else None,
        "tokens_before": worth.tokens_before if worth else None,
        "tokens_after": worth.tokens_after if worth else None,
        "reason": proposal.reason,
        "state": result.state,
        "why": result.why,
        "draft": proposal.draft.text,
        "claims": [asdict(claim) for claim in proposal.draft.claims],
        "by_model": proposal.by_model,
        "left_out": [asdict(omitted) for omitted in proposal.left_out],
        # What a model is asked is about windows: their estimates stand under "questions".
        "estimated_tokens": 0,
    }


def _headline(outcome: Outcome, file: Path, dry_run: bool) -> str:
    """Say first what the night was worth."""
    before, after = outcome.before, outcome.after
    if not outcome.results and not outcome.asked and not _has_other_changes(outcome):
        held = f"{counted(after.active, 'memory', 'memories')}, {after.tokens:,} tokens"
        if outcome.purged.ids:
            return clean(f"{file}: {held}, as before.")
        computed = " Missing vectors and names were computed." if outcome.run_id else ""
        new = " new" if outcome.earlier.waiting else ""
        return clean(f"{file}: {held}: nothing{new} to do.{computed}")
    would = " would change" if dry_run else ""
    memories = f"{before.active:,} -> {after.active:,} memories"
    tokens = f"{before.tokens:,} -> {after.tokens:,} tokens{_change(before.tokens, after.tokens)}"
    unasked = any(one.state == "planned" for one in outcome.asked)
    beside = ", beside what a model finds" if unasked else ""
    return clean(f"{file}{would}: {memories}, {tokens}{beside}")


def _has_other_changes(outcome: Outcome) -> bool:
    """Whether memories expired, were archived or came from conversations."""
    return any(one.leaving for one in outcome.aged) or bool(outcome.waiting_parts.runs)


def _change(before: int, after: int) -> str:
    if not before:
        return ""
    percent = round(100 * (after - before) / before)
    return f" ({percent:+d} %)" if percent else " (0 %)"


def _counts(before: Counts, after: Counts) -> Table:
    from rich.table import Table

    # So narrow that a million in each column fits 80.
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column()
    for title in ("active", "superseded", *before.layers):
        table.add_column(title, justify="right")
    for name, counts in (("before", before), ("after", after)):
        numbers = (counts.active, counts.superseded, *counts.layers.values())
        table.add_row(name, *(f"{number:,}" for number in numbers))
    return table


def _proposals(outcome: Outcome, memory_texts: MemoryTexts) -> Text:
    results = outcome.results
    memories = memory_texts.memories(memories_of([one.proposal.sources for one in results]))
    operations = Counter(one.proposal.operation for one in results)
    of_each = ", ".join(f"{count:,} {name}" for name, count in operations.most_common())
    lines: list[str | Text] = [
        f"{counted(len(results), 'proposal', 'proposals')}: {of_each}. {LEGEND}",
    ]
    for result in results:
        lines += _block(result, memories).lines()
    return joined(lines)


def _block(result: Result, memories: dict[str, ShownMemory]) -> ProposalBlock:
    proposal, worth = result.proposal, result.worth
    numbers = "" if worth is None else worth_as_text(worth)
    is_done = result.state in ("planned", "applied", "pending")
    return proposal_block(proposal, result.state, result.why, memories, numbers, is_done)


def _unconsidered(plan: Plan) -> list[str]:
    """Say which memories were left out, and why."""
    parts = []
    if plan.suspicious:
        parts.append(_suspicions(plan.suspicious))
    if plan.too_long:
        parts.append(_too_long(plan.too_long))
    if plan.damaged:
        parts.append(_damaged(plan.damaged))
    if plan.dense:
        parts.append(dense_as_text(plan.dense))
    return parts


def _purge_and_backup(outcome: Outcome, dry_run: bool, verbose: bool) -> list[str]:
    """Say what no longer waits for a person, what was purged, and where the backup is."""
    backup = [clean(f"As it was before: {outcome.backup}")] if outcome.backup else []
    outdated = set_aside_as_text(outcome.earlier.outdated, dry_run)
    return [*outdated, *purged_as_text(outcome.purged, dry_run, verbose), *backup]


def _suspicions(suspicious: tuple[Suspicion, ...]) -> str:
    count = len(suspicious)
    lines = [
        f"Suspicious: {_memories(count)} tr{'y' if count > 1 else 'ies'} to give orders to "
        "the reader. They stay as they are, and nothing is made of them."
    ]
    for one in suspicious[:_MOST_SUSPICIOUS]:
        lines.append(f"  {shortened_for_stdout(one.said, _MOST_SAID)} ({clean(one.memory)})")
    if count > _MOST_SUSPICIOUS:
        lines.append("  ... all of them with --json")
    return "\n".join(lines)


def _too_long(too_long: tuple[TooLong, ...]) -> str:
    named = ", ".join(clean(one.memory) for one in too_long[:_MOST_SUSPICIOUS])
    more = " and others" if len(too_long) > _MOST_SUSPICIOUS else ""
    most = f"{MAX_CHARACTERS:,} characters"
    return f"Left out: {_memories(len(too_long))} of more than {most} ({named}{more})."


def _damaged(damaged: tuple[str, ...]) -> str:
    named = ", ".join(clean(one) for one in damaged[:_MOST_SUSPICIOUS])
    more = " and others" if len(damaged) > _MOST_SUSPICIOUS else ""
    return f"Left out, since their text is damaged: {_memories(len(damaged))} ({named}{more})."


def _memories(count: int) -> str:
    return counted(count, "memory", "memories")


def _ending(outcome: Outcome, file: Path, dry_run: bool) -> str:
    states = ", ".join(f"{count} {state}" for state, count in sorted(outcome.states.items()))
    if dry_run:
        planned = states or "nothing planned without a model"
        return clean(f"{planned}. This was a dry run: {file} was only read.")
    usage = outcome.usage
    spent = ""
    if usage.calls or usage.cached:
        cost = "unknown" if usage.cost_usd is None else f"{usage.cost_usd:.4f} USD"
        tokens = usage.prompt_tokens + usage.completion_tokens
        spent = f" {usage.calls} calls, {usage.cached} from the file, {tokens} tokens, cost {cost}."
    named = shlex.quote(str(file))
    back = f"Take it back with: slowwave undo {named} {outcome.run_id}"
    ways = [back] if outcome.states["applied"] else []
    if outcome.states["pending"]:
        ways = [f"Decide what waits with: slowwave review {named}", *ways]
    ended = f"{states or 'nothing done'}.{spent}"
    return "\n".join(map(clean, [" ".join([ended, *ways[:1]]), *ways[1:]]))
