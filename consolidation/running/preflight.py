"""Check and back up the file, once, before a run changes it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from slowwave.store import check
from slowwave.store.backup import back_up
from slowwave.store.file import migrate_file, needs_migration, open_any_version


class Preflight:
    """Checks and backs up the file before the first change of a run, if there is one."""

    def __init__(self, path: Path, keep_backups: int | None, now: datetime) -> None:
        """Take the number of backups to keep; None makes no backup."""
        self._path = path
        self._keep_backups = keep_backups
        self._now = now
        self._checked = False
        self._ready = False
        # The backup, once it was made.
        self.backup: Path | None = None

    def refuse_damaged(self) -> None:
        """Refuse a damaged file; only the first call checks. Raises `UnusableFile`."""
        if not self._checked:
            with open_any_version(self._path) as file:
                check.refuse_damaged(file)
            self._checked = True

    def check_and_back_up(self) -> None:
        """Refuse a damaged file and make the backup; only the first call does anything.

        Raises `UnusableFile`, and `StoreError` if the backup fails.
        """
        if self._ready:
            return
        self.refuse_damaged()
        if self._keep_backups is not None:
            self.backup = back_up(self._path, self._now, self._keep_backups)
        self._ready = True

    def bring_up_to_date(self) -> None:
        """Migrate an older schema."""
        if needs_migration(self._path):
            self.check_and_back_up()
            migrate_file(self._path)

    def as_option(self) -> dict[str, Any]:
        """Return the backup's name for the record of a run; {} if there is none."""
        return {"backup": self.backup.name} if self.backup else {}
