"""Find what can be undone, by the id of a run or of a proposal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from slowwave.store.ageing import PHASE
from slowwave.store.errors import Ambiguous, NotFound, StoreError
from slowwave.store.file import MemoryFile
from slowwave.store.intake import count_newly_read
from slowwave.store.journal import changed_tenants, journaled_ids
from slowwave.store.journal_form import FORGOTTEN
from slowwave.store.ledger import Decision, Run, find_applied, read_decisions, read_run, read_runs
from slowwave.store.purge import OPTION, forgotten_since

from .undo import undo_proposal, undo_runs

# Ids of runs begin with the time, so that shorter prefixes soon match another run.
MIN_PREFIX = 8

Found = TypeVar("Found")


@dataclass(frozen=True)
class Undoable:
    """A run, or a proposal of a run, that can be undone."""

    # None for only a proposal.
    run: Run | None
    # The proposals in effect; a run may have found names and changed no memories.
    applied: tuple[Decision, ...]
    # How many memories it expired or archived.
    aged: int = 0
    # How many messages of conversations it marked as read.
    messages: int = 0
    # How many parts of conversations it queued or read.
    parts: int = 0
    # When memories of it were last forgotten, which no undo restores; None if none were.
    forgotten_at: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to undo."""
        return not (self.applied or self.aged or self.messages or self.parts)

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self.applied[0].run_id if self.run is None else self.run.id

    def undo(self, file: MemoryFile, now: str) -> list[str]:
        """Undo it, and return the keys of the undone proposals."""
        if self.run is not None:
            return undo_runs(file, [self.run.id], now)
        (proposal,) = self.applied
        undo_proposal(file, proposal.run_id, proposal.key, now)
        return [proposal.key]


def find_undoable(file: MemoryFile, prefix: str, tenant: str | None = None) -> Undoable:
    """Return the run or the proposal whose id is, or starts with, `prefix`.

    tenant: if not None, it must have changed memories of this tenant only. Raises `NotFound`,
    `Ambiguous`, or `StoreError` if it is already undone, or changed memories of other tenants.
    """
    run = _find(read_run, file, prefix, tenant)
    proposal = _find(find_applied, file, prefix, tenant)
    if run is not None and proposal is not None:
        raise Ambiguous(
            f"Both a run and a proposal have an id that starts with '{prefix}'.",
            "Specify more of the id.",
        )
    if run is not None:
        _refuse_purge(run)
        if run.outcome == "undone":
            raise StoreError(f"Run {run.id} is already undone.", "There is nothing left to undo.")
        if tenant is not None and not changed_tenants(file, run.id) <= {tenant}:
            raise StoreError(
                f"Run {run.id} was not for tenant '{tenant}' alone.",
                "Nothing was undone. Its proposals for this tenant can be undone individually. "
                "'slowwave undo FILE' undoes the whole run.",
            )
        return _of_run(file, run)
    if proposal is not None:
        return Undoable(None, (proposal,))
    raise _not_found(file, "run or proposal", prefix)


def find_last_undoable(file: MemoryFile) -> Undoable:
    """Return the last run that changed something and is not undone yet.

    Raises `NotFound`, or `StoreError` if that is a purge, or forgot memories.
    """
    for run in reversed(read_runs(file)):
        if run.outcome == "undone" or (OPTION in run.options and not journaled_ids(file, run.id)):
            continue
        _refuse_purge(run)
        if not (undoable := _of_run(file, run)).is_empty:
            return undoable
    raise NotFound(f"{file.path} has no run left to undo.")


def _of_run(file: MemoryFile, run: Run) -> Undoable:
    return Undoable(
        run,
        tuple(each for each in read_decisions(file, run.id) if each.state == "applied"),
        aged=len(journaled_ids(file, run.id)) if PHASE in run.options else 0,
        messages=count_newly_read(file, run.id),
        parts=len(journaled_ids(file, run.id, "waiting_messages")),
        forgotten_at=forgotten_since(file, run.id),
    )


def _not_found(file: MemoryFile, kind: str, prefix: str) -> NotFound:
    if len(prefix) < MIN_PREFIX:
        return NotFound(
            f"'{prefix}' is too short for the id of a {kind}.",
            f"Specify the whole id, or at least its first {MIN_PREFIX} characters.",
        )
    return NotFound(
        f"There is no {kind} '{prefix}' in {file.path}.",
        "'slowwave log FILE' lists the runs, 'slowwave log FILE RUN' the proposals of a run.",
    )


def _find(
    read: Callable[[MemoryFile, str, str | None], Found],
    file: MemoryFile,
    prefix: str,
    tenant: str | None = None,
) -> Found | None:
    if len(prefix) < MIN_PREFIX:
        return None
    try:
        return read(file, prefix, tenant)
    except NotFound:
        return None


def _refuse_purge(run: Run) -> None:
    if FORGOTTEN in run.options:
        raise StoreError(
            f"Run {run.id} forgot memories, which cannot be undone.",
            "Earlier runs can be undone by their ids: 'slowwave log FILE' lists them.",
        )
    if run.options.get(OPTION):
        raise StoreError(
            f"Run {run.id} was a purge, which cannot be undone.",
            "'slowwave show FILE MEMORY --lineage' shows the texts of purged memories; a backup "
            "has their rows. 'slowwave log FILE' lists earlier runs, which can be undone by id.",
        )
