"""The conflicts of a file: memories that contradict each other, or that a model named."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

from msgspec.json import Decoder

from slowwave.consolidation.comparison.rivals import Rivalry, find_rivalry
from slowwave.consolidation.proposals import Conflict
from slowwave.consolidation.snapshot.cache import Cache
from slowwave.consolidation.snapshot.features import TextFeatures, features_of
from slowwave.consolidation.snapshot.snapshot import read_sound
from slowwave.consolidation.thresholds import COMMON_WORD, RIVAL_MATTER
from slowwave.store.file import MemoryFile
from slowwave.store.memories import select_tenants
from slowwave.store.records import Memory
from slowwave.store.shown_to_model import Dispute, read_disputes, read_settled

_RIVALRY = Decoder(Rivalry | None)


def current_conflicts(file: MemoryFile, chosen: Sequence[str], now: str) -> list[Conflict]:
    """Return the conflicts of the tenants named, or of all, shortest first. Raises `StoreError`."""
    conflicts: list[Conflict] = []
    every: list[Memory] = []
    for tenant in select_tenants(file, chosen):
        observed, derived, _ = read_sound(file, tenant, now)
        active = [memory for memory in (*observed, *derived) if memory.status == "active"]
        features = features_of(active, Cache())
        disputes, settled = read_disputes(file, tenant), read_settled(file, tenant)
        conflicts += find_conflicts(active, disputes, settled, Cache(), features)
        every += active
    return _shortest_first(conflicts, every)


def find_conflicts(
    memories: Sequence[Memory],
    disputes: Iterable[Dispute],
    settled: Container[frozenset[str]],
    cache: Cache,
    features: Mapping[str, TextFeatures],
) -> list[Conflict]:
    """Return the conflicts among active memories of one tenant, shortest first.

    disputes: conflicts that a model named; they count while both texts are active. settled: pairs
    of texts, by hash, that a person found both right. The first of memories with the same text
    counts; dense ones, and those with instructions, are in none. features: of texts, by hash.
    """
    by_hash: dict[str, Memory] = {}
    when = attrgetter("observed_at", "id")
    for memory in sorted(memories, key=when):
        by_hash.setdefault(memory.content_hash, memory)
    conflicts: dict[frozenset[str], Conflict] = {}
    pairs = [sorted(pair, key=when) for pair in _alike(by_hash.values(), features)]
    hashes = [[memory.content_hash for memory in pair] for pair in pairs]

    def compare(places: Sequence[int]) -> list[Rivalry | None]:
        return [find_rivalry(*(memory.content for memory in pairs[place])) for place in places]

    rivalries = cache.compute_unknown("rivalry", hashes, _RIVALRY, compare)
    for (earlier, later), texts, rivalry in zip(pairs, hashes, rivalries, strict=True):
        if rivalry is not None and frozenset(texts) not in settled:
            ids = earlier.id, later.id
            conflicts[frozenset(ids)] = Conflict(ids, earlier.tenant, *rivalry)
    for dispute in disputes:
        if dispute.earlier_hash in by_hash and dispute.later_hash in by_hash:
            earlier, later = by_hash[dispute.earlier_hash], by_hash[dispute.later_hash]
            ids, contents = (earlier.id, later.id), (earlier.content, later.content)
            conflict = Conflict(ids, dispute.tenant, "statement", contents, dispute.why)
            conflicts.setdefault(frozenset(ids), conflict)
    return _shortest_first(conflicts.values(), by_hash.values())


def _alike(
    memories: Iterable[Memory], features: Mapping[str, TextFeatures]
) -> Iterator[tuple[Memory, Memory]]:
    """Yield the pairs in which a text has all content words of the other and hardly more.

    They are found by the rarest word of each, unless too many texts have it, as lines of a log do.
    """
    having: dict[str, set[int]] = defaultdict(set)
    readable: list[tuple[Memory, tuple[str, ...]]] = []
    for memory in memories:
        text = features[memory.content_hash]
        if not text.orders and not text.density.is_dense:
            for word in text.matter:
                having[word].add(len(readable))
            readable.append((memory, text.matter))
    for memory, words in readable:
        rarest, *more_common = sorted((having[word] for word in words), key=len) or [set()]
        alike = rarest.intersection(*more_common) if 1 < len(rarest) <= COMMON_WORD else ()
        for candidate, more in map(readable.__getitem__, sorted(alike)):
            is_larger = len(words) < len(more) or memory.id < candidate.id
            if is_larger and len(words) >= RIVAL_MATTER * len(more):
                yield memory, candidate


def _shortest_first(conflicts: Iterable[Conflict], memories: Iterable[Memory]) -> list[Conflict]:
    lengths = {memory.id: len(memory.content) for memory in memories}
    return sorted(
        conflicts,
        key=lambda conflict: (sum(map(lengths.__getitem__, conflict.sources)), conflict.sources),
    )
