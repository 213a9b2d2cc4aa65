"""Report the progress of a run to a listener; the engine never prints."""

from __future__ import annotations


class Progress:
    """Receives the progress of a run. This one ignores it; `cli` has one that shows it."""

    def stage(self, name: str, done: int, total: int) -> None:
        """Report that `done` of `total` steps of this stage are done."""
