"""What the phases of ageing would do: to what is there, or to what a plan would leave."""

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
    """Looks at a file as the user's options say, and chooses."""

    def __init__(self, night: NightInputs) -> None:
        """Take the file, the options, and what time it is."""
        self._path = night.path
        self._options = night.options
        self._now = timestamp(night.now)

    @property
    def tenants(self) -> list[str]:
        """The tenants that the run is about, never shared knowledge. Raises `StoreError`."""
        with open_reading(self._path) as file:
            return select_consolidated_tenants(file, self._options.tenants)

    def expiring(self) -> AgeingChoice | None:
        """Return what has come to its end; None where that is not wanted. Raises `StoreError`."""
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
        """Return how much is left of the memories; None where that is not wanted.

        without: what will be gone by then, in a dry run. Raises `StoreError`.
        """
        if not self._options.decay:
            return None
        gone = _ids(without)
        with open_reading(self._path) as file:
            tenants = select_consolidated_tenants(file, self._options.tenants)
            staying = (one for one in read_ages(file, tenants) if one.id not in gone)
            return scores_by_layer(staying, to_epoch_seconds(file, self._now))

    def excess(
        self, without: AgeingChoice | None = None, proposals: Sequence[Proposal] = ()
    ) -> AgeingChoice | None:
        """Return what is above the limit; None where there is none.

        without, proposals: what will be gone by then, and applied, in a dry run. Raises
        `StoreError`.
        """
        if self._options.limit is None:
            return None
        gone = _ids(without) | {one for each in proposals for one in each.leaving}
        needed = {one.survivor for one in proposals if one.survivor is not None}
        needed |= {one for each in proposals if each.operation == "extract" for one in each.sources}
        made = (one for one in proposals if one.operation != "merge" and one.survivor is None)
        coming = Counter(one.tenant for one in made)
        with open_reading(self._path) as file:
            tenants = select_consolidated_tenants(file, self._options.tenants)
            staying = (one for one in read_ages(file, tenants) if one.id not in gone)
            now = to_epoch_seconds(file, self._now)
            return choose_excess(staying, self._options.limit, now, needed, coming)

    def counts_without(self, counts: Counts, *choices: AgeingChoice | None) -> Counts:
        """Return counts as they are once what was chosen has left."""
        leaving: list[LeavingMemory] = [
            one for choice in choices if choice for one in choice.leaving
        ]
        if not leaving:
            return counts
        layers = Counter(counts.layers)
        layers.subtract(one.memory.layer for one in leaving)
        with open_reading(self._path) as file:
            texts = [one.content for one in read_memories(file, [one.id for one in leaving])]
        return replace(
            counts,
            active=counts.active - len(leaving),
            layers={layer: layers[layer] for layer in counts.layers},
            characters=counts.characters - sum(map(len, texts)),
            tokens=counts.tokens - sum(map(count_tokens, texts)),
        )


def _ids(choice: AgeingChoice | None) -> set[str]:
    return set() if choice is None else {one.id for one in choice.leaving}
