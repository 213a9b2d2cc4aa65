"""Filters for search."""

from __future__ import annotations

from dataclasses import dataclass

from slowwave.store.records import Memory


@dataclass(frozen=True)
class Filter:
    """Conditions on hits; None and () match any."""

    tenants: tuple[str, ...] = ()
    kind: str | None = None
    layer: str | None = None
    # Any of these.
    tags: tuple[str, ...] = ()
    # Bounds of `observed_at`, inclusive, ISO 8601 in UTC.
    since: str | None = None
    until: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether it matches every memory."""
        return self == Filter()

    def matches(self, memory: Memory) -> bool:
        """Whether a memory matches."""
        return (
            (not self.tenants or memory.tenant in self.tenants)
            and self.kind in (None, memory.kind)
            and self.layer in (None, memory.layer)
            and (not self.tags or not set(self.tags).isdisjoint(memory.tags))
            and (self.since is None or self.since <= memory.observed_at)
            and (self.until is None or memory.observed_at <= self.until)
        )
