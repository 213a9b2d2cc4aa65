"""Expire, archive and purge memories: each phase is a journaled run of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from slowwave.consolidation.ageing.selection import AgeingChoice, LeavingMemory, choose_excess
from slowwave.consolidation.proposals import Proposal
from slowwave.consolidation.text.tokens import count_tokens
from slowwave.store import ageing
from slowwave.store.ageing import PHASE, STATUS_AFTER, MemoryAge, Phase, retire_memories
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.journal import journaled_ids
from slowwave.store.memories import (
    Counts,
    count_memories,
    read_memories,
    select_consolidated_tenants,
)
from slowwave.store.purge import OPTION, PORTION, KeptCounts, Purgeable, purge, read_needed
from slowwave.store.records import timestamp

from .run_in_file import NightInputs, Preflight, RunInFile, Verdict
from .savings import changed_counts

Item = TypeVar("Item")


@dataclass(frozen=True)
class PhaseRun:
    """How the run of a phase ended."""

    # None if no run was begun: in a dry run, or without memories to process.
    run_id: str | None = None
    # Why some memories were not processed.
    why: str | None = None
    interrupted: bool = False


@dataclass(frozen=True)
class AgeingResult(PhaseRun):
    """The memories that a phase expired or archived; in a dry run, those that it would."""

    leaving: tuple[LeavingMemory, ...] = ()
    choice: AgeingChoice = field(default_factory=AgeingChoice)


@dataclass(frozen=True)
class PurgeResult(PhaseRun):
    """What a purge deleted, or would delete in a dry run, and what stays and why."""

    ids: tuple[str, ...] = ()
    # What needs it, by the id of each memory that stays.
    staying: Mapping[str, str] = field(default_factory=dict)

    @property
    def kept(self) -> KeptCounts:
        """How many memories stay, by what needs them."""
        return KeptCounts.from_reasons(self.staying)


def count_now(path: Path, tenants: Sequence[str]) -> Counts:
    """Return the counts of these tenants' memories. Raises `StoreError`."""
    with open_reading(path) as file:
        return count_memories(file, tenants, count_tokens)


def read_tenants(night: NightInputs) -> list[str]:
    """Return the tenants of a night, without shared facts. Raises `StoreError`."""
    with open_reading(night.path) as file:
        return select_consolidated_tenants(file, night.options.tenants)


def choose_archived(
    night: NightInputs, expired: Collection[str], proposals: Sequence[Proposal]
) -> AgeingChoice | None:
    """Return the memories above the limit; None if there is no limit.

    expired: as in `read_ages`. proposals: those that will have been applied, in a dry run. Raises
    `StoreError`.
    """
    limit = night.options.limit
    if limit is None:
        return None
    leaving = {memory_id for proposal in proposals for memory_id in proposal.leaving}
    needed = {proposal.survivor for proposal in proposals if proposal.survivor is not None}
    for proposal in proposals:
        if proposal.operation == "extract":
            needed.update(proposal.sources)
    coming = Counter(
        proposal.tenant
        for proposal in proposals
        if proposal.operation != "merge" and proposal.survivor is None
    )
    ages, now = read_ages(night, leaving.union(expired))
    return choose_excess(ages, limit, now, needed=needed, coming=coming)


def expire_or_archive(
    night: NightInputs,
    phase: Phase,
    choice: AgeingChoice,
    preflight: Preflight,
) -> AgeingResult:
    """Expire or archive the chosen memories that are unchanged; a dry run only returns them.

    An error after the first batch is reported in the result. Raises `StoreError` if nothing was
    changed.
    """
    if night.dry_run or not choice.leaving:
        return AgeingResult(leaving=choice.leaving, choice=choice)
    memories = [leaving.memory for leaving in choice.leaving]
    now = timestamp(night.now)
    processed, run = _run_phase(
        night,
        preflight,
        tenants=read_tenants(night),
        options={PHASE: phase, "tenant": list(night.options.tenants)},
        steps=[
            partial(retire_memories, phase=phase, planned=portion, now=now)
            for portion in _portions(memories)
        ],
        after_of=lambda before, ids: counts_without(
            night, before, [memory for memory in choice.leaving if memory.id in ids]
        ),
        counted_as=STATUS_AFTER[phase],
        report={"kept": dict(choice.kept_by_reason), "above": dict(choice.above)},
    )
    leaving = tuple(memory for memory in choice.leaving if memory.id in processed)
    return AgeingResult(**vars(run), leaving=leaving, choice=choice)


