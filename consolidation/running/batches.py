"""Split proposals into transactions, and apply each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from slowwave.consolidation.proposals import Proposal
from slowwave.store.errors import FileHeld, StoreError, UnusableFile

# The maximum number of sources per transaction. With a transaction per proposal the disk takes most
# of the time; with this many, other writers wait for about 20 ms.
_MAX_SOURCES = 32

Item = TypeVar("Item")
Done = TypeVar("Done")


def batches(items: Sequence[Item], proposal_of: Callable[[Item], Proposal]) -> Iterator[list[Item]]:
    """Split proposals into short transactions; a proposal is never split."""
    part: list[Item] = []
    size = 0
    for item in items:
        sources = len(proposal_of(item).sources)
        size += sources
        if part and size > _MAX_SOURCES:
            yield part
            part, size = [], sources
        part.append(item)
    if part:
        yield part


def apply_together(
    part: Sequence[Item], apply: Callable[[Sequence[Item]], Sequence[Done]]
) -> Iterator[Sequence[Done]]:
    """Apply a batch in one transaction, or each item in its own if that fails.

    apply: runs one transaction and returns the results. Raises `StoreError` at the first item that
    cannot be written; the items before it are applied.
    """
    try:
        done = apply(part)
    except (FileHeld, UnusableFile):
        raise  # every other write would fail in the same way
    except StoreError:
        if len(part) == 1:
            raise
    else:
        yield done
        return
    for item in part:
        yield apply([item])
