"""The options of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .ageing.retention import Retention
from .proposals import OPERATIONS, Operation, Window

# Which proposals are queued for review: all, risky ones, or none.
Review = Literal["always", "risky", "never"]


@dataclass(frozen=True)
class CycleOptions:
    """The options of a run.

    What changes the plan must reach `PlanOptions`. `AskedOptions` (cli/arguments/night_options.py)
    and extensions/fleet/commands/maintain.py choose which options their runs have.
    """

    # If False, a run only does the other phases.
    consolidate: bool = True
    tenants: tuple[str, ...] = ()
    only: frozenset[Operation] = frozenset(OPERATIONS)
    include_protected: bool = False
    # Which proposals are queued for review.
    review: Review = "never"
    # Propose again what was rejected, declined or undone before.
    reconsider: bool = False
    # Ignore the findings of earlier runs.
    full: bool = False
    # Expire memories past their `expires_at` or a retention rule.
    expire: bool = False
    retention: Retention = field(default_factory=Retention)
    # Report decay scores.
    decay: bool = False
    # The maximum number of memories per tenant; more are archived. None: no limit.
    limit: int | None = None
    # Delete memories that were superseded long ago and are not needed.
    purge: bool = False
    # Ask the model in a dry run, too.
    ask: bool = False
    # The number of backups to keep, one of them made before the first change; None makes none.
    keep_backups: int | None = None
    # All options as given, for the record of the run.
    shown: Mapping[str, Any] = field(default_factory=dict)

    def without_new_texts(self) -> CycleOptions:
        """Return the options for a file of another agent that takes no new texts."""
        return replace(self, only=self.only.intersection(("merge",)))

    def of_plan(self, model_key: str | None) -> PlanOptions:
        """Return those that a plan depends on. model_key: as in `PlanOptions`."""
        return PlanOptions(model_key, only=self.only, include_protected=self.include_protected)


@dataclass(frozen=True)
class PlanOptions:
    """The options that a plan depends on."""

    # The hash of the model and its prompts; None without one.
    model_key: str | None = None
    # The (tenant, content hash) of each text that it was shown before.
    asked: frozenset[tuple[str, str]] = frozenset()
    only: frozenset[Operation] = frozenset(OPERATIONS)
    include_protected: bool = False
    # The keys of remembered decisions.
    remembered: frozenset[str] = frozenset()
    # The memories of each merge that was undone, declined or rejected.
    apart: tuple[frozenset[str], ...] = ()
    # The keys of pending proposals.
    pending: frozenset[str] = frozenset()
    # The windows answered earlier in this run; pairs across their cuts are shown again.
    answered: tuple[Window, ...] = ()

    @property
    def basis(self) -> tuple[Any, ...]:
        """What the marks of idle tenants depend on: they are invalid for other options."""
        return self.model_key, sorted(self.only), self.include_protected
