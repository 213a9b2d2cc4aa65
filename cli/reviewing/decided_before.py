"""What became of a proposal that waits no more, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slowwave.cli.terminal.wording import day_of

if TYPE_CHECKING:
    from slowwave.store.ledger import Decision

_RECONSIDER = "'slowwave maintain FILE --reconsider' proposes it again."
_ANEW = "The next night looks at its memories anew."
# What became of it, and what can be done, by the state that it is in.
_BECAME = {
    "approved": ("was applied", "'slowwave undo FILE {id}' takes it back."),
    "applied": ("was applied", "'slowwave undo FILE {id}' takes it back."),
    "declined": ("was declined", _RECONSIDER),
    "rejected": ("was rejected", _RECONSIDER),
    "undone": ("was taken back", _RECONSIDER),
    "stale": ("was set aside", _ANEW),
    "failed": ("failed", _ANEW),
    "skipped": ("was left out", _ANEW),
}


def what_became(decision: Decision) -> tuple[str, str]:
    """Return what was decided about a proposal and when, and what can be done about it."""
    became, hint = _BECAME.get(decision.state, (f"is {decision.state}", ""))
    short = decision.key[:8]
    # Of what was applied it says why that waited.
    is_done = decision.state in ("approved", "applied")
    why = f" ({decision.why})" if decision.why and not is_done else ""
    said = f"Proposal {short} {became} on {day_of(decision.decided_at)}{why}."
    return said, hint.format(id=short)
