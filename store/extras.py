"""What slowwave needs beside itself for some of its commands, and where that is had from."""

from __future__ import annotations


def install_hint(extra: str) -> str:
    """Return how an extra is installed, as the end of a sentence.

    From a clone: what an index has under this name may be somebody else's.
    """
    return f"in the clone of slowwave: pip install -c constraints.txt '.[{extra}]'"
