"""What earlier nights left for a person: what still waits, and what is outdated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slowwave.store.file import MemoryFile, open_reading, open_writing
from slowwave.store.ledger import decide_pending

from .preflight import Preflight
from .review_queue import read_outdated


@dataclass(frozen=True)
class SetAside:
    """A proposal that waited, and why it cannot be applied any more."""

    proposal: str
    why: str
    # Whether it is damaged; else its memories have changed.
    unreadable: bool = False


@dataclass(frozen=True)
class EarlierProposals:
    """What earlier nights left for a person."""

    # How many proposals can still be applied.
    waiting: int = 0
    # Those whose sources have changed, and those that are damaged.
    outdated: tuple[SetAside, ...] = ()


def find_earlier(path: Path, tenants: Sequence[str]) -> EarlierProposals:
    """Return what earlier nights left for a person; nothing is written.

    tenants: whose; () means all. Raises `StoreError`.
    """
    with open_reading(path) as file:
        return _earlier(file, tenants)


def set_aside_outdated(
    path: Path, tenants: Sequence[str], preflight: Preflight, now: str
) -> EarlierProposals:
    """Withdraw what is outdated of what `find_earlier` finds, and return all of it.

    No memory is changed, and the next look may propose the same anew: it is `stale`, which is not
    remembered as a decision. Raises `StoreError`.
    """
    found = find_earlier(path, tenants)
    if not found.outdated:
        return found
    preflight.check_and_back_up()
    with open_writing(path) as file, file.transaction():
        # An agent may have changed things since.
        found = _earlier(file, tenants)
        for one in found.outdated:
            decide_pending(file, one.proposal, "stale", now, one.why)
    return found


def _earlier(file: MemoryFile, tenants: Sequence[str]) -> EarlierProposals:
    waiting, outdated = read_outdated(file, tenants)
    aside = (SetAside(one.id, one.stale or "", one.kept.fault is not None) for one in outdated)
    return EarlierProposals(waiting, tuple(aside))
