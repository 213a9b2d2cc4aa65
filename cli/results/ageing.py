"""What expired, faded and was archived, for programs and for people."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted

from .memory_texts import MemoryTexts, dated

if TYPE_CHECKING:
    from slowwave.consolidation.ageing.choosing import LayerScores, LeavingMemory
    from slowwave.consolidation.running.outcome import Outcome
    from slowwave.consolidation.running.phases import AgeingResult

# So many of a phase are shown; all with --verbose.
_MOST_SHOWN = 10
_KEPT_BY = {
    "protected": "human, pinned or core",
    "review": "waiting for review",
    "lineage": "what others said stands in it, or a rule rests on it",
}


def aged_as_json(outcome: Outcome) -> dict[str, Any]:
    """Return what the phases did, or would do: null for one that was not wanted."""
    expired, archived = outcome.expired, outcome.archived
    return {
        "expire": None if expired is None else _as_json(expired, "expired"),
        "decay": None if outcome.scores is None else [asdict(one) for one in outcome.scores],
        "limit": None
        if archived is None
        else _as_json(archived, "archived") | {"above": dict(archived.choice.above)},
    }


def _as_json(aged: AgeingResult, what: str) -> dict[str, Any]:
    leaving = [
        {
            "id": one.id,
            "tenant": one.memory.tenant,
            "kind": one.memory.kind,
            "layer": one.memory.layer,
            "score": one.score,
            "why": one.why,
        }
        for one in aged.leaving
    ]
    return {"run": aged.run_id, what: leaving, "kept": dict(aged.choice.kept), "why": aged.why}


def before_the_night(
    outcome: Outcome,
    dry_run: bool,
    file: Path,
    memory_texts: MemoryTexts | None = None,
    verbose: bool = False,
) -> list[str]:
    """Say what expired, or would, and how much is left of the rest; without texts a line each."""
    parts = []
    if outcome.expired is not None:
        parts.append(_Phase("expire", outcome.expired, dry_run, file).lines(memory_texts, verbose))
    if outcome.scores is not None:
        parts.append(_scores(outcome.scores))
    return ["\n".join(map(clean, part)) for part in parts]


def after_the_night(
    outcome: Outcome,
    dry_run: bool,
    file: Path,
    memory_texts: MemoryTexts | None = None,
    verbose: bool = False,
) -> list[str]:
    """Say what was archived, or would be; without texts in a line."""
    if outcome.archived is None:
        return []
    part = _Phase("archive", outcome.archived, dry_run, file).lines(memory_texts, verbose)
    return ["\n".join(map(clean, part))]


class _Phase:
    """A phase in words."""

    def __init__(self, verb: str, aged: AgeingResult, dry_run: bool, file: Path) -> None:
        self._verb = verb
        self._aged = aged
        self._dry_run = dry_run
        self._file = file

    def lines(self, memory_texts: MemoryTexts | None, verbose: bool) -> list[str]:
        lines = [self._headline()]
        if memory_texts is not None:
            lines += self._memories(memory_texts, verbose)
        lines += self._kept()
        if self._aged.why:
            lines.append(f"Some were left out: {self._aged.why.rstrip('.')}.")
        if self._aged.run_id is not None and self._aged.leaving:
            named = shlex.quote(str(self._file))
            lines.append(f"Take it back with: slowwave undo {named} {self._aged.run_id}")
        return lines

    def _headline(self) -> str:
        leaving = self._aged.leaving
        if not leaving:
            return self._nothing()
        done = f"{'to be ' if self._dry_run else ''}{self._verb}d".capitalize()
        of_each = Counter(_by_rule(one) for one in leaving)
        named = ", ".join(f"{count:,} {why}" for why, count in of_each.most_common())
        return f"{done}: {counted(len(leaving), 'memory', 'memories')} ({named})."

    def _nothing(self) -> str:
        if self._verb == "expire":
            return "Nothing has come to its end."
        above = self._aged.choice.above
        return "Nothing may be archived." if above else "No tenant is above its limit."

    def _memories(self, memory_texts: MemoryTexts, verbose: bool) -> Iterator[str]:
        leaving = self._aged.leaving
        shown = leaving if verbose else leaving[:_MOST_SHOWN]
        texts = memory_texts.memories(one.id for one in shown)
        for one in shown:
            score = "" if one.score is None else f"{one.score:.4f}  "
            yield f"  - {score}{dated(texts.get(one.id))}"
        if len(shown) < len(leaving):
            yield f"  ... {len(leaving) - len(shown):,} more with --verbose"

    def _kept(self) -> Iterator[str]:
        choice = self._aged.choice
        for tenant, count in choice.above.items():
            yield f"Tenant {tenant} stays {count:,} above its limit: what is left has to stay."
        if choice.kept:
            named = "; ".join(f"{count:,} {_KEPT_BY[why]}" for why, count in choice.kept.items())
            yield f"Kept: {named}."


def _by_rule(one: LeavingMemory) -> str:
    return "above the limit" if one.score is not None else f"by {one.why}"


def _scores(scores: tuple[LayerScores, ...]) -> list[str]:
    lines = ["What is left of the memories, 1 when just used:"]
    for one in scores:
        lines.append(
            f"  {one.layer:<9} {counted(one.memories, 'memory', 'memories')}: mean {one.mean:.2f}, "
            f"lowest {one.lowest:.4f}, {one.faded:,} below one half"
        )
    return lines if scores else ["There is no memory to fade."]
