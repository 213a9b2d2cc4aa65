"""Proposals that wait for review and can no longer be applied: set aside, so nobody is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slowwave.store.file import MemoryFile, open_reading, open_writing
from slowwave.store.ledger import decide_waiting

from .preflight import Preflight
from .review_queue import read_outdated


@dataclass(frozen=True)
class SetAside:
    """A proposal that waited, and why it cannot be applied any more."""

    proposal: str
    why: str


def find_outdated(path: Path, tenants: Sequence[str]) -> tuple[SetAside, ...]:
    """Return what waits for a person although its sources have changed; nothing is written.

    tenants: whose; () means all. Raises `StoreError`.
    """
    with open_reading(path) as file:
        return _outdated(file, tenants)


def set_aside_outdated(
    path: Path, tenants: Sequence[str], preflight: Preflight, now: str
) -> tuple[SetAside, ...]:
    """Withdraw the waiting proposals that `find_outdated` finds. Raises `StoreError`.

    No memory is changed, and the next look may propose the same anew: it is `stale`, which is not
    remembered as a decision.
    """
    if not find_outdated(path, tenants):
        return ()
    preflight.check_and_back_up()
    with open_writing(path) as file, file.transaction():
        # An agent may have changed things since.
        found = _outdated(file, tenants)
        for one in found:
            decide_waiting(file, one.proposal, "stale", now, one.why)
    return found


def _outdated(file: MemoryFile, tenants: Sequence[str]) -> tuple[SetAside, ...]:
    return tuple(SetAside(one.id, one.stale or "") for one in read_outdated(file, tenants))
