"""Forget memories of a tenant: a part of `AgentMemory`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime

from slowwave.store.erasing import clean
from slowwave.store.errors import StoreError
from slowwave.store.file import MemoryFile
from slowwave.store.forgettable import Forgettable, find_forgettable, refuse_derived
from slowwave.store.forgetting import Forgotten, finish, forget
from slowwave.store.records import timestamp


class Forgetting:
    """Erases memories, or a text, permanently."""

    _tenant: str
    _clock: Callable[[], datetime]

    @abstractmethod
    def _locked(self) -> AbstractContextManager[MemoryFile]:
        """Open the file for changes that only one run at a time may make."""

    def forgettable(self, memory_id: str | None = None, matching: str | None = None) -> Forgettable:
        """Return what `forget` would erase; nothing is changed. Raises as `forget` does."""
        with self._locked() as file:
            return self._find(file, memory_id, matching)

    def forget(
        self,
        memory_id: str | None = None,
        matching: str | None = None,
        *,
        derived: bool = False,
        reason: str | None = None,
    ) -> Forgotten | None:
        """Erase a memory, or each memory of this tenant that contains a text, permanently.

        No byte of the text is left in the file, unless another tenant has it, or `left` of the
        result names a column of the agent's own. memory_id: may be shortened. derived: whether
        memories that runs wrote from it are forgotten, too; their other sources become active
        again. reason: stored with the date. Returns None if it was forgotten before. Raises
        `StoreError`, also if there are derived memories without `derived`.
        """
        done = None
        with self._locked() as file:
            found = self._find(file, memory_id, matching)
            if not found.is_over:
                refuse_derived(found, derived)
                done = forget(file, found, timestamp(self._clock()), reason)
            clean(file)
            if done is None or not done.left:
                finish(file)
        return done

    def _find(self, file: MemoryFile, memory_id: str | None, matching: str | None) -> Forgettable:
        if (memory_id is None) == (matching is None) or not (memory_id or matching or "").strip():
            raise StoreError("Pass the id of a memory, or a text as `matching`.")
        return find_forgettable(file, memory_id, matching, (self._tenant,))
