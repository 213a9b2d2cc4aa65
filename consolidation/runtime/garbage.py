"""Python's search for garbage, left out while there is none to be found."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Let nobody look for garbage as long as the block lasts.

    What a night reads stays until it ends: to go through it again and again took a third of the
    processor time of a look at 10,000 memories. What nobody refers to any more goes all the same.
    Nor is it gone through afterwards: of 100,000 memories that took seconds each time.
    """
    was_on = gc.isenabled()
    gc.disable()
    gc.unfreeze()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()
