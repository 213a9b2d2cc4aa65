"""How far a run is, reported to a listener: the engine itself never prints."""

from __future__ import annotations


class Progress:
    """Is called with how far a run is. This one keeps it to itself; `cli` has one that shows it."""

    def stage(self, name: str, done: int, total: int) -> None:
        """Report that `done` of `total` steps of this stage are done."""
