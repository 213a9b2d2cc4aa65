"""What can be taken back, by the id of a run or of a proposal."""

from __future__ import annotations

from dataclasses import dataclass

from slowwave.store.ageing import PHASE
from slowwave.store.errors import Ambiguous, NotFound, StoreError
from slowwave.store.file import MemoryFile
from slowwave.store.intake import count_newly_read
from slowwave.store.journal import changed_tenants, journaled_memories
from slowwave.store.ledger import (
    Decision,
    Run,
    find_applied,
    read_decisions,
    read_run,
    read_runs,
)
from slowwave.store.purge import OPTION

from .undo import undo_proposal, undo_runs

# Ids of runs begin with the time: fewer characters of one are soon those of another.
FEWEST = 8


@dataclass(frozen=True)
class Undoable:
    """Runs, or one proposal, that can be taken back."""

    # The latest first.
    runs: tuple[Run, ...]
    # Of one run only this; None for all of them.
    proposal: Decision | None
    # What they did to memories, and stands; they may have found out things and done nothing.
    applied: tuple[Decision, ...]
    # How many memories they took out of the active ones since their time was over, or there were
    # too many.
    aged: int = 0
    # How many messages of conversations count as read since, whatever came of them.
    messages: int = 0

    @property
    def is_nothing(self) -> bool:
        """Whether nothing was done that could be taken back."""
        return not (self.applied or self.aged or self.messages)

    @property
    def run_id(self) -> str:
        """The run that it begins with."""
        return self.proposal.run_id if self.proposal else self.runs[-1].id

    def undo(self, file: MemoryFile, now: str) -> list[str]:
        """Take it back, and return the proposals' keys."""
        if self.proposal is None:
            return undo_runs(file, [one.id for one in self.runs], now)
        undo_proposal(file, self.proposal.run_id, self.proposal.key, now)
        return [self.proposal.key]


def find_undoable(file: MemoryFile, which: str, tenant: str | None = None) -> Undoable:
    """Return the run or the proposal whose id is, or starts with, `which`.

    tenant: for whom it was, and whose memories alone it changed; None means anybody. Raises
    `NotFound`, `Ambiguous`, or `StoreError` if it is taken back already, or changed memories of
    other tenants.
    """
    run, proposal = _find_run(file, which, tenant), _find_proposal(file, which, tenant)
    if run is not None and proposal is not None:
        raise Ambiguous(f"Both a run and a proposal begin with '{which}'.", "Give more of the id.")
    if run is not None:
        if tenant is not None and not changed_tenants(file, run.id) <= {tenant}:
            raise StoreError(
                f"Run {run.id} was not for tenant '{tenant}' alone.",
                "Nothing was undone. Its proposals for this tenant can be undone one by one; "
                "'slowwave undo' takes back the whole run.",
            )
        return _of_runs(file, [run])
    if proposal is not None:
        return Undoable((), proposal, (proposal,))
    if len(which) < FEWEST:
        raise NotFound(f"'{which}' is too short to name a run or a proposal.", _hint(which))
    raise NotFound(f"There is no run or proposal '{which}' in {file.path}.", _hint(which))


def find_last_undoable(file: MemoryFile) -> Undoable:
    """Return the last run that changed something and is not taken back yet.

    Raises `NotFound`, or `StoreError` if that is a purge.
    """
    for run in reversed(read_runs(file)):
        if run.outcome == "undone":
            continue
        _refuse_purge(run)
        if not (found := _of_runs(file, [run])).is_nothing:
            return found
    raise NotFound(f"There is nothing left to take back in {file.path}.")


def find_undoable_since(file: MemoryFile, which: str) -> Undoable:
    """Return the run whose id is, or starts with, `which`, with all later ones that stand.

    Raises `NotFound`, `Ambiguous`, or `StoreError` if all is taken back already.
    """
    first = _find_run(file, which)
    if first is None:
        raise NotFound(f"There is no run '{which}' in {file.path}.", _hint(which))
    runs = read_runs(file)
    later = runs[[one.id for one in runs].index(first.id) :]
    in_effect = [one for one in later if one.outcome != "undone" and not _is_purge(one)]
    if not in_effect:
        raise StoreError(f"What runs did since {first.id} is taken back already.")
    return _of_runs(file, in_effect)


def _of_runs(file: MemoryFile, runs: list[Run]) -> Undoable:
    decided = (one for run in runs for one in read_decisions(file, run.id))
    applied = tuple(one for one in decided if one.state == "applied")
    aged = sum(len(journaled_memories(file, run.id)) for run in runs if PHASE in run.options)
    messages = sum(count_newly_read(file, run.id) for run in runs)
    return Undoable(tuple(reversed(runs)), None, applied, aged, messages)


def _hint(which: str) -> str:
    if len(which) < FEWEST:
        return f"Give the whole id, or at least its first {FEWEST} characters."
    return "'slowwave log' lists the runs, 'slowwave log FILE RUN' the proposals of one."


def _find_proposal(file: MemoryFile, which: str, tenant: str | None) -> Decision | None:
    if len(which) < FEWEST:
        return None
    try:
        return find_applied(file, which, tenant)
    except NotFound:
        return None


def _find_run(file: MemoryFile, which: str, tenant: str | None = None) -> Run | None:
    if len(which) < FEWEST:
        return None
    try:
        run = read_run(file, which, tenant)
    except NotFound:
        return None
    _refuse_purge(run)
    if run.outcome == "undone":
        raise StoreError(f"Run {run.id} is taken back already.", "There is nothing left to undo.")
    return run


def _refuse_purge(run: Run) -> None:
    if _is_purge(run):
        raise StoreError(
            f"Run {run.id} was a purge, and a purge cannot be taken back.",
            "'slowwave show MEMORY --lineage' shows the texts of purged memories; a backup has "
            "their rows.",
        )


def _is_purge(run: Run) -> bool:
    return bool(run.options.get(OPTION))
