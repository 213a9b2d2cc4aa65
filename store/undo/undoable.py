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
    """Runs, or a proposal of a run, that can be undone."""

    # The latest first.
    runs: tuple[Run, ...]
    # The only proposal to undo; None for whole runs.
    proposal: Decision | None
    # The proposals in effect; a run may have found names and changed no memories.
    applied: tuple[Decision, ...]
    # How many memories they expired or archived.
    aged: int = 0
    # How many messages of conversations they marked as read.
    messages: int = 0
    # How many parts of conversations they queued, read or dropped.
    parts: int = 0
    # When memories of theirs were last forgotten, which no undo restores; None if none were.
    forgotten_at: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to undo."""
        return not (self.applied or self.aged or self.messages or self.parts)

    @property
    def run_id(self) -> str:
        """The id of the earliest run."""
        return self.proposal.run_id if self.proposal else self.runs[-1].id

    def undo(self, file: MemoryFile, now: str) -> list[str]:
        """Undo it, and return the keys of the undone proposals."""
        if self.proposal is None:
            return undo_runs(file, [run.id for run in self.runs], now)
        undo_proposal(file, self.proposal.run_id, self.proposal.key, now)
        return [self.proposal.key]


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
                "Nothing was undone. Its proposals for this tenant can be undone individually; "
                "'slowwave undo FILE' undoes the whole run.",
            )
        return _of_runs(file, [run])
    if proposal is not None:
        return Undoable((), proposal, (proposal,))
    raise _not_found(file, "run or proposal", prefix)


def find_last_undoable(file: MemoryFile) -> Undoable:
    """Return the last run that changed something and is not undone yet.

    Raises `NotFound`, or `StoreError` if that is a purge, or forgot memories.
    """
    for run in reversed(read_runs(file)):
        if run.outcome == "undone":
            continue
        _refuse_purge(run)
        if not (undoable := _of_runs(file, [run])).is_empty:
            return undoable
    raise NotFound(f"{file.path} has no run left to undo.")


def find_undoable_since(file: MemoryFile, prefix: str) -> Undoable:
    """Return the run whose id is, or starts with, `prefix`, and all later runs in effect.

    Raises `NotFound`, `Ambiguous`, or `StoreError` if all of them are already undone.
    """
    first = _find(read_run, file, prefix)
    if first is None:
        raise _not_found(file, "run", prefix)
    _refuse_purge(first)
    runs = read_runs(file)
    later = runs[runs.index(first) :]
    in_effect = [run for run in later if run.outcome != "undone" and not _is_purge(run)]
    if not in_effect:
        raise StoreError(f"All runs since {first.id} are already undone.")
    return _of_runs(file, in_effect)


def _of_runs(file: MemoryFile, runs: list[Run]) -> Undoable:
    decisions = (decision for run in runs for decision in read_decisions(file, run.id))
    applied = tuple(decision for decision in decisions if decision.state == "applied")
    aged = sum(len(journaled_ids(file, run.id)) for run in runs if PHASE in run.options)
    messages = sum(count_newly_read(file, run.id) for run in runs)
    parts = sum(len(journaled_ids(file, run.id, "waiting_messages")) for run in runs)
    forgotten = max(filter(None, (forgotten_since(file, run.id) for run in runs)), default=None)
    return Undoable(tuple(reversed(runs)), None, applied, aged, messages, parts, forgotten)


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
    if _is_purge(run):
        raise StoreError(
            f"Run {run.id} was a purge, which cannot be undone.",
            "'slowwave show FILE MEMORY --lineage' shows the texts of purged memories; a backup "
            "has their rows.",
        )


def _is_purge(run: Run) -> bool:
    return bool(run.options.get(OPTION)) or FORGOTTEN in run.options
