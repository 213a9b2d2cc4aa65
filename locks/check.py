"""Check offline that each installed package is in the lock files, with its version."""

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


def unlocked() -> list[str]:
    """Return the installed packages that the lock files lack, or have in another version.

    The local version that names a build of torch is ignored.
    """
    pins = locked()
    installed = {(canonical(dist.metadata["Name"]), dist.version) for dist in distributions()}
    return sorted(
        f"{name}=={version}"
        for name, version in installed
        if name != OURS and pins.get(name) != version.split("+")[0]
    )


if __name__ == "__main__":
    if unknown := unlocked():
        sys.exit(f"Installed, but not in the lock files: {', '.join(unknown)}")
    print("All installed packages are in the lock files.")  # noqa: T201 - its answer
