"""What proposals are worth: the texts that they remove and write, and the resulting counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from slowwave.consolidation.proposals import Proposal, Result, Savings, derived_trust
from slowwave.consolidation.text.tokens import count_tokens
from slowwave.store.memories import Counts
from slowwave.store.records import LAYERS, Memory

if TYPE_CHECKING:
    from slowwave.consolidation.snapshot.tenant_view import TenantView

# Returns a memory by its id.
MemoryOf = Callable[[str], Memory]


def counts_after(before: Counts, proposal: Proposal, view: TenantView) -> Counts:
    """Return the counts after a proposal is applied, and nothing else."""
    layers = Counter(before.layers)
    _move_layers(layers, proposal, view)
    superseded = before.superseded + len(proposal.leaving)
    return changed_counts(before, layers, superseded, *_changed_texts(proposal, view.memory))


def changed_counts(
    before: Counts, layers: Mapping[str, int], superseded: int, old: list[str], new: list[str]
) -> Counts:
    """Return the counts with other layers, and without the old texts, but with the new ones."""
    counts: dict[str, int] = {layer: layers[layer] for layer in LAYERS}
    characters = before.characters + sum(map(len, new)) - sum(map(len, old))
    tokens = before.tokens + _count_tokens(new) - _count_tokens(old)
    return Counts(sum(counts.values()), superseded, counts, characters, tokens)


def savings_of(proposal: Proposal, memory_of: MemoryOf) -> Savings:
    """Return what a proposal is worth if it is applied."""
    before = _count_tokens(_read_contents(proposal.sources, memory_of))
    old, new = _changed_texts(proposal, memory_of)
    if proposal.survivor is not None:
        trust = memory_of(proposal.survivor).trust
    else:
        trust = derived_trust(memory_of(source).trust for source in proposal.sources)
    return Savings(before, before - _count_tokens(old) + _count_tokens(new), trust)


def savings_of_result(result: Result, view: TenantView) -> Savings:
    """Return what a result is worth, which is nothing if it was not applied, and will not be."""
    if result.state in ("planned", "applied", "pending"):
        return savings_of(result.proposal, view.memory)
    return Savings(_count_tokens(_read_contents(result.proposal.sources, view.memory)), None, None)


def _changed_texts(proposal: Proposal, memory_of: MemoryOf) -> tuple[list[str], list[str]]:
    """Return the texts that leave or change, and those that replace them."""
    old = _read_contents(proposal.leaving, memory_of)
    if proposal.keeps_text:
        return old, []
    if proposal.survivor is not None:
        old += _read_contents([proposal.survivor], memory_of)
    return old, [proposal.draft.text]


def _move_layers(layers: Counter[str], proposal: Proposal, view: TenantView) -> None:
    leaving = [view.memory(memory_id).layer for memory_id in proposal.leaving]
    layers.subtract(leaving)
    if proposal.operation != "merge" and proposal.survivor is None:
        layers["core" if proposal.operation == "extract" else "stable"] += 1
    elif proposal.operation == "merge" and proposal.survivor is not None:
        stays = view.memory(proposal.survivor).layer
        layers[stays] -= 1
        layers[max([stays, *leaving], key=LAYERS.index)] += 1


def _read_contents(ids: Sequence[str], memory_of: MemoryOf) -> list[str]:
    return [memory_of(memory_id).content for memory_id in ids]


def _count_tokens(texts: Iterable[str]) -> int:
    return sum(map(count_tokens, texts))
