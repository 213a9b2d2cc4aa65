"""Count the functions and files of cli, consolidation and store that a night runs.

    python -m benchmarks.trip

Imports three similar memories, plans and runs a night, lists the memories and undoes the run, each
in a separate process, with the scripted model of the tests. Comprehensions and lambdas are not
counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

from benchmarks.quality.bench import ROOT
from benchmarks.scripted_model import scripted_model

_PACKAGES = ("cli", "consolidation", "store")
_MEMORIES = (
    "LeaseKeeper renews the job lock every 10 seconds, at most 360 times.",
    "LeaseKeeper renews the job lock every 10 seconds and logs it to /var/log/lease.log.",
    "LeaseKeeper renews the job lock every 10 seconds on worker-3.",
)
# The goal: code that an engineer can read in an afternoon.
_MAX_FUNCTIONS, _MAX_FILES = 400, 80
Function = tuple[str, int]


def main() -> None:
    """Print the numbers of functions and files of each command, and of all together."""
    if sys.argv[1:2] == ["--count"]:
        _count(Path(sys.argv[2]), sys.argv[3:])
    with TemporaryDirectory() as folder, scripted_model(0, 100) as model:
        memory_file, source = Path(folder, "memory.db"), Path(folder, "memories.jsonl")
        source.write_text("".join(f"{json.dumps({'content': text})}\n" for text in _MEMORIES))
        model_options = ("--model", "openai/scripted")
        commands: dict[str, tuple[object, ...]] = {
            "import": ("import", memory_file, source),
            "dry run": ("maintain", memory_file, "--dry-run"),
            "night": ("maintain", memory_file, *model_options),
            "list": ("list", memory_file),
            "undo": ("undo", memory_file),
        }
        variables = {"SLOWWAVE_API_BASE": model.base, "OPENAI_API_KEY": "none"}
        ran = {name: _run(words, Path(folder), variables) for name, words in commands.items()}
    ran["all"] = set().union(*ran.values())
    rows = {"": ("functions", "files")} | {
        name: (str(len(functions)), str(len({file for file, _ in functions})))
        for name, functions in ran.items()
    }
    rows["goal"] = (str(_MAX_FUNCTIONS), str(_MAX_FILES))
    for name, (functions, files) in rows.items():
        sys.stdout.write(f"{name:10}{functions:>9}{files:>7}\n")


def _run(words: tuple[object, ...], folder: Path, variables: dict[str, str]) -> set[Function]:
    counts = folder / "counts.json"
    command = [sys.executable, "-m", "benchmarks.trip", "--count", counts, *words]
    done = subprocess.run(  # noqa: S603 - our own
        list(map(str, command)),
        cwd=ROOT,
        env=os.environ | variables,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]} exited with {done.returncode}: {done.stderr}")
    return {(file, line) for file, line in json.loads(counts.read_text())}


def _count(counts: Path, words: list[str]) -> None:
    """Run a command, write the functions that it ran to `counts`, and exit."""
    ran: set[Function] = set()
    real_path = cache(os.path.realpath)
    folders = tuple(f"{ROOT / package}{os.sep}" for package in _PACKAGES)

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and not code.co_name.startswith("<"):
            path = real_path(code.co_filename)
            if path.startswith(folders):
                ran.add((path, code.co_firstlineno))

    threading.setprofile(profile)
    sys.setprofile(profile)
    from slowwave.cli.app import run

    code = run(words)
    sys.setprofile(None)
    counts.write_text(json.dumps(sorted(ran)))
    sys.exit(code)


if __name__ == "__main__":
    main()
