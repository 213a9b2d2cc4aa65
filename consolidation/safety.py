"""Before the first change of a run, once: is the file whole? And a backup, if one is wanted."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from slowwave.store.backup import back_up
from slowwave.store.check import refuse_damaged
from slowwave.store.file import bring_up_to_date, migration_due, open_as_it_is


class SafetyNet:
    """Spread before the first change of a run, and not at all in a night that changes nothing."""

    def __init__(self, path: Path, keep_backups: int | None, now: datetime) -> None:
        """Take how many backups are to be kept; None: none is made."""
        self._path = path
        self._keep_backups = keep_backups
        self._now = now
        self._looked = False
        self._spread = False
        # Where the backup lies, once there is one.
        self.backup: Path | None = None

    def look(self) -> None:
        """Refuse a damaged file, the first time only. Raises `UnusableFile`."""
        if not self._looked:
            with open_as_it_is(self._path) as file:
                refuse_damaged(file)
            self._looked = True

    def spread(self) -> None:
        """Refuse a damaged file, and make a backup where one is wanted; the first time only.

        Raises `UnusableFile`, and `StoreError` if the backup fails: the run does not begin then.
        """
        if self._spread:
            return
        self.look()
        if self._keep_backups is not None:
            self.backup = back_up(self._path, self._now, self._keep_backups)
        self._spread = True

    def bring_up_to_date(self) -> None:
        """Bring an older schema up to date: a change like any other."""
        if migration_due(self._path):
            self.spread()
            bring_up_to_date(self._path)
