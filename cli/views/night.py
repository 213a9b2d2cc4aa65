"""A night as the log and a report show it: a past run, one just made, or a dry run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.wording import MAX_LISTED
from slowwave.consolidation.proposals import Usage
from slowwave.store.file import open_reading
from slowwave.store.ledger import Decision, Run, read_applied_approvals, read_decisions
from slowwave.store.lineage import read_run_claims
from slowwave.store.records import LAYERS

from .conflict import apart_as_text, conflicts_as_text
from .memory import ids_in, read_views
from .outcome import remarks
from .proposal import ProposalView, decision_as_json, view_decision, view_result
from .run import named_or_last_run, recorded, run_as_json, started

if TYPE_CHECKING:
    from slowwave.consolidation.running.outcome import Outcome
    from slowwave.store.changes import TextChange

# How many pairs that were kept apart a report shows.
_MAX_PAIRS = 200


@dataclass(frozen=True)
class NightView:
    """One night: what it was to do, what it did, and what it left."""

    # The path or address that the user specified.
    file: str
    # None: a dry run, or a night that wrote nothing.
    run: Run | None
    dry_run: bool
    outcome: str
    writer: str
    # Counts by name, with those of `layers`; None if the run was killed.
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    # The fields of `Usage`.
    usage: Mapping[str, Any]
    proposals: Sequence[ProposalView]
    # The rows of the ledger, of a run; in the order of its proposals.
    decisions: Sequence[Decision] = ()
    # Text for people, empty if there are none. None: a past run; the file does not record them.
    conflicts: str | None = None
    apart: str | None = None
    remarks: Sequence[str] = ()
    # Whether the run is all that changed the file; if not, the remarks contain the rest.
    is_whole: bool = True

    @property
    def states(self) -> Counter[str]:
        """The number of proposals by state."""
        return Counter(proposal.state for proposal in self.proposals)

    @property
    def started(self) -> str:
        """When the run began, to the minute."""
        return "" if self.run is None else started(self.run)[:16]

    @property
    def has_applied(self) -> bool:
        """Whether the run can be undone."""
        return self.run is not None and self.states["applied"] > 0

    def as_json(self) -> dict[str, Any]:
        """Return the run with its proposals as format 1."""
        return {
            "run": None if self.run is None else run_as_json(self.run),
            "proposals": [
                decision_as_json(proposal, decision)
                for proposal, decision in zip(self.proposals, self.decisions, strict=True)
            ],
        }


def read_night(path: Path, named_file: Path, prefix: str | None) -> NightView:
    """Return a past run, the last one if none is named.

    named_file: the file as the user names it. Raises `StoreError`.
    """
    from slowwave.store.changes import read_changes

    with open_reading(path) as file:
        run = named_or_last_run(file, prefix)
        decisions = read_decisions(file, run.id)
        applied = read_applied_approvals(file, run.id)
        changes: dict[str, list[TextChange]] = defaultdict(list)
        for change in read_changes(file, run.id):
            changes[change.proposal].append(change)
        claims = read_run_claims(file, run.id)
    memories = read_views(path, ids_in(decision.sources for decision in decisions))
    return NightView(
        file=str(named_file),
        run=run,
        dry_run=False,
        outcome=run.outcome,
        writer=str(run.options.get("model") or "none"),
        before=_counts(recorded(run, "before")),
        after=_counts(recorded(run, "after")),
        usage=_usage(recorded(run, "model")),
        proposals=[
            view_decision(
                decision,
                memories,
                changes=changes[decision.key],
                claims=claims.get(decision.key, ()),
                applied=applied.get(decision.key),
            )
            for decision in decisions
        ],
        decisions=decisions,
    )


def view_night(
    outcome: Outcome, path: Path, named_file: Path, dry_run: bool, writer: str
) -> NightView:
    """Return a night that has just ended, with what it left unchanged. Raises `StoreError`.

    named_file: the file as the user names it.
    """
    if outcome.run_id is not None:
        night = read_night(path, named_file, outcome.run_id)
    else:
        night = _view_unwritten(outcome, path, named_file, dry_run, writer)
    expired = outcome.expired is not None and outcome.expired.run_id is not None
    has_earlier_run = expired or bool(outcome.queued_parts.runs)
    apart, conflicts = outcome.apart, outcome.conflicts
    return replace(
        night,
        conflicts=conflicts_as_text(conflicts, path, MAX_LISTED, whole=True) if conflicts else "",
        apart=apart_as_text(apart, path, _MAX_PAIRS, whole=True) if apart else "",
        remarks=remarks(outcome, dry_run, path),
        # Each phase is a run of its own, with its own counts; these are of the whole night.
        before=asdict(outcome.before),
        after=asdict(outcome.after),
        is_whole=outcome.last_run == outcome.run_id and not has_earlier_run,
    )


def _view_unwritten(
    outcome: Outcome, path: Path, named_file: Path, dry_run: bool, writer: str
) -> NightView:
    memories = read_views(path, ids_in(result.proposal.sources for result in outcome.results))
    ended = "nothing to do" if outcome.last_run is None else "nothing more to do"
    if outcome.verdict != "done":
        ended = outcome.verdict
    if outcome.results or (dry_run and outcome.has_work):
        ended = "planned"
    return NightView(
        file=str(named_file),
        run=None,
        dry_run=dry_run,
        outcome=ended,
        writer=writer,
        before=None,
        after=None,
        usage=asdict(outcome.usage),
        proposals=[view_result(result, memories) for result in outcome.results],
    )


def _counts(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a run counted; None if it was killed, or is older than these counts."""
    counts = {name: part.get(name) for name in ("active", "superseded", "tokens")}
    layers = part.get("layers")
    by_layer = {
        layer: (layers if isinstance(layers, dict) else {}).get(layer, 0) for layer in LAYERS
    }
    if not all(isinstance(count, int) for count in (*counts.values(), *by_layer.values())):
        return None
    return {**counts, "layers": by_layer}


def _usage(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the usage of a model, as far as a run recorded it in numbers."""
    return {
        name: part[name] if isinstance(part.get(name), int | float) else default
        for name, default in asdict(Usage(cost_usd=None)).items()
    }
