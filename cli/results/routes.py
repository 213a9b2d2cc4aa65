"""Which route each memory takes: kept to the letter, or to a model; and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted

from .memory_texts import MemoryTexts

if TYPE_CHECKING:
    from slowwave.consolidation.proposals import Dense
    from slowwave.consolidation.running.outcome import Outcome

_MOST_SHOWN = 5


def routes_as_json(outcome: Outcome, memory_texts: MemoryTexts) -> list[dict[str, Any]]:
    """Return the route of each dense memory, and of each that a model is shown."""
    from slowwave.consolidation.running.key_facts import digest_of
    from slowwave.consolidation.text.density import density_of

    dense = outcome.plan.dense
    shown = {one: asked.window.tenant for asked in outcome.asked for one in asked.window.memories}
    texts = memory_texts.memories([*(one.memory for one in dense), *shown])
    kept = []
    for one in dense:
        text = texts[one.memory].content if one.memory in texts else ""
        digest = digest_of(text)
        kept.append(
            _route("extractive", one.memory, one.tenant, one.score, one.why)
            | {"key_facts": digest.facts, "anchors": digest.anchors}
        )
    asked = []
    for memory, tenant in shown.items():
        if memory in texts:
            density = density_of(texts[memory].content)
            asked.append(_route("model", memory, tenant, density.score, density.why))
    return kept + asked


def _route(route: str, memory: str, tenant: str, score: float, why: str) -> dict[str, Any]:
    return {"memory": memory, "tenant": tenant, "way": route, "density": score, "why": why}


def dense_as_text(dense: tuple[Dense, ...]) -> str:
    """Say which memories are kept to the letter, and by what that shows."""
    count = counted(len(dense), "memory", "memories")
    lines = [
        f"Kept to the letter: {count} of code, data or identifiers. No model is shown one, and "
        "only what is the same to the letter is merged with it."
    ]
    lines += [f"  {clean(one.memory)}  density {one.why}" for one in dense[:_MOST_SHOWN]]
    if len(dense) > _MOST_SHOWN:
        lines.append("  ... all of them with --json")
    return "\n".join(lines)
