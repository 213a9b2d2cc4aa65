"""What an agent says about single memories, or passes on from a person: `AgentMemory`'s part."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

from slowwave.consolidation.recall.similar import Similar, find_similar
from slowwave.consolidation.running.corrections import By, Correction, Corrector
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.records import timestamp


class Correcting(ABC):
    """Corrects, pins and retracts memories of one tenant, each as a run that `undo` undoes.

    by: whose word it is. An agent's changes no memory that is human, pinned or core. Ids may be
    shortened to four characters. Each method raises `StoreError` if nothing was changed.
    """

    _path: Path
    _tenant: str
    _clock: Callable[[], datetime]

    @abstractmethod
    def _locked(self) -> AbstractContextManager[MemoryFile]:
        """Open the file for changes that only one run at a time may make."""

    def similar(self, text: str) -> list[Similar]:
        """Return the active memories that repeat or contradict a text, nearest first.

        They are found by words, without a model. Call it before `add`, which stores a text either
        way. Raises `StoreError` and `ConsolidationError`.
        """
        with open_reading(self._path) as file:
            return find_similar(file, self._tenant, text, timestamp(self._clock()))

    def correct(
        self, memory_id: str, text: str, *, supersedes: Sequence[str] = (), by: By = "agent"
    ) -> Correction:
        """Supersede a wrong memory, and more, by a new one with this text."""
        with self._locked() as file:
            return self._corrector(file, by).correct([memory_id, *supersedes], text)

    def pin(self, memory_id: str, pinned: bool = True, *, by: By = "agent") -> Correction:
        """Pin a memory, so that no run supersedes, expires or archives it, or unpin it."""
        with self._locked() as file:
            return self._corrector(file, by).pin(memory_id, pinned)

    def retract(self, memory_id: str, *, by: By = "agent") -> Correction:
        """Archive a memory because it is wrong; `derived` names what was derived from it."""
        with self._locked() as file:
            return self._corrector(file, by).retract(memory_id)

    def _corrector(self, file: MemoryFile, by: By) -> Corrector:
        return Corrector(file, self._clock(), by, self._tenant)
