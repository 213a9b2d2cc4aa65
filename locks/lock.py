"""Regenerate the lock files from pyproject.toml and constraints.txt: python locks/lock.py UV.

UV is the path of uv. The lock files contain the hash of each file of a release, for every platform
and Python version, so that a clone elsewhere installs exactly what was tested here.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

LOCKS = Path(__file__).parent
PROJECT = LOCKS.parent
# Gigabytes of packages that only torch's CUDA build requires.
CUDA = re.compile(r"(nvidia-|cuda-|triton==)")
# torch's CPU builds, which the public index does not have.
CPU_BUILDS = (
    # cp311, manylinux_2_28_x86_64
    "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",
)
# The optional extras; no package may be in two of them.
EXTRAS = ("mcp", "tui", "fleet", "postgres")
_OPTIONS = ("--universal", "--python-version=3.11", "--generate-hashes", "--no-annotate")
_QUIET = ("--no-header", "--quiet")


def resolved(uv: str, *sources: str) -> list[str]:
    """Return a block of lines for each package."""
    process = subprocess.run(  # noqa: S603 - the program that was passed
        [uv, "pip", "compile", *_OPTIONS, *_QUIET, *sources],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    return re.split(r"\n(?=\w)", process.stdout.strip())


def name_of(block: str) -> str:
    """Return the package of a block."""
    return block.partition("==")[0]


def write(name: str, what: str, blocks: list[str]) -> None:
    """Write a lock file."""
    head = f"# {what} Made by locks/lock.py.\n"
    (LOCKS / name).write_text(head + "".join(f"{block}\n" for block in blocks))


def main(uv: str) -> None:
    """Write all of them."""
    project = ("pyproject.toml", "--constraint=constraints.txt")
    blocks = resolved(uv, *project, "--extra=dev")
    plain = set(map(name_of, resolved(uv, *project)))
    extras = {
        extra: {name_of(line) for line in resolved(uv, *project, f"--extra={extra}")} - plain
        for extra in EXTRAS
    }
    cuda = [block for block in blocks if CUDA.match(block)]
    (torch,) = (block for block in blocks if block.startswith("torch=="))
    without_cuda = [block for block in blocks if block != torch and block not in cuda]
    write(
        "base.txt",
        "What slowwave requires, except torch.",
        [block for block in without_cuda if name_of(block) in plain],
    )
    of_extras = plain.union(*extras.values())
    write(
        "dev.txt",
        "What development adds to all extras.",
        [block for block in without_cuda if name_of(block) not in of_extras],
    )
    for extra, names in extras.items():
        of_extra = [block for block in without_cuda if name_of(block) in names]
        write(f"{extra}.txt", f"What slowwave[{extra}] adds to base.txt.", of_extra)
    pinned = set(map(name_of, blocks))
    ray = [line for line in resolved(uv, *project, "--extra=ray") if name_of(line) not in pinned]
    write("ray.txt", "What slowwave[ray] adds to all others.", ray)
    version = torch.split()[0]
    hashes = "".join(f" \\\n    --hash=sha256:{digest}" for digest in CPU_BUILDS)
    write("cpu.txt", "torch: the CPU build.", [f"{version}+cpu{hashes}"])
    write("torch.txt", "torch: the builds of the public index.", [torch])
    write("cuda.txt", "What torch's CUDA build requires.", cuda)
    write("audit.txt", "What make audit runs.", resolved(uv, "locks/audit.in"))


if __name__ == "__main__":
    main(sys.argv[1])
