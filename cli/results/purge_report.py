"""What a purge did, or would do, and what stays since it is needed, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted

from .memory_texts import PURGED, MemoryTexts, dated

if TYPE_CHECKING:
    from slowwave.consolidation.running.phases import PurgeResult

# So many memories that go are named without --verbose.
_SHOWN = 10
# What keeps a memory from being purged.
_NEEDED = {
    "lineage": "by lineage",
    "review": "by a review",
    "undo": "to undo a run",
    "pinned": "since pinned",
}


def purged_as_json(purged: PurgeResult) -> dict[str, Any]:
    """Return what became of memories that were superseded long ago."""
    return {
        "purged": purged.ids,
        # Until version 9 of the schema neighbours of active memories were kept, too.
        "kept": {**asdict(purged.kept), "neighbours": 0},
        "staying": [{"id": one, "why": _NEEDED[why]} for one, why in purged.staying.items()],
        "purge": {"run": purged.run_id, "why": purged.why},
    }


def purged_as_text(purged: PurgeResult, dry_run: bool, verbose: bool = False) -> list[str]:
    """Say what was purged, or would be, and what is needed still; `verbose` names that, too."""
    lines = []
    if purged.ids:
        begun = "To be purged" if dry_run else "PurgeResult"
        count = counted(len(purged.ids), "memory", "memories")
        lines.append(f"{begun}: {count} superseded long ago. What they said stays in the lineage.")
    if purged.why:
        lines.append(clean(f"Not all was purged that was to be: {purged.why.rstrip('.')}."))
    kept = {name: count for name, count in asdict(purged.kept).items() if count}
    if kept:
        named = ", ".join(f"{count} {_NEEDED[name]}" for name, count in kept.items())
        where = "" if verbose else " --verbose names them."
        lines.append(f"Superseded as long ago, but needed still: {named}.{where}")
    return lines


def leaving_as_text(
    purged: PurgeResult, memory_texts: MemoryTexts, dry_run: bool, verbose: bool
) -> list[str]:
    """Name each memory that went, or would go: the first of them, or with `verbose` all."""
    if not purged.ids:
        return []
    shown = purged.ids if verbose else purged.ids[:_SHOWN]
    texts = memory_texts.memories(shown)
    lines = [f"A purge cannot be undone. These {'would go' if dry_run else 'went'}:"]
    # That they are purged is what the list is about.
    lines += [clean(f"  {dated(texts.get(one)).removesuffix(PURGED)} ({one})") for one in shown]
    if len(shown) < len(purged.ids):
        lines.append(f"  and {len(purged.ids) - len(shown):,} more: --verbose names them")
    return ["\n".join(lines)]


def staying_as_text(purged: PurgeResult, memory_texts: MemoryTexts) -> list[str]:
    """Name each memory that stays although its time is over, and what needs it."""
    if not purged.staying:
        return []
    texts = memory_texts.memories(purged.staying)
    lines = ["These stay:"]
    for one, why in purged.staying.items():
        lines.append(clean(f"  needed {_NEEDED[why]}: {dated(texts.get(one))} ({one})"))
    return ["\n".join(lines)]
