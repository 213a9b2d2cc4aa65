"""Does what is installed stand in the lock files, with that version? Asks nobody."""

from __future__ import annotations

import re
import sys
from importlib.metadata import distributions
from pathlib import Path

LOCKS = Path(__file__).parent
OURS = "slowwave"


def canonical(name: str) -> str:
    """Return a package's name as the index spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked() -> dict[str, str]:
    """Return the version of each package in the lock files."""
    names = ("base", "dev", "mcp", "tui", "fleet", "postgres", "torch", "cuda")
    texts = [(LOCKS / f"{name}.txt").read_text() for name in names]
    pins = re.findall(r"^([\w.-]+)==([^\s;\\]+)", "\n".join(texts), re.MULTILINE)
    return {canonical(name): version for name, version in pins}


def strangers() -> list[str]:
    """Return what is installed and is not locked so; torch's builds differ in a local version."""
    pins = locked()
    found = {(canonical(dist.metadata["Name"]), dist.version) for dist in distributions()}
    return sorted(
        f"{name}=={version}"
        for name, version in found
        if name != OURS and pins.get(name) != version.split("+")[0]
    )


if __name__ == "__main__":
    if unknown := strangers():
        sys.exit(f"Installed, and not in the lock files: {', '.join(unknown)}")
    print("All that is installed stands in the lock files.")  # noqa: T201 - its answer
