"""Optional dependencies."""

from __future__ import annotations


def install_hint(extra: str) -> str:
    """Return how to install an extra, as the end of a sentence.

    From a clone, because a package index may have another project under this name.
    """
    return f"in the clone of slowwave: pip install --require-hashes --no-deps -r locks/{extra}.txt"
