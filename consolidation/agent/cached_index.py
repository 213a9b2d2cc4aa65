"""The search index of a file, cached until the file changes."""

from __future__ import annotations

from pathlib import Path

from slowwave.consolidation.recall.index import RecallIndex, read_recallable_of
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.store.cache import count_changes
from slowwave.store.file import open_reading
from slowwave.store.memories import tenants


class CachedIndex:
    """The index of one tenant's memories, rebuilt when the file changes."""

    def __init__(self, path: Path, tenant: str, embedder: Embedder) -> None:
        """Take the file, the tenant, and the embedder of questions."""
        self._path = path
        self._tenant = tenant
        self._embedder = embedder
        self._index: RecallIndex | None = None
        # The identity and change count of the indexed file.
        self._state: tuple[int, int, int, int] | None = None

    def get(self) -> RecallIndex | None:
        """Return the current index; None if the tenant has no memories."""
        with open_reading(self._path) as file:
            if self._tenant not in tenants(file):
                return None
            found = self._path.stat()
            # A replacement of the file may have the same change count.
            state = found.st_dev, found.st_ino, found.st_mtime_ns, count_changes(file, self._tenant)
        if self._index is None or self._state != state:
            self.forget()
            self._state = state
            recallable = read_recallable_of(self._path, (self._tenant,), self._embedder.name)
            self._index = RecallIndex(recallable, self._embedder)
        return self._index

    def forget(self) -> None:
        """Drop the index."""
        if self._index is not None:
            self._index.words.close()
            self._index = None
