"""A plan or an outcome, as format 1 for programs and as a table for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from slowwave.consolidation.thresholds import MOST_CHARACTERS

from .output import clean, shortened

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from slowwave.consolidation.outcome import Outcome
    from slowwave.consolidation.proposals import Conflict, Refusal, Result, Suspicion, TooLong
    from slowwave.consolidation.purging import Purged
    from slowwave.consolidation.write import Writer
    from slowwave.store.memories import Counts

# How many refused pairs a person is shown; a program gets all of them.
_MOST_REFUSED = 10
_MOST_CONFLICTS = 5
_MOST_SUSPICIOUS = 5
# What keeps a memory from being purged.
_NEEDED = {
    "lineage": "by lineage",
    "review": "by a review",
    "undo": "to undo a run",
    "pinned": "since pinned",
    "neighbours": "to compare active memories with",
}
# So many characters of what such a memory says.
_MOST_SAID = 100


def as_json(outcome: Outcome, file: str, dry_run: bool, writer: Writer) -> dict[str, Any]:
    """Give an outcome as format 1: the same keys for a dry run and a real one."""
    return {
        "command": "maintain",
        "file": file,
        "dry_run": dry_run,
        "run": outcome.run_id,
        "plan": outcome.plan.digest,
        "before": asdict(outcome.before),
        "after": asdict(outcome.after),
        "proposals": [_result(result) for result in outcome.results],
        # There may be a hundred thousand of them, and nothing in them is to be copied.
        "refused": list(map(vars, outcome.plan.refused)),
        "conflicts": list(map(vars, outcome.plan.conflicts)),
        "suspicious": list(map(vars, outcome.plan.suspicious)),
        "too_long": list(map(vars, outcome.plan.too_long)),
        "damaged": outcome.plan.damaged,
        "purged": outcome.purged.ids,
        "kept": asdict(outcome.purged.kept),
        "purge": {"run": outcome.purged.run_id, "why": outcome.purged.why},
        "backup": None if outcome.backup is None else str(outcome.backup),
        "model": {"writer": writer.name, "name": writer.model, **asdict(outcome.usage)},
    }


def as_text(outcome: Outcome, file: str, dry_run: bool) -> list[RenderableType]:
    """Give an outcome for people: what, of how many, why, and what becomes of it."""
    parts: list[RenderableType] = []
    if not outcome.results and not outcome.purged.ids:
        computed = " What it lacked of vectors and names was computed." if outcome.run_id else ""
        parts.append(clean(f"{file}: nothing to do.{computed}"))
    elif outcome.results:
        parts += [_table(outcome.results, dry_run), _counts(outcome.before, outcome.after)]
    if outcome.plan.refused and outcome.results:
        parts.append(_refusals(outcome.plan.refused))
    if outcome.plan.conflicts:
        parts.append(conflicts_as_text(outcome.plan.conflicts, _MOST_CONFLICTS))
    if outcome.plan.suspicious:
        parts.append(_suspicions(outcome.plan.suspicious))
    if outcome.plan.too_long:
        parts.append(_too_long(outcome.plan.too_long))
    if outcome.plan.damaged:
        parts.append(_damaged(outcome.plan.damaged))
    parts += _purge(outcome.purged, dry_run)
    if outcome.backup:
        parts.append(clean(f"As it was before: {outcome.backup}"))
    if outcome.results:
        parts.append(_ending(outcome, file, dry_run))
    return parts


def _result(result: Result) -> dict[str, Any]:
    proposal = result.proposal
    return {
        "id": proposal.id,
        "operation": proposal.operation,
        "tenant": proposal.tenant,
        "sources": proposal.sources,
        "survivor": result.survivor or proposal.survivor,
        "derived": result.derived,
        "entities": proposal.entities,
        "similarity": {"min": proposal.min_similarity, "mean": proposal.mean_similarity},
        "reason": proposal.reason,
        "state": result.state,
        "why": result.why,
        "draft": result.draft.text if result.draft else None,
        "claims": [asdict(claim) for claim in result.draft.claims] if result.draft else [],
        "estimated_tokens": proposal.estimated_tokens,
    }


def _table(results: tuple[Result, ...], dry_run: bool) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Plan" if dry_run else "Outcome", title_justify="left")
    table.add_column("id", no_wrap=True)
    table.add_column("operation", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("why", ratio=2)
    table.add_column("becomes", ratio=3)
    for result in results:
        proposal = result.proposal
        becomes = result.why or (result.draft.text if result.draft else "is left to the model")
        cells = (proposal.id[:8], proposal.operation, result.state, proposal.reason)
        table.add_row(*(Text(clean(cell)) for cell in cells), Text(shortened(becomes, 160)))
    return table


def _counts(before: Counts, after: Counts) -> Table:
    from rich.table import Table

    table = Table("", "active", "superseded", *before.layers)
    for name, counts in (("before", before), ("after", after)):
        numbers = (counts.active, counts.superseded, *counts.layers.values())
        table.add_row(name, *map(str, numbers))
    return table


def _refusals(refused: tuple[Refusal, ...]) -> str:
    lines = [f"Kept apart, though they look alike: {len(refused)} pairs."]
    for one in refused[:_MOST_REFUSED]:
        lines.append(clean(f"  {one.guard}: {one.why} ({', '.join(one.sources)})"))
    if len(refused) > _MOST_REFUSED:
        lines.append("  ... all of them with --json")
    return "\n".join(lines)


def conflicts_as_text(conflicts: Sequence[Conflict], most: int | None = None) -> str:
    """Give conflicts for people, a line each, `most` of them."""
    count = len(conflicts)
    lines = [f"In conflict, and left as they are: {count} pair{'s' if count > 1 else ''}."]
    for one in conflicts[:most]:
        values = f"{one.values[0]} against {one.values[1]}"
        lines.append(clean(f"  {one.slot}: {values}; {one.why} ({', '.join(one.sources)})"))
    if len(lines) <= count:
        lines.append("  ... all of them with: slowwave conflicts")
    return "\n".join(lines)


def _suspicions(suspicious: tuple[Suspicion, ...]) -> str:
    count = len(suspicious)
    lines = [
        f"Suspicious: {_memories(count)} tr{'y' if count > 1 else 'ies'} to command whoever reads "
        "memories. They stay as they are, and nothing is made of them."
    ]
    for one in suspicious[:_MOST_SUSPICIOUS]:
        lines.append(f"  {shortened(one.said, _MOST_SAID)} ({clean(one.memory)})")
    if count > _MOST_SUSPICIOUS:
        lines.append("  ... all of them with --json")
    return "\n".join(lines)


def _too_long(too_long: tuple[TooLong, ...]) -> str:
    named = ", ".join(clean(one.memory) for one in too_long[:_MOST_SUSPICIOUS])
    more = " and others" if len(too_long) > _MOST_SUSPICIOUS else ""
    most = f"{MOST_CHARACTERS:,} characters"
    return f"Left out: {_memories(len(too_long))} of more than {most} ({named}{more})."


def _damaged(damaged: tuple[str, ...]) -> str:
    named = ", ".join(clean(one) for one in damaged[:_MOST_SUSPICIOUS])
    more = " and others" if len(damaged) > _MOST_SUSPICIOUS else ""
    return f"Left out, since their text is damaged: {_memories(len(damaged))} ({named}{more})."


def _memories(count: int) -> str:
    return f"{count} memor{'ies' if count > 1 else 'y'}"


def _purge(purged: Purged, dry_run: bool) -> list[str]:
    lines = []
    if purged.ids:
        begun = "To be purged" if dry_run else "Purged"
        count = _memories(len(purged.ids))
        lines.append(f"{begun}: {count} superseded long ago. What they said stays in the lineage.")
    if purged.why:
        lines.append(clean(f"Not all was purged that was to be: {purged.why.rstrip('.')}."))
    kept = {name: count for name, count in asdict(purged.kept).items() if count}
    if kept:
        named = ", ".join(f"{count} {_NEEDED[name]}" for name, count in kept.items())
        lines.append(f"Superseded as long ago, but needed still: {named}.")
    return lines


def _ending(outcome: Outcome, file: str, dry_run: bool) -> str:
    states = ", ".join(f"{count} {state}" for state, count in sorted(outcome.states.items()))
    if dry_run:
        return clean(f"{states}. This was a dry run: {file} was only read.")
    usage = outcome.usage
    spent = ""
    if usage.calls or usage.cached:
        cost = "unknown" if usage.cost_usd is None else f"{usage.cost_usd:.4f} USD"
        tokens = usage.prompt_tokens + usage.completion_tokens
        spent = f" {usage.calls} calls, {usage.cached} from the file, {tokens} tokens, cost {cost}."
    return clean(f"{states}.{spent} Take it back with: slowwave undo {file} {outcome.run_id}")
