"""Which text of a tenant says all that another says: what an earlier night found is known."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.json import Decoder

from slowwave.consolidation.comparison.coverage import Coverage
from slowwave.consolidation.proposals import Source
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.text.reading import Reading, read
from slowwave.store.records import content_hash

# Who tells a sentence, by its place; nobody if empty.
_PLACE = Decoder(list[int])
_WHY = Decoder(str)
_LIKELIHOOD = Decoder(float)
# Pairs of texts, by their places.
_PAIRS = Decoder(list[tuple[int, int]])


class CachedCoverage:
    """Asks `Coverage` only what the cache of a tenant does not know."""

    def __init__(self, view: TenantView) -> None:
        """Take the tenant, with its cache."""
        self._view = view
        self._coverage = Coverage()

    def find_covering(self, said: Reading, kept: Sequence[Reading]) -> int | None:
        """Find a sentence that says all that another says, by its place; None if there is none."""
        if not kept:
            return None
        hashes = [content_hash(text) for text in (said.text, *(one.text for one in kept))]
        found = self._view.cache.get_or_compute(
            "teller", hashes, _PLACE, lambda: _listed(self._coverage.find_covering(said, kept))
        )
        return found[0] if found else None

    def likelihood(self, said: str, premise: str) -> float:
        """Return how likely it is that one text says all that another says."""
        hashes = [content_hash(text) for text in (said, premise)]
        return self._view.cache.get_or_compute(
            "likelihood", hashes, _LIKELIHOOD, lambda: self._coverage.likelihood(said, premise)
        )

    def look_alikes(self, rows: Sequence[int]) -> list[tuple[int, int]]:
        """Find pairs of rows that nearly say the same and differ in one thing."""
        texts = [self._view.reading(row) for row in rows]
        hashes = [self._view.memories[row].content_hash for row in rows]
        found = self._view.cache.get_or_compute(
            "look-alikes", hashes, _PAIRS, lambda: self._coverage.look_alikes(texts)
        )
        return [(rows[one], rows[other]) for one, other in found]

    def missing(self, here: Source, there: Source) -> str:
        """Return in a few words what one memory says and another does not."""
        hashes = [content_hash(one.text) for one in (here, there)]
        return self._view.cache.get_or_compute(
            "lacking",
            hashes,
            _WHY,
            lambda: self._coverage.missing(read(here.text), read(there.text)),
        )


def _listed(place: int | None) -> list[int]:
    return [] if place is None else [place]
