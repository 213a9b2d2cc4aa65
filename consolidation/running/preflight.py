"""Before the first change of a run, once: is the file whole? And a backup, if one is wanted."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from slowwave.store import check
from slowwave.store.backup import back_up
from slowwave.store.file import migrate_file, needs_migration, open_any_version


class Preflight:
    """Checks and backs up before the first change of a run; not in a night that changes nothing."""

    def __init__(self, path: Path, keep_backups: int | None, now: datetime) -> None:
        """Take how many backups are to be kept; None: none is made."""
        self._path = path
        self._keep_backups = keep_backups
        self._now = now
        self._checked = False
        self._ready = False
        # Where the backup is, once there is one.
        self.backup: Path | None = None

    def refuse_damaged(self) -> None:
        """Refuse a damaged file, the first time only. Raises `UnusableFile`."""
        if not self._checked:
            with open_any_version(self._path) as file:
                check.refuse_damaged(file)
            self._checked = True

    def check_and_back_up(self) -> None:
        """Refuse a damaged file, and make a backup where one is wanted; the first time only.

        Raises `UnusableFile`, and `StoreError` if the backup fails: the run does not begin then.
        """
        if self._ready:
            return
        self.refuse_damaged()
        if self._keep_backups is not None:
            self.backup = back_up(self._path, self._now, self._keep_backups)
        self._ready = True

    def bring_up_to_date(self) -> None:
        """Bring an older schema up to date: a change like any other."""
        if needs_migration(self._path):
            self.check_and_back_up()
            migrate_file(self._path)

    def as_option(self) -> dict[str, Any]:
        """Return where the backup is, for the record of a run; nothing where there is none."""
        return {"backup": self.backup.name} if self.backup else {}
