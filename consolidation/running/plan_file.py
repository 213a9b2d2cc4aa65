"""Plan files: written by a dry run, shortened by a person, and applied.

A plan is not trusted: only what a program plans again, exactly like that, is applied.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from msgspec import DecodeError, Struct, json

from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.proposals import Proposal, Result
from slowwave.consolidation.writing.writer import BuiltInWriter
from slowwave.store.errors import StoreError, file_errors
from slowwave.store.ledger import read_latest
from slowwave.store.opening import read_text
from slowwave.store.sidecar import drafted, link_into_place

from .approval import Approval, ReviewResult
from .review_queue import read_sources
from .run_in_file import NightInputs
from .survey import survey_file

_ABOUT = "Remove each proposal that must not be applied, then run: slowwave review apply FILE PLAN"
_BY_MODEL = (
    "a plan cannot contain what a model wrote or grouped: use 'maintain --review always' and "
    "'slowwave review FILE' instead"
)
_STALE = (
    "a run would not do exactly this now: the plan or a memory was changed, or the plan was made "
    "with other options, such as --include-protected"
)


class _Source(Struct, forbid_unknown_fields=True):
    # None if it was gone when the plan was written.
    content: str | None
    goes: bool


class PlannedEntry(Struct, forbid_unknown_fields=True):
    """A proposal of a plan, after what a person reads first: the texts of its sources."""

    sources: list[_Source]
    proposal: Proposal

    @classmethod
    def of(cls, proposal: Proposal, texts: Mapping[str, str]) -> PlannedEntry:
        """Return the entry of a proposal. texts: those of its sources, by id."""
        goes = {memory_id: memory_id in proposal.leaving for memory_id in proposal.sources}
        return cls([_Source(texts.get(key), goes[key]) for key in goes], proposal)


class _Plan(Struct):
    format: Literal[1]
    about: str
    proposals: list[PlannedEntry]


def write_plan(path: Path, results: Sequence[Result], texts: Mapping[str, str]) -> None:
    """Write the planned proposals of a dry run to a new file, readable only by its owner.

    texts: as in `PlannedEntry.of`. Raises `StoreError`, also if the file exists.
    """
    planned = [result.proposal for result in results if result.state == "planned"]
    plan = _Plan(1, _ABOUT, [PlannedEntry.of(proposal, texts) for proposal in planned])
    text = json.format(json.encode(plan), indent=2).decode()
    if os.path.lexists(path):
        raise StoreError(f"{path} already exists.", "Choose another path for the plan.")
    with file_errors("write", path), drafted(path, f"{text}\n", 0o600) as draft:
        link_into_place(draft, path)


def read_plan(path: Path) -> list[PlannedEntry]:
    """Return the entries of a plan file. Raises `StoreError` if it is not a plan."""
    try:
        with file_errors("read", path):
            entries = json.decode(read_text(path), type=_Plan).proposals
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(
            f"{path} is not a plan: {error}.", "Write one with: maintain --dry-run --plan-out PATH"
        ) from error
    # One that is repeated would be recorded as stale over the applied one.
    return list({entry.proposal.id: entry for entry in entries}.values())


def apply_plan(
    plan: Sequence[PlannedEntry], include_protected: bool, reconsider: bool, approval: Approval
) -> ReviewResult:
    """Apply the entries that a run without a model would do exactly like that now.

    include_protected, reconsider: as in `CycleOptions`; a plan cannot choose them. Raises
    `StoreError` and `EmbedderError`.
    """
    proposals = _plan_again(approval, plan, include_protected) if plan else []
    memories = read_sources(approval.file, (Result(item, "planned") for item in proposals))
    texts = {memory.id: memory.content for memory in memories.values()}
    entries = {proposal.id: PlannedEntry.of(proposal, texts) for proposal in proposals}
    results = []
    for entry in plan:
        result = Result(entry.proposal, "stale", _STALE)
        decision = None if reconsider else read_latest(approval.file, entry.proposal.id)
        permitted = replace(entry.proposal, include_protected=include_protected)
        if entry.proposal.by_model:
            result = Result(entry.proposal, "rejected", _BY_MODEL)
        elif decision is not None and decision.state == "declined":
            why = f"on {decision.decided_at[:10]}: {decision.why or 'by a person'}"
            result = Result(entry.proposal, "declined", why)
        elif entries.get(entry.proposal.id) == PlannedEntry(entry.sources, permitted):
            result = Result(permitted, "planned")
        results.append(result)
    decided = approval.apply([result for result in results if result.state == "planned"])
    rest = (result for result in results if result.state != "planned")
    return ReviewResult(decided.run_id, (*decided.results, *rest))


def _plan_again(
    approval: Approval, plan: Sequence[PlannedEntry], include_protected: bool
) -> Sequence[Proposal]:
    """Return the proposals of a run without a model for the tenants of a plan."""
    options = CycleOptions(
        tenants=tuple(sorted({entry.proposal.tenant for entry in plan})),
        include_protected=include_protected,
        # Pending ones, too.
        reconsider=True,
    )
    night = NightInputs(
        path=approval.file.path,
        options=options,
        embedder=approval.embedder,
        writer=BuiltInWriter(),
        now=approval.now,
        progress=approval.progress,
        dry_run=True,
        interruption=approval.interruption,
    )
    return survey_file(night).plan.proposals
