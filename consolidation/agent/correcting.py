"""How an agent corrects, pins, retracts and forgets memories: a part of `AgentMemory`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from slowwave.consolidation.recall.similar import Similar, find_similar
from slowwave.consolidation.running.corrections import By, Correction, Corrector
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.store.check import refuse_damaged
from slowwave.store.erasing import clean
from slowwave.store.errors import StoreError
from slowwave.store.exchange import memory_from_text
from slowwave.store.file import MemoryFile, open_reading, open_writing
from slowwave.store.forgettable import Forgettable, find_forgettable, refuse_derived
from slowwave.store.forgetting import Forgotten, forget
from slowwave.store.lock import maintenance_lock
from slowwave.store.records import timestamp


class TenantFile:
    """A tenant's file, closed between calls: what all parts of `AgentMemory` share."""

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


class Correcting(TenantFile):
    """Corrects, pins and retracts memories, each as a run that `undo` reverts, and erases them.

    by: who decided. An agent cannot change memories that are human, pinned or core. Ids may be
    shortened to four characters. Each method raises `StoreError` if nothing was changed.
    """

    def similar(self, text: str) -> list[Similar]:
        """Return the active memories that repeat or contradict a text, nearest first.

        They are found by words, without a model. Call it before `add`, which stores a text either
        way. Raises `StoreError`, also for a text that `add` refuses.
        """
        memory = memory_from_text(text, {}, self._clock())
        with open_reading(self._path) as file:
            return find_similar(file, self._tenant, text, memory.created_at)

    def correct(
        self, memory_id: str, text: str, *, supersedes: str | Sequence[str] = (), by: By = "agent"
    ) -> Correction:
        """Supersede a wrong memory, and more, by a new one with this text."""
        superseded_ids = [supersedes] if isinstance(supersedes, str) else supersedes
        with self._locked() as file:
            return self._corrector(file, by).correct([memory_id, *superseded_ids], text)

    def pin(self, memory_id: str, pinned: bool = True, *, by: By = "agent") -> Correction:
        """Pin a memory, so that no run supersedes or archives it, or unpin it."""
        with self._locked() as file:
            return self._corrector(file, by).pin(memory_id, pinned)

    def retract(self, memory_id: str, *, by: By = "agent") -> Correction:
        """Archive a memory because it is wrong; `derived` names what was derived from it."""
        with self._locked() as file:
            return self._corrector(file, by).retract(memory_id)

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
        again. reason: stored with the date. Returns None if it was forgotten before, or nothing
        contains the text. Raises `StoreError`, also if there are derived memories without
        `derived`.
        """
        forgotten = None
        with self._locked() as file:
            forgettable = self._find(file, memory_id, matching)
            if not forgettable.is_done:
                refuse_derived(forgettable, derived)
                forgotten = forget(file, forgettable, timestamp(self._clock()), reason)
            clean(file)
        return forgotten

    def _corrector(self, file: MemoryFile, by: By) -> Corrector:
        return Corrector(file, self._clock(), by, self._tenant)

    def _find(self, file: MemoryFile, memory_id: str | None, matching: str | None) -> Forgettable:
        value = memory_id if matching is None else matching
        is_filled = isinstance(value, str) and value.strip()
        if (memory_id is None) == (matching is None) or not is_filled:
            raise StoreError("Pass the id of a memory, or a text as `matching`.")
        return find_forgettable(file, memory_id, matching, (self._tenant,))