def purge_memories(
    night: NightInputs, purgeable: Purgeable, tenants: Sequence[str], preflight: Preflight
) -> PurgeResult:
    """Delete the planned memories that nothing needs meanwhile; a dry run only returns them.

    An error after the first batch is reported in the result. Raises `StoreError` if nothing was
    deleted.
    """
    if night.dry_run or not purgeable.ids:
        return PurgeResult(ids=purgeable.ids, staying=purgeable.staying)
    with open_reading(night.path) as file:
        needed = read_needed(file, night.now)
    processed, run = _run_phase(
        night,
        preflight,
        tenants=tenants,
        options={OPTION: True, "tenant": list(tenants)},
        steps=[
            partial(purge, ids=portion, now=night.now, needed=needed)
            for portion in _portions(purgeable.ids)
        ],
        after_of=lambda before, ids: replace(before, superseded=before.superseded - len(ids)),
        counted_as="purged",
        report={"kept": asdict(KeptCounts.from_reasons(purgeable.staying))},
    )
    purged_ids = tuple(memory_id for memory_id in purgeable.ids if memory_id in processed)
    return PurgeResult(**vars(run), ids=purged_ids, staying=purgeable.staying)


def counts_without(night: NightInputs, counts: Counts, leaving: Sequence[LeavingMemory]) -> Counts:
    """Return the counts without these memories. Raises `StoreError`."""
    if not leaving:
        return counts
    layers = Counter(counts.layers)
    layers.subtract(chosen.memory.layer for chosen in leaving)
    with open_reading(night.path) as file:
        memories = read_memories(file, [chosen.id for chosen in leaving])
        texts = [memory.content for memory in memories]
    return changed_counts(counts, layers, counts.superseded, texts, [])


def read_ages(night: NightInputs, expired: Collection[str] = ()) -> tuple[list[MemoryAge], int]:
    """Return the active memories of a night, and its time in seconds since 1970.

    expired: the ids of memories that have expired, or will in a dry run. Raises `StoreError`.
    """
    with open_reading(night.path) as file:
        tenants = select_consolidated_tenants(file, night.options.tenants)
        ages = [memory for memory in ageing.read_ages(file, tenants) if memory.id not in expired]
        return ages, ageing.to_epoch_seconds(file, timestamp(night.now))


def _portions(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[start : start + PORTION] for start in range(0, len(items), PORTION))


def _run_phase(
    night: NightInputs,
    preflight: Preflight,
    *,
    tenants: Sequence[str],
    options: Mapping[str, Any],
    steps: Sequence[Callable[[MemoryFile, str], object]],
    after_of: Callable[[Counts, Collection[str]], Counts],
    counted_as: str,
    report: Mapping[str, Any],
) -> tuple[Collection[str], PhaseRun]:
    """Process memories in a run of its own; return the processed ids and how the run ended.

    steps: each processes and journals memories in a transaction of its own, for the run with that
    id. after_of: returns the counts without the processed memories. counted_as: the name of the
    number of processed memories in the run's report. report: what else that contains.

    An error after the first step is reported in the result. Raises `StoreError` if nothing was
    processed.
    """
    interruption, before = night.interruption, count_now(night.path, tenants)
    run = RunInFile(preflight, night.now, options, interruption)
    with run.writing() as file:
        with run.working():
            for step in steps:
                # Late in a night signals no longer interrupt, so poll.
                if interruption.requested:
                    run.interrupted = True
                    break
                with interruption.limited():
                    step(file, run.id)
                run.has_results = True
        processed = journaled_ids(file, run.id)
        after = after_of(before, processed)
        counts = {"before": asdict(before), "after": asdict(after), counted_as: len(processed)}
        ended_early: Verdict = "interrupted" if run.interrupted else "partial"
        is_whole = not (run.interrupted or run.broken_off)
        # What was processed is reported even so; the ledger shows the run as interrupted.
        unrecorded = run.try_to_end("done" if is_whole else ended_early, {**counts, **report})
    why = run.broken_off.message if run.broken_off else unrecorded or None
    return processed, PhaseRun(
        run.id, "the run was interrupted" if run.interrupted else why, run.interrupted
    )
