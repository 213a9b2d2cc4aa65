"""What the receipts of many files cost the next night: written, read, and a listing compared.

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
# Files that are really there, to list.
_LISTED = 20_000


def main() -> None:
    """Measure, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet.manifest")
    parser.add_argument("--files", type=int, default=1_000_000)
    files = parser.parse_args().files
    with tempfile.TemporaryDirectory() as place:
        began = time.process_time()
        archive = Archive(f"{place}/receipts")
        writer = archive.begin(_NOW, Shard())
        for number in range(files):
            known = Known(f"{number:x}-{number * 7919:x}", _BASIS, None, f"{number:036x}", 48, 800)
            writer.add(unchanged(f"team-{number % 97}/agent-{number}.db", known, "2026-03-10"))
        writer.end(_NOW, True, source="all")
        say("writing the receipts", files, time.process_time() - began)
        size = sum(item.stat().st_size for item in Path(place).rglob("*.jsonl.gz"))
        say_line(f"they take {size / files:.0f} bytes a file")
        began = time.process_time()
        keys = (f"team-{number % 97}/agent-{number}.db" for number in range(files))
        known_files, _ = Archive(f"{place}/receipts").manifest(keys, frozenset(["all"]))
        say("reading them", files, time.process_time() - began)
        began = time.process_time()
        current = sum(
            file.is_current(file.version, _BASIS, "2026") for file in known_files.values()
        )
        say("comparing", current, time.process_time() - began)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        say_line(f"maximum memory: {most:.0f} MiB")
        folder = Path(place) / "files"
        folder.mkdir()
        for number in range(_LISTED):
            (folder / f"agent-{number}.db").touch()
        began = time.process_time()
        listed = sum(1 for _ in source_of(str(folder)).listing())
        say("listing a folder", listed, time.process_time() - began)


def say(what: str, count: int, seconds: float) -> None:
    """Print what it took."""
    say_line(f"{what}: {seconds:.1f} s of processor time, {1e6 * seconds / count:.0f} us a file")


def say_line(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
