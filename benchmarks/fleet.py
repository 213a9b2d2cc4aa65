"""The time of the nights of many files: by `slowwave maintain` of all of them, and as a fleet.

    python -m benchmarks.fleet [--files 200] [--memories 48] [--rounds 2]

Each night runs on a copy of the same files, and a second one right after it, which opens no file of
a fleet. The round with the least processor time counts, since other programs only add to it.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from fixtures.night import FLAVOURS, lines, load, with_duplicates
from slowwave.store.exchange import import_lines
from slowwave.store.file import create_file, open_writing

from .quality.bench import Json, make_parser
from .speed.machine import BUILD, about, slowwave

_NOW = datetime(2026, 3, 10, 3, 0, tzinfo=UTC)
_FOLDER = BUILD / "fleet"
_COMMANDS: dict[str, Callable[[Path], Sequence[str | Path]]] = {
    "slowwave maintain FILE...": lambda folder: ("maintain", *sorted(folder.glob("*.db"))),
    "a fleet, one worker": lambda folder: ("fleet", "maintain", folder, "--workers", "1"),
    "a fleet, two workers": lambda folder: ("fleet", "maintain", folder, "--workers", "2"),
}


def main() -> None:
    """Print the times per file of each command."""
    parser = make_parser("benchmarks.fleet", __doc__)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--memories", type=int, default=48, help="number of memories per file")
    parser.add_argument("--rounds", type=int, default=2, help="number of measurements per figure")
    args = parser.parse_args()
    sys.stdout.write(f"{about()}\n{args.files} files of {args.memories} memories\n")
    files = _FOLDER / "files"
    shutil.rmtree(_FOLDER, ignore_errors=True)
    _make_files(files, args.files, args.memories)
    for name, command in _COMMANDS.items():
        nights = [_two_nights(files, command) for _ in range(args.rounds)]
        figures = (_per_file(rounds, args.files) for rounds in zip(*nights, strict=True))
        sys.stdout.write(f"{name}: {'; the next night '.join(figures)}\n")
    shutil.rmtree(_FOLDER)


def _make_files(folder: Path, count: int, memories: int) -> None:
    """Create files with memories of the three nights; with 48 each, texts repeat after 62 files."""
    folder.mkdir(parents=True)
    rows = [line.encode() for flavour in FLAVOURS for line in with_duplicates(lines(load(flavour)))]
    for number in range(count):
        path = folder / f"agent-{number:06d}.db"
        create_file(path)
        first = number * memories
        with open_writing(path) as file:
            import_lines(file, [rows[(first + n) % len(rows)] for n in range(memories)], _NOW)


def _two_nights(files: Path, command: Callable[[Path], Sequence[str | Path]]) -> tuple[Json, Json]:
    """Run a command twice on a new copy of the files."""
    copy = _FOLDER / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(files, copy)
    words = command(copy)
    return slowwave(*words, "--quiet"), slowwave(*words, "--quiet")


def _per_file(rounds: Sequence[Json], files: int) -> str:
    best = min(rounds, key=lambda figures: float(figures["processor"]))
    processor, seconds = (1_000 * best[key] / files for key in ("processor", "seconds"))
    return f"{processor:.0f} ms of processor time per file, {seconds:.0f} ms of wall clock"


if __name__ == "__main__":
    main()
