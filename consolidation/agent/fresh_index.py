"""What recall searches, read from the file once and kept until the file changes."""

from __future__ import annotations

from pathlib import Path

from slowwave.consolidation.recall.index import RecallIndex, read_recallable_of
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.store.cache import count_changes
from slowwave.store.file import open_reading
from slowwave.store.memories import tenants


class FreshIndex:
    """An index of one tenant's memories that is never older than the file."""

    def __init__(self, path: Path, tenant: str, embedder: Embedder) -> None:
        """Take whose memories are meant, and what makes vectors of questions."""
        self._path = path
        self._tenant = tenant
        self._embedder = embedder
        self._index: RecallIndex | None = None
        # Which file was read for it, and how often that had been changed.
        self._state: tuple[int, int, int, int] | None = None

    def up_to_date(self) -> RecallIndex | None:
        """Return an index of what the file says now; None if the tenant has no memory yet."""
        with open_reading(self._path) as file:
            if self._tenant not in tenants(file):
                return None
            found = self._path.stat()
            # Another file of this name may have been changed as often.
            state = found.st_dev, found.st_ino, found.st_mtime_ns, count_changes(file, self._tenant)
        if self._index is None or self._state != state:
            self.forget()
            self._state = state
            recallable = read_recallable_of(self._path, (self._tenant,), self._embedder.name)
            self._index = RecallIndex(recallable, self._embedder)
        return self._index

    def forget(self) -> None:
        """Let go of what was read."""
        if self._index is not None:
            self._index.words.close()
            self._index = None
