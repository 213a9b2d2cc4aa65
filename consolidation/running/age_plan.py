"""Choose what expires and what is archived, in the file or after a planned run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from slowwave.consolidation.ageing.choosing import (
    AgeingChoice,
    LeavingMemory,
    choose_excess,
    choose_expired,
)
from slowwave.consolidation.ageing.decay import LayerScores, scores_by_layer
from slowwave.consolidation.proposals import Proposal
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.store.ageing import read_ages, to_epoch_seconds
from slowwave.store.file import open_reading
from slowwave.store.memories import Counts, read_memories, select_consolidated_tenants
from slowwave.store.records import timestamp

from .night_inputs import NightInputs


class AgePlan:
    """Chooses the memories of a file that expire or are archived."""

    def __init__(self, night: NightInputs) -> None:
        """Take the night's file, options and time."""
        self._path = night.path
        self._options = night.options
        self._now = timestamp(night.now)

    @property
    def tenants(self) -> list[str]:
        """The tenants of the run, without shared knowledge. Raises `StoreError`."""
        with open_reading(self._path) as file:
            return select_consolidated_tenants(file, self._options.tenants)

    def expiring(self) -> AgeingChoice | None:
        """Return the expired memories; None if expiry is off. Raises `StoreError`."""
        if not self._options.expire:
            return None
        with open_reading(self._path) as file:
            tenants = select_consolidated_tenants(file, self._options.tenants)
            return choose_expired(
                read_ages(file, tenants),
                self._options.retention,
                to_epoch_seconds(file, self._now),
                self._options.include_protected,
            )

    def scores(self, without: AgeingChoice | None = None) -> tuple[LayerScores, ...] | None:
        """Return the decay scores by layer; None if they are off.

        without: memories that will have expired, in a dry run. Raises `StoreError`.
        """
        if not self._options.decay:
            return None
        gone = _ids(without)
        with open_reading(self._path) as file:
            tenants = select_consolidated_tenants(file, self._options.tenants)
            staying = (memory for memory in read_ages(file, tenants) if memory.id not in gone)
            return scores_by_layer(staying, to_epoch_seconds(file, self._now))

    def excess(
        self, without: AgeingChoice | None = None, proposals: Sequence[Proposal] = ()
    ) -> AgeingChoice | None:
        """Return the memories above the limit; None if there is no limit.

        without, proposals: memories that will have expired and proposals that will have been
        applied, in a dry run. Raises `StoreError`.
        """
        if self._options.limit is None:
            return None
        gone = _ids(without) | {memory_id for each in proposals for memory_id in each.leaving}
        needed = {proposal.survivor for proposal in proposals if proposal.survivor is not None}
        needed |= {
            memory_id
            for each in proposals
            if each.operation == "extract"
            for memory_id in each.sources
        }
        made = (
            proposal
            for proposal in proposals
            if proposal.operation != "merge" and proposal.survivor is None
        )
        coming = Counter(proposal.tenant for proposal in made)
        with open_reading(self._path) as file:
            tenants = select_consolidated_tenants(file, self._options.tenants)
            staying = (memory for memory in read_ages(file, tenants) if memory.id not in gone)
            now = to_epoch_seconds(file, self._now)
            return choose_excess(staying, self._options.limit, now, needed, coming)

    def counts_without(self, counts: Counts, *choices: AgeingChoice | None) -> Counts:
        """Return the counts without the chosen memories."""
        leaving: list[LeavingMemory] = [
            memory for choice in choices if choice for memory in choice.leaving
        ]
        if not leaving:
            return counts
        layers = Counter(counts.layers)
        layers.subtract(chosen.memory.layer for chosen in leaving)
        with open_reading(self._path) as file:
            ids = [chosen.id for chosen in leaving]
            texts = [memory.content for memory in read_memories(file, ids)]
        return replace(
            counts,
            active=counts.active - len(leaving),
            layers={layer: layers[layer] for layer in counts.layers},
            characters=counts.characters - sum(map(len, texts)),
            tokens=counts.tokens - sum(map(count_tokens, texts)),
        )


def _ids(choice: AgeingChoice | None) -> set[str]:
    return set() if choice is None else {memory.id for memory in choice.leaving}
