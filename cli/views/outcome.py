"""The outcome of a night, dry or real, as format 1 for programs and as text for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import clean, table_of, with_file
from slowwave.cli.terminal.wording import MAX_LISTED, counted, named, shortened_for_stdout, unlisted
from slowwave.consolidation.writing.writer import AGENT
from slowwave.store.records import MAX_CHARACTERS

from .asked import (
    dense_as_text,
    question_as_json,
    questions_as_text,
    queued_parts_as_json,
    queued_parts_as_text,
    routes_as_json,
)
from .conflict import (
    apart_as_text,
    conflicts_as_json,
    conflicts_as_text,
    undecided_as_json,
    undecided_as_text,
)
from .costs import cost_as_text, estimate_cost, usd_of
from .memory import dated, ids_in, read_views
from .phases import aged_as_text, phases_as_json, purged_as_text, scores_as_text
from .place import place_as_json, place_as_text
from .problems import unanswered_windows
from .proposal import LEGEND, proposal_as_json, view_result
from .review import earlier_as_text, withdrawn_as_text

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from slowwave.consolidation.proposals import Plan, Result
    from slowwave.consolidation.running.outcome import Outcome
    from slowwave.consolidation.writing.writer import Writer
    from slowwave.store.memories import Counts
    from slowwave.store.places import Budget, Place


@dataclass(frozen=True)
class NightReport:
    """The outcome of a night at a place, for programs and for people."""

    outcome: Outcome
    place: Place
    writer: Writer
    # Where the texts of memories are read.
    path: Path
    # The budget of the place before and after the run.
    budgets: tuple[Budget | None, Budget | None]
    dry_run: bool = False
    # What the model did not answer, and what to do about it.
    failure: tuple[str, str] | None = None
    # How many calls of a model there are at a time.
    concurrency: int = 1

    def as_json(self) -> dict[str, Any]:
        """Return it as format 1: the same keys for a dry run and a real one."""
        outcome, plan, writer = self.outcome, self.outcome.plan, self.writer
        cost = estimate_cost(outcome, writer, self.concurrency)
        unanswered = unanswered_windows(outcome)
        return {
            "file": str(self.place.named),
            "dry_run": self.dry_run,
            # Why it did not begin; then there is nothing else to report.
            "gate": None,
            "run": outcome.run_id,
            "plan": plan.digest,
            "before": asdict(outcome.before),
            "after": asdict(outcome.after),
            "proposals": [proposal_as_json(view_result(result)) for result in outcome.results],
            # If there is a model, it was asked.
            "undecided": undecided_as_json(() if writer.model else plan.undecided),
            # There may be 100,000 of them: `asdict` would copy each.
            "refused": list(map(vars, outcome.apart)),
            "conflicts": conflicts_as_json(outcome.conflicts),
            "questions": list(map(question_as_json, outcome.asked)),
            "suspicious": list(map(vars, plan.suspicious)),
            "too_long": list(map(vars, plan.too_long)),
            "damaged": plan.damaged,
            "waiting": outcome.earlier.pending,
            "set_aside": [
                {"proposal": pending.id, "why": pending.stale}
                for pending in outcome.earlier.outdated
            ],
            "held_back": plan.held_back,
            "conversations": queued_parts_as_json(outcome.queued_parts),
            **phases_as_json(outcome),
            "backup": None if outcome.backup is None else str(outcome.backup),
            "migrated_from": outcome.migrated_from,
            "model": {
                "writer": writer.name,
                "name": writer.model,
                "checker": writer.checker,
                **asdict(outcome.usage),
                "refused": writer.refused,
                "unanswered": len(unanswered),
                "why": next(iter(self.failure or (window.why for window in unanswered)), None),
            },
            "estimate": None if cost is None else asdict(cost),
            "ways": routes_as_json(outcome, self.path),
            **place_as_json(self),
        }

    def as_text(self, verbose: bool = False) -> list[RenderableType]:
        """Return what was saved, what was done and why, and what is left."""
        outcome, dry_run, path = self.outcome, self.dry_run, self.path
        plan, results, file = outcome.plan, outcome.results, self.place.named
        parts: list[RenderableType] = [_headline(outcome, file, dry_run)]
        if results or _has_other_changes(outcome):
            parts.append(_counts(outcome.before, outcome.after))
        if results:
            parts.append(_proposals(results, path, verbose))
        if outcome.conflicts:
            limit = None if verbose else MAX_LISTED
            parts.append(conflicts_as_text(outcome.conflicts, path, limit))
        if plan.undecided and self.writer.model is None:
            parts.append(undecided_as_text(plan.undecided, path))
        if verbose and (apart := outcome.apart):
            parts.append(apart_as_text(apart, path))
        parts += _remarks(outcome, dry_run, path)
        if results or outcome.asked:
            parts.append(_ending(outcome, file, dry_run, self.writer))
        # A blank line between them.
        lines = [line for part in parts for line in (part, "")][:-1]
        lines += place_as_text(self)
        cost = estimate_cost(outcome, self.writer, self.concurrency)
        return lines + cost_as_text(cost, self.concurrency)


def _remarks(outcome: Outcome, dry_run: bool, path: Path) -> list[str]:
    """Return what a report contains besides proposals and pairs."""
    return [
        *earlier_as_text(outcome.earlier.pending),
        *_held_back(outcome.plan),
        *queued_parts_as_text(outcome.queued_parts),
        *questions_as_text(outcome.asked, outcome.results),
        *_left_out(outcome.plan, path),
        *aged_as_text("expire", outcome.expired, dry_run, path),
        *scores_as_text(outcome.scores),
        *aged_as_text("archive", outcome.archived, dry_run, path),
        *withdrawn_as_text(outcome.earlier.outdated, dry_run),
        *purged_as_text(outcome.purged, dry_run, path),
        *([clean(f"Backup from before the run: {outcome.backup}")] if outcome.backup else []),
    ]


def _headline(outcome: Outcome, file: Path, dry_run: bool) -> str:
    before, after = outcome.before, outcome.after
    if not outcome.results and not outcome.asked and not _has_other_changes(outcome):
        held = f"{counted(after.active, 'memory', 'memories')}, {counted(after.tokens, 'token')}"
        if outcome.purged.ids:
            return clean(f"{file}: {held}, as before.")
        computed = " Missing vectors were computed." if outcome.run_id else ""
        new_remark = " new" if outcome.earlier.pending else ""
        alone = " without a model" if outcome.plan.undecided else ""
        return clean(f"{file}: {held}: nothing{new_remark} to do{alone}.{computed}")
    would = " would change" if dry_run else ""
    memories = f"{before.active:,} -> {after.active:,} memories"
    tokens = f"{before.tokens:,} -> {after.tokens:,} tokens{_change(before.tokens, after.tokens)}"
    is_unasked = any(question.state == "planned" for question in outcome.asked)
    ending = ", besides what a model finds" if is_unasked else ""
    return clean(f"{file}{would}: {memories}, {tokens}{ending}")


def _has_other_changes(outcome: Outcome) -> bool:
    """Whether memories expired, were archived or came from conversations."""
    return any(aged.leaving for aged in outcome.aged) or bool(outcome.queued_parts.runs)


def _change(before: int, after: int) -> str:
    if not before:
        return ""
    percent = round(100 * (after - before) / before)
    return f" ({percent:+d}%)" if percent else " (0%)"


def _counts(before: Counts, after: Counts) -> Table:
    rows = (
        (
            name,
            *map("{:,}".format, (counts.active, counts.superseded, *counts.layers.values())),
        )
        for name, counts in (("before", before), ("after", after))
    )
    return table_of([""], rows, ["active", "superseded", *before.layers])


def _proposals(results: Sequence[Result], path: Path, verbose: bool) -> str:
    memories = read_views(path, ids_in(result.proposal.sources for result in results))
    operations = Counter(result.proposal.operation for result in results)
    counts = ", ".join(f"{count:,} {name}" for name, count in operations.most_common())
    lines = [f"{counted(len(results), 'proposal')}: {counts}. {LEGEND}"]
    for result in results:
        lines += view_result(result, memories).lines(verbose, whole=verbose)
    return "\n".join(lines)


def _held_back(plan: Plan) -> list[str]:
    if not plan.held_back:
        return []
    held = counted(len(plan.held_back), "merge")
    again = with_file("To propose again: slowwave maintain FILE --reconsider")
    return [f"Not proposed again: {held} undone or declined earlier. {again}"]


def _left_out(plan: Plan, path: Path) -> list[str]:
    parts = []
    if plan.suspicious:
        count = len(plan.suspicious)
        contain = counted(count, "memory contains", "memories contain")
        lines = [
            f"Suspicious: {contain} instructions to the reader (possible prompt injection). They "
            "stay unchanged, and nothing is derived from them."
        ]
        shown = plan.suspicious[:MAX_LISTED]
        memories = read_views(path, (memory.memory for memory in shown))
        for memory in shown:
            text = dated(memories.get(memory.memory))
            lines.append(f"  {text} ({clean(memory.memory)})")
            if (instruction := shortened_for_stdout(memory.said)) not in text:
                lines.append(f"    contains: {instruction}")
        parts.append("\n".join([*lines, *unlisted(count)]))
    if plan.too_long:
        long = counted(len(plan.too_long), "memory", "memories")
        ids = named([memory.memory for memory in plan.too_long])
        parts.append(f"Skipped: {long} longer than {MAX_CHARACTERS:,} characters ({ids}).")
    if plan.damaged:
        damaged = counted(len(plan.damaged), "memory", "memories")
        ids = named(plan.damaged)
        parts.append(f"Skipped, because their text is damaged: {damaged} ({ids}).")
    return [*parts, *dense_as_text(plan.dense, path)]


def _ending(outcome: Outcome, file: Path, dry_run: bool, writer: Writer) -> str:
    states = outcome.states
    if dry_run:
        planned = _counted(states) or "Nothing planned without a model"
        parts = [f"{planned}.", *_used(outcome, writer), f"Dry run: {file} was not changed."]
        return clean(" ".join(parts))
    pending: Counter[str] = Counter(
        result.proposal.operation for result in outcome.results if result.state == "pending"
    )
    del states["pending"]
    ended = [] if pending and not states else [f"{_counted(states) or 'Nothing done'}."]
    ended += _used(outcome, writer)
    if states["applied"]:
        ended += [with_file(f"Undo it with: slowwave undo FILE {outcome.run_id}")]
    lines = [" ".join(ended)] if ended else []
    if pending:
        waits = f"{pending.total():,} pending: {_counted(pending)}"
        lines.append(with_file(f"{waits}. Decide with: slowwave review FILE"))
    return "\n".join(map(clean, lines))


def _used(outcome: Outcome, writer: Writer) -> list[str]:
    usage = outcome.usage
    if not usage.calls and not usage.cached:
        return []
    if writer.model == AGENT:
        return [f"{counted(usage.cached, 'answer')} from the agent."]
    cost = "unknown" if usage.cost_usd is None else usd_of(usage.cost_usd)
    tokens = usage.prompt_tokens + usage.completion_tokens
    return [
        f"{counted(usage.calls, 'call')}, {counted(usage.cached, 'answer')} from the cache, "
        f"{counted(tokens, 'token')}, cost {cost}."
    ]


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))
