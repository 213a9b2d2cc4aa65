"""Which memories a list, a search or a block is about."""

from __future__ import annotations

from dataclasses import dataclass

from .records import Memory, json_text

# The limit of a search or a list for "no limit".
NO_LIMIT = 10**9
_ANY = "(SELECT value FROM json_each(?))"


@dataclass(frozen=True)
class Filter:
    """Conditions on memories; None and () match any."""

    tenants: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    # At least one of these.
    tags: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    # Bounds of `observed_at`, inclusive, ISO 8601 in UTC.
    since: str | None = None
    until: str | None = None

    def matches(self, memory: Memory) -> bool:
        """Whether a memory matches."""
        return (
            (not self.tenants or memory.tenant in self.tenants)
            and (not self.kinds or memory.kind in self.kinds)
            and (not self.layers or memory.layer in self.layers)
            and (not self.tags or not set(self.tags).isdisjoint(memory.tags))
            and (not self.sessions or memory.session in self.sessions)
            and (self.since is None or self.since <= memory.observed_at)
            and (self.until is None or memory.observed_at <= self.until)
        )

    @property
    def sql(self) -> dict[str, str]:
        """The same conditions on a row of `memories`, each with its value; needs `in_utc`."""
        chosen = {
            f"tenant IN {_ANY}": self.tenants,
            f"kind IN {_ANY}": self.kinds,
            f"layer IN {_ANY}": self.layers,
            f"EXISTS (SELECT 1 FROM json_each(tags) WHERE value IN {_ANY})": self.tags,
            f"session IN {_ANY}": self.sessions,
        }
        # An agent may have written a time with a space or another offset.
        bounds = {"in_utc(observed_at) >= ?": self.since, "in_utc(observed_at) <= ?": self.until}
        return {sql: json_text(values) for sql, values in chosen.items() if values} | {
            sql: moment for sql, moment in bounds.items() if moment is not None
        }
