"""What the tests of reliability counted, printed at the end of a run of the tests."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Figures:
    """Sums and highest values, by name, in the order in which the names first came."""

    sums: dict[str, int] = field(default_factory=dict)
    highest: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, count: int = 1) -> None:
        """Add to a sum, such as "kills survived"."""
        self.sums[name] = self.sums.get(name, 0) + count

    def reach(self, name: str, value: float) -> None:
        """Keep the highest value, such as "longest write lock in ms"."""
        self.highest[name] = max(value, self.highest.get(name, value))

    def include(self, rest: Figures) -> None:
        """Add what another process counted."""
        for name, count in rest.sums.items():
            self.add(name, count)
        for name, value in rest.highest.items():
            self.reach(name, value)

    def lines(self) -> list[str]:
        """Return a line for each figure."""
        sums = [f"{name}: {count:,}" for name, count in self.sums.items()]
        return sums + [f"{name}: {value:,.1f}" for name, value in self.highest.items()]
