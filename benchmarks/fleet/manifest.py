"""Measure writing and reading the receipts of many files, and comparing a listing with them.

python -m benchmarks.fleet.manifest [--files 1000000]
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from slowwave.extensions.fleet.store.archive import Archive, Shard
from slowwave.extensions.fleet.store.receipt import Known, unchanged
from slowwave.extensions.fleet.store.sources import source_of

_NOW = datetime(2026, 3, 10, 3, 0, tzinfo=UTC)
_BASIS = "a" * 64
# The number of real files to list.
_LISTED = 20_000


def main() -> None:
    """Print a line for each step."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet.manifest")
    parser.add_argument("--files", type=int, default=1_000_000)
    files = parser.parse_args().files
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        archive = Archive(f"{folder}/receipts")
        writer = archive.begin(_NOW, Shard())
        for number in range(files):
            known = Known(f"{number:x}-{number * 7919:x}", _BASIS, None, f"{number:036x}", 48, 800)
            writer.add(unchanged(f"team-{number % 97}/agent-{number}.db", known, "2026-03-10"))
        writer.end(_NOW, True, source="all")
        _print_step("writing the receipts", files, time.process_time() - start)
        size = sum(path.stat().st_size for path in Path(folder).rglob("*.jsonl.gz"))
        _print(f"size: {size / files:.0f} bytes per file")
        start = time.process_time()
        keys = (f"team-{number % 97}/agent-{number}.db" for number in range(files))
        known_files, _ = Archive(f"{folder}/receipts").manifest(keys, frozenset(["all"]))
        _print_step("reading the receipts", files, time.process_time() - start)
        start = time.process_time()
        current = sum(
            file.is_current(file.version, _BASIS, "2026") for file in known_files.values()
        )
        _print_step("comparing", current, time.process_time() - start)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        _print(f"maximum memory: {peak:.0f} MiB")
        files_folder = Path(folder) / "files"
        files_folder.mkdir()
        for number in range(_LISTED):
            (files_folder / f"agent-{number}.db").touch()
        start = time.process_time()
        listed = sum(1 for _ in source_of(str(files_folder)).listing())
        _print_step("listing a folder", listed, time.process_time() - start)


def _print_step(name: str, count: int, seconds: float) -> None:
    _print(f"{name}: {seconds:.1f} s of processor time, {1e6 * seconds / count:.0f} us per file")


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
