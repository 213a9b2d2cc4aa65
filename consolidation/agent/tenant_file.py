"""The memories of one tenant in a file: what all parts of `AgentMemory` share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.store.check import refuse_damaged
from slowwave.store.file import MemoryFile, open_writing
from slowwave.store.lock import maintenance_lock


class TenantFile:
    """A tenant's file, which is closed between calls."""

    _path: Path
    _tenant: str
    _embedder: Embedder
    _clock: Callable[[], datetime]

    @contextmanager
    def _locked(self) -> Iterator[MemoryFile]:
        """Open the file for changes that only one run at a time may make."""
        with maintenance_lock(self._path), open_writing(self._path) as file:
            refuse_damaged(file)
            yield file
