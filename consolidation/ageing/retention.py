"""Rules that say how long memories are kept, and which of them counts for a memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from slowwave.consolidation.thresholds import EPHEMERAL_KEPT_H


@dataclass(frozen=True)
class Rule:
    """Keep the memories that it names for so long; without a kind and a layer it is a default."""

    tenant: str | None = None
    kind: str | None = None
    layer: str | None = None
    # None: for good.
    keep: timedelta | None = None

    @property
    def names(self) -> tuple[str | None, str | None, str | None]:
        """What it is about."""
        return self.tenant, self.kind, self.layer

    @property
    def text(self) -> str:
        """As the user writes it."""
        parts = [f"{name}={getattr(self, name)}" for name in ("tenant", "kind", "layer")]
        return ",".join([*(one for one in parts if not one.endswith("=None")), self.kept])

    @property
    def kept(self) -> str:
        """How long it keeps memories, as the user writes it."""
        return f"keep={'forever' if self.keep is None else duration_text(self.keep)}"


# What is noted for the moment is gone after a day, unless a rule for that layer says otherwise.
EPHEMERAL_RULE = Rule(layer="ephemeral", keep=timedelta(hours=EPHEMERAL_KEPT_H))


@dataclass(frozen=True)
class Retention:
    """The rules of a file and of its tenants; of the user's rules no two are about the same."""

    rules: tuple[Rule, ...] = ()

    @cached_property
    def _rules(self) -> dict[tuple[str | None, str | None, str | None], Rule]:
        return {one.names: one for one in (EPHEMERAL_RULE, *self.rules)}

    def rule_for(self, tenant: str, kind: str, layer: str) -> Rule | None:
        """Return the rule that counts: None if nothing ends.

        The tenant's rule, then the file's rule, then the tenant's default, then the file's. Of
        rules, one for both kind and layer comes before one for the layer, and that before one for
        the kind: a layer says how settled a memory is, and rules are mostly about that.
        """
        owners = (tenant, None)
        about = ((kind, layer), (None, layer), (kind, None))
        wanted = [(owner, *one) for owner in owners for one in about]
        wanted += [(owner, None, None) for owner in owners]
        return next((self._rules[one] for one in wanted if one in self._rules), None)


def duration_text(duration: timedelta) -> str:
    """Return a duration as it is written in rules, in the largest unit that fits."""
    hours = duration / timedelta(hours=1)
    return f"{hours / 24:g}d" if hours % 24 == 0 else f"{hours:g}h"
