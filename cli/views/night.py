"""A run with its proposals, as the log and a report show it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.consolidation.proposals import Usage
from slowwave.store.file import open_reading
from slowwave.store.ledger import Decision, Run, read_applied_approvals, read_decisions
from slowwave.store.lineage import read_run_claims
from slowwave.store.purge import forgotten_since
from slowwave.store.records import LAYERS

from .memory import ids_in, read_views
from .proposal import ProposalView, decision_as_json, view_decision
from .run import effects_of, named_or_last_run, recorded, run_as_json, started

if TYPE_CHECKING:
    from slowwave.store.changes import TextChange


@dataclass(frozen=True)
class NightView:
    """A run and what it did."""

    # The path or address that the user specified.
    file: str
    run: Run
    writer: str
    # Counts by name, with those of `layers`; None if the run was killed.
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    # The fields of `Usage`.
    usage: Mapping[str, Any]
    proposals: Sequence[ProposalView]
    # The rows of the ledger, in the order of the proposals.
    decisions: Sequence[Decision]
    # The texts that it changed.
    changes: Sequence[TextChange]
    # What it did besides applying proposals and what became of that, a sentence each.
    effects: Sequence[str]
    # The memories that it deactivated and that are active now, and when others were forgotten.
    active_again: Sequence[str]
    forgotten_at: str | None

    @property
    def states(self) -> Counter[str]:
        """The number of proposals by state."""
        return Counter(proposal.state for proposal in self.proposals)

    @property
    def started(self) -> str:
        """When the run began, to the minute."""
        return started(self.run)[:16]

    @property
    def has_applied(self) -> bool:
        """Whether the run can be undone."""
        return self.states["applied"] > 0

    def as_json(self) -> dict[str, Any]:
        """Return the run with its proposals as format 1."""
        return {
            "run": run_as_json(self.run),
            "proposals": [
                decision_as_json(proposal, decision)
                for proposal, decision in zip(self.proposals, self.decisions, strict=True)
            ],
            "active_again": self.active_again,
            "forgotten_at": self.forgotten_at,
        }


def read_night(path: Path, named_file: Path, prefix: str | None) -> NightView:
    """Return a past run, the last one if none is named.

    named_file: the file as the user names it. Raises `StoreError`.
    """
    from slowwave.store.changes import reactivated, read_changes

    with open_reading(path) as file:
        run = named_or_last_run(file, prefix)
        decisions = read_decisions(file, run.id)
        applied = read_applied_approvals(file, run.id)
        changes = read_changes(file, run.id)
        claims = read_run_claims(file, run.id)
        active_again, forgotten_at = reactivated(file, run.id), forgotten_since(file, run.id)
    changes_by_key: dict[str, list[TextChange]] = defaultdict(list)
    for change in changes:
        changes_by_key[change.proposal].append(change)
    memories = read_views(path, ids_in(decision.sources for decision in decisions))
    return NightView(
        file=str(named_file),
        run=run,
        writer=str(run.options.get("model") or "none"),
        before=_counts(recorded(run, "before")),
        after=_counts(recorded(run, "after")),
        usage=_usage(recorded(run, "model")),
        proposals=[
            view_decision(
                decision,
                memories,
                changes=changes_by_key[decision.key],
                claims=claims.get(decision.key, ()),
                applied=applied.get(decision.key),
            )
            for decision in decisions
        ],
        decisions=decisions,
        changes=changes,
        effects=list(effects_of(run, active_again, forgotten_at)),
        active_again=active_again,
        forgotten_at=forgotten_at,
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
