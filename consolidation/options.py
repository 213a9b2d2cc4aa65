"""What the user chose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .ageing.retention import Retention
from .proposals import OPERATIONS, Operation, Window

# Which proposals wait for a person: all, those in which more can be wrong, or none.
Review = Literal["always", "risky", "never"]
# What can be done in another agent's file that takes no new texts.
_WITHOUT_NEW_TEXTS: frozenset[Operation] = frozenset({"merge"})


@dataclass(frozen=True)
class CycleOptions:
    """What the user chose."""

    # Without it a run may still do the other phases.
    consolidate: bool = True
    tenants: tuple[str, ...] = ()
    only: frozenset[Operation] = frozenset(OPERATIONS)
    include_protected: bool = False
    # Proposals that are not to be made, by their ids: recall would fall.
    excluded: frozenset[str] = frozenset()
    # Of the plan only these proposals, by their ids: somebody approved them; None: all of them.
    approved: frozenset[str] | None = None
    # Which proposals are not applied but kept, until a person has seen them.
    review: Review = "never"
    # Propose again what was rejected, declined or undone before.
    reconsider: bool = False
    # Look at everything anew, whatever earlier runs found out.
    full: bool = False
    # Expire memories whose time is over, by their own date or by a rule.
    expire: bool = False
    retention: Retention = field(default_factory=Retention)
    # Tell how much of the memories is left.
    decay: bool = False
    # How many memories a tenant may have; what is above that is archived. None: any number.
    limit: int | None = None
    # Delete what has been superseded for long and is not needed any more.
    purge: bool = False
    # In a dry run: ask the model all the same.
    ask: bool = False
    # How many backups are kept, with a new one made before the first change; None: none is made.
    keep_backups: int | None = None
    # All options as given, for the record of the run.
    shown: Mapping[str, Any] = field(default_factory=dict)

    def without_new_texts(self) -> CycleOptions:
        """Return the options for a file that takes no new texts: what writes none is left."""
        return replace(self, only=self.only & _WITHOUT_NEW_TEXTS)


@dataclass(frozen=True)
class PlanOptions:
    """What a plan depends on besides the file."""

    # The hash of the model and of its instructions; None without one.
    model_key: str | None = None
    # The (tenant, content hash) of each text that it was shown before.
    asked: frozenset[tuple[str, str]] = frozenset()
    only: frozenset[Operation] = frozenset(OPERATIONS)
    include_protected: bool = False
    # Proposals that are not to be made this time.
    excluded: frozenset[str] = frozenset()
    # The keys of decisions that hold.
    remembered: frozenset[str] = frozenset()
    # Those of proposals that wait for a person.
    waiting: frozenset[str] = frozenset()
    # The windows answered earlier in this run: what lies across their cuts is shown once more.
    answered: tuple[Window, ...] = ()
