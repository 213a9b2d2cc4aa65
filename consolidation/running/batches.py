"""Proposals that are applied together: how many one transaction takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from slowwave.consolidation.proposals import Proposal
from slowwave.store.errors import FileHeld, StoreError, UnusableFile

# How many sources the proposals have that one transaction applies. One transaction a proposal had
# the disk take most of the time; with so many others wait for some 20 ms.
_AT_ONCE = 32

One = TypeVar("One")
Done = TypeVar("Done")


def batches(several: Sequence[One], proposal_of: Callable[[One], Proposal]) -> Iterator[list[One]]:
    """Split proposals into transactions that keep others waiting for a moment only.

    One that is larger by itself is not split: it is carried out whole or not at all.
    """
    part: list[One] = []
    size = 0
    for one in several:
        sources = len(proposal_of(one).sources)
        size += sources
        if part and size > _AT_ONCE:
            yield part
            part, size = [], sources
        part.append(one)
    if part:
        yield part


def apply_together(
    part: Sequence[One], apply: Callable[[Sequence[One]], Sequence[Done]]
) -> Iterator[Sequence[Done]]:
    """Apply some in one transaction, or each in its own if one of them cannot be written.

    Then what comes before that one can. apply: carries out one transaction, and gives what became
    of each. Raises `StoreError`.
    """
    try:
        done = apply(part)
    except (FileHeld, UnusableFile):
        raise  # every other write would wait as long, and fail in the same way
    except StoreError:
        if len(part) == 1:
            raise
    else:
        yield done
        return
    for one in part:
        yield apply([one])
