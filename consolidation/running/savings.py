"""What proposals are worth: the texts that they remove and write, and the resulting counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from slowwave.consolidation.proposals import Proposal, Result, Savings, derived_trust
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.store.memories import Counts
from slowwave.store.records import LAYERS, Memory

if TYPE_CHECKING:
    from slowwave.consolidation.snapshot.tenant_view import TenantView

# Returns a memory by its id.
MemoryOf = Callable[[str], Memory]


def expected_counts(
    before: Counts, proposals: Sequence[Proposal], views: Sequence[TenantView]
) -> Counts:
    """Return the counts after all proposals are applied."""
    by_tenant = {view.tenant: view for view in views}
    layers = Counter(before.layers)
    superseded, characters, tokens = before.superseded, before.characters, before.tokens
    for proposal in proposals:
        view = by_tenant[proposal.tenant]
        superseded += len(proposal.leaving)
        _count_layers(layers, proposal, view)
        going, coming = _texts(proposal, view.memory)
        characters += sum(map(len, coming)) - sum(map(len, going))
        tokens += _tokens(coming) - _tokens(going)
    counted: dict[str, int] = {layer: layers[layer] for layer in LAYERS}
    return Counts(sum(counted.values()), superseded, counted, characters, tokens)


def savings_of(proposal: Proposal, memory_of: MemoryOf) -> Savings:
    """Return what a proposal is worth if it is applied."""
    before = _tokens(_contents(proposal.sources, memory_of))
    going, coming = _texts(proposal, memory_of)
    if proposal.survivor is not None:
        trust = memory_of(proposal.survivor).trust
    else:
        trust = derived_trust(memory_of(source).trust for source in proposal.sources)
    return Savings(before, before - _tokens(going) + _tokens(coming), trust)


def worth_of(result: Result, view: TenantView) -> Savings:
    """Return what a result is worth, which is nothing if it was not applied, and will not be."""
    if result.state in ("planned", "applied", "pending"):
        return savings_of(result.proposal, view.memory)
    return Savings(_tokens(_contents(result.proposal.sources, view.memory)), None, None)


def _texts(proposal: Proposal, memory_of: MemoryOf) -> tuple[list[str], list[str]]:
    """Return the texts that leave or change, and those that replace them."""
    going = _contents(proposal.leaving, memory_of)
    if proposal.keeps_text:
        return going, []
    if proposal.survivor is not None:
        going += _contents([proposal.survivor], memory_of)
    return going, [proposal.draft.text]


def _count_layers(layers: Counter[str], proposal: Proposal, view: TenantView) -> None:
    leaving = [view.memory(memory_id).layer for memory_id in proposal.leaving]
    layers.subtract(leaving)
    if proposal.operation != "merge" and proposal.survivor is None:
        layers["core" if proposal.operation == "extract" else "stable"] += 1
    elif proposal.operation == "merge" and proposal.survivor is not None:
        stays = view.memory(proposal.survivor).layer
        layers[stays] -= 1
        layers[max([stays, *leaving], key=LAYERS.index)] += 1


def _contents(ids: Sequence[str], memory_of: MemoryOf) -> list[str]:
    return [memory_of(memory_id).content for memory_id in ids]


def _tokens(texts: Iterable[str]) -> int:
    return sum(map(count_tokens, texts))
