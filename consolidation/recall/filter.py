"""Which memories may be found at all."""

from __future__ import annotations

from dataclasses import dataclass

from slowwave.store.records import Memory


@dataclass(frozen=True)
class Filter:
    """Which memories may be hits; None and () stand for any."""

    tenants: tuple[str, ...] = ()
    kind: str | None = None
    layer: str | None = None
    # One of these.
    tags: tuple[str, ...] = ()
    # When it was observed, as ISO 8601 in UTC: from then on, and until then.
    since: str | None = None
    until: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether any memory may be a hit."""
        return self == Filter()

    def lets_through(self, memory: Memory) -> bool:
        """Whether a memory may be a hit."""
        return (
            (not self.tenants or memory.tenant in self.tenants)
            and self.kind in (None, memory.kind)
            and self.layer in (None, memory.layer)
            and (not self.tags or not set(self.tags).isdisjoint(memory.tags))
            and (self.since is None or self.since <= memory.observed_at)
            and (self.until is None or memory.observed_at <= self.until)
        )
