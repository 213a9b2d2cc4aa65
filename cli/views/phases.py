"""What expired, faded, was archived and was purged, in JSON and text."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import clean, with_file
from slowwave.cli.terminal.wording import MAX_LISTED, counted, unlisted

from .memory import PURGED, dated, read_views

if TYPE_CHECKING:
    from slowwave.consolidation.ageing.selection import LayerScores
    from slowwave.consolidation.running.outcome import Outcome
    from slowwave.consolidation.running.phases import AgeingResult, PurgeResult

_KEPT_BY = {
    "protected": "human, pinned or core",
    "review": "waiting for review",
    "lineage": "successors of others, or sources of a rule",
}
# What keeps a memory from being purged.
_NEEDED = {
    "lineage": "by lineage",
    "review": "by a review",
    "undo": "to undo a run",
    "pinned": "since pinned",
}


def phases_as_json(outcome: Outcome) -> dict[str, Any]:
    """Return what the phases did, or would do; null for one that was not requested."""
    expired, archived, purged = outcome.expired, outcome.archived, outcome.purged
    return {
        "expire": None if expired is None else _aged_as_json(expired, "expired"),
        "decay": None if outcome.scores is None else list(map(asdict, outcome.scores)),
        "limit": None
        if archived is None
        else _aged_as_json(archived, "archived") | {"above": dict(archived.choice.above)},
        "purged": purged.ids,
        # Until version 9 of the schema neighbors of active memories were kept, too.
        "kept": {**asdict(purged.kept), "neighbours": 0},
        "staying": [{"id": id_, "why": _NEEDED[why]} for id_, why in purged.staying.items()],
        "purge": {"run": purged.run_id, "why": purged.why},
    }


def _aged_as_json(aged: AgeingResult, status: str) -> dict[str, Any]:
    leaving = [
        {
            **{name: getattr(leaving.memory, name) for name in ("id", "tenant", "kind", "layer")},
            "score": leaving.score,
            "why": leaving.why,
        }
        for leaving in aged.leaving
    ]
    return {
        "run": aged.run_id,
        status: leaving,
        "kept": dict(aged.choice.kept_by_reason),
        "why": aged.why,
    }


def aged_as_text(verb: str, aged: AgeingResult | None, dry_run: bool, path: Path) -> list[str]:
    """Return what a phase did, or would do; nothing if it was not requested.

    verb: "expire" or "archive".
    """
    if aged is None:
        return []
    shown = aged.leaving[:MAX_LISTED]
    memories = read_views(path, (leaving.id for leaving in shown))
    lines = [_headline(verb, aged, dry_run)]
    for leaving in shown:
        score = "" if leaving.score is None else f"{leaving.score:.4f}  "
        lines.append(f"  - {score}{dated(memories.get(leaving.id))}")
    lines += unlisted(len(aged.leaving))
    for tenant, count in aged.choice.above.items():
        lines.append(
            f"Tenant {tenant} is still {count:,} above its limit: the remaining memories cannot be "
            "archived."
        )
    if aged.choice.kept_by_reason:
        kept_counts = "; ".join(
            f"{count:,} {_KEPT_BY[why]}" for why, count in aged.choice.kept_by_reason.items()
        )
        lines.append(f"Kept: {kept_counts}.")
    if aged.why:
        lines.append(f"Some were skipped: {aged.why.rstrip('.')}.")
    if aged.run_id is not None and aged.leaving:
        lines.append(with_file(f"Undo it with: slowwave undo FILE {aged.run_id}"))
    return ["\n".join(map(clean, lines))]


def _headline(verb: str, aged: AgeingResult, dry_run: bool) -> str:
    if aged.leaving:
        verdict = f"{'to be ' if dry_run else ''}{verb}d".capitalize()
        reasons = Counter(
            "above the limit" if leaving.score is not None else f"by {leaving.why}"
            for leaving in aged.leaving
        )
        reason_counts = ", ".join(f"{count:,} {why}" for why, count in reasons.most_common())
        return f"{verdict}: {counted(len(aged.leaving), 'memory', 'memories')} ({reason_counts})."
    if verb == "expire":
        return "No memory has expired."
    return "Nothing can be archived." if aged.choice.above else "No tenant is above its limit."


def scores_as_text(scores: tuple[LayerScores, ...] | None) -> list[str]:
    """Return how much the memories of each layer have decayed; nothing if it was not requested."""
    if scores is None:
        return []
    lines = ["Scores of memories, 1 when just used:" if scores else "No memory decays."]
    for layer in scores:
        count = counted(layer.memories, "memory", "memories")
        lines.append(
            f"  {layer.layer:<9} {count}: mean {layer.mean:.2f}, "
            f"lowest {layer.lowest:.4f}, {layer.faded:,} below one half"
        )
    return ["\n".join(lines)]


def purged_as_text(purged: PurgeResult, dry_run: bool, path: Path) -> list[str]:
    """Return what was purged, or would be, and what is still needed."""
    lines = []
    if purged.ids:
        verdict = "To be purged" if dry_run else "Purged"
        count = counted(len(purged.ids), "memory", "memories")
        lines.append(
            f"{verdict}: {count} superseded long ago. A purge cannot be undone; the lineage "
            "keeps the texts."
        )
        shown_ids = purged.ids[:MAX_LISTED]
        memories = read_views(path, shown_ids)
        for memory_id in shown_ids:
            text = dated(memories.get(memory_id)).removesuffix(PURGED)
            lines.append(f"  - {text} ({memory_id})")
        lines += unlisted(len(purged.ids))
    if purged.why:
        lines.append(f"The purge is incomplete: {purged.why.rstrip('.')}.")
    if needed := {name: count for name, count in asdict(purged.kept).items() if count}:
        reasons = ", ".join(f"{count} {_NEEDED[name]}" for name, count in needed.items())
        lines.append(f"Superseded long ago, but still needed: {reasons}. --json lists them.")
    return ["\n".join(map(clean, lines))] if lines else []
