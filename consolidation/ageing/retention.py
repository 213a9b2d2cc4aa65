"""Retention rules, and which one applies to a memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from slowwave.consolidation.thresholds import EPHEMERAL_KEPT_H


@dataclass(frozen=True)
class Rule:
    """How long to keep matching memories; a rule without kind and layer is a default."""

    tenant: str | None = None
    kind: str | None = None
    layer: str | None = None
    # None: forever.
    keep: timedelta | None = None

    @property
    def names(self) -> tuple[str | None, str | None, str | None]:
        """The tenant, kind and layer that it matches."""
        return self.tenant, self.kind, self.layer

    @property
    def text(self) -> str:
        """The rule as the user writes it."""
        values = dict(zip(("tenant", "kind", "layer"), self.names, strict=True))
        values["keep"] = "forever" if self.keep is None else duration_text(self.keep)
        return ",".join(f"{name}={value}" for name, value in values.items() if value is not None)


# Ephemeral memories expire after a day, unless a rule for that layer overrides it.
EPHEMERAL_RULE = Rule(layer="ephemeral", keep=timedelta(hours=EPHEMERAL_KEPT_H))


@dataclass(frozen=True)
class Retention:
    """The rules of a file and of its tenants; no two of the user's rules match the same."""

    rules: tuple[Rule, ...] = ()

    @cached_property
    def _rules(self) -> dict[tuple[str | None, str | None, str | None], Rule]:
        return {rule.names: rule for rule in (EPHEMERAL_RULE, *self.rules)}

    def rule_for(self, tenant: str, kind: str, layer: str) -> Rule | None:
        """Return the rule that applies; None if none does.

        In order: the tenant's rule, the file's rule, the tenant's default, the file's default. A
        rule for kind and layer precedes one for the layer, and that one for the kind.
        """
        owners = (tenant, None)
        about = ((kind, layer), (None, layer), (kind, None))
        candidates = [(owner, *names) for owner in owners for names in about]
        candidates += [(owner, None, None) for owner in owners]
        return next((self._rules[names] for names in candidates if names in self._rules), None)


def duration_text(duration: timedelta) -> str:
    """Return a duration as rules write it, in days or hours."""
    hours = duration / timedelta(hours=1)
    return f"{hours / 24:g}d" if hours % 24 == 0 else f"{hours:g}h"
