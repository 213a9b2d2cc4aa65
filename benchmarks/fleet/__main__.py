"""A fleet's night done serially, by processes, on Ray, in shards and in a bucket, side by side.

    python -m benchmarks.fleet [--files 200] [--memories 48] [--folder PATH] [--without ray,bucket]

Each way begins with a copy of the same files. Ends with 1 if one of them applies other proposals.
Needs `slowwave[fleet]`, moto for the bucket, and ray for Ray; it prints a table for docs/fleets.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slowwave.store.exchange import import_lines
from slowwave.store.file import create_file, open_writing
from slowwave.store.fleet.archive import Archive

_FLAVOURS = ("assistant", "office", "lab")
_FIXTURE = Path(__file__).parents[2] / "fixtures" / "night.py"
_COMMAND = (sys.executable, "-m", "slowwave.cli")
_NOW = datetime(2026, 3, 10, 3, 0, tzinfo=UTC)
_RECEIPTS = ".slowwave-receipts"


def main() -> None:
    """Run all ways and print what they took."""
    chosen = _parser().parse_args()
    without = set(chosen.without.split(","))
    with tempfile.TemporaryDirectory(dir=chosen.folder) as place:
        folder = Path(place)
        files = make_files(folder / "files", chosen.files, chosen.memories)
        say(f"{files} files of {chosen.memories} memories, {os.cpu_count()} cores.")
        expected = serially(folder)
        same = True
        for way in _ways(folder, without):
            same &= way == expected
        say("All applied the same proposals." if same else "NOT all applied the same proposals.")
        sys.exit(not same)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet")
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--memories", type=int, default=48)
    parser.add_argument("--folder", type=Path, help="where the files lie meanwhile")
    parser.add_argument("--without", default="", help="some of processes,ray,shards,bucket")
    return parser


def make_files(folder: Path, count: int, memories: int) -> int:
    """Make files of so many memories of the three nights each; their texts repeat after 62."""
    folder.mkdir()
    lines = [line for flavour in _FLAVOURS for line in _flavour(flavour)]
    for number in range(count):
        path = folder / f"agent-{number:06d}.db"
        create_file(path)
        first = number * memories
        some = [lines[(first + at) % len(lines)] for at in range(memories)]
        with open_writing(path) as file:
            import_lines(file, some, _NOW)
    return count


def _flavour(name: str) -> list[bytes]:
    ended = subprocess.run([sys.executable, _FIXTURE, name], capture_output=True, check=True)  # noqa: S603 - our own
    return ended.stdout.splitlines()


def serially(folder: Path) -> dict[str, list[str]]:
    """Do the night of each file by `slowwave maintain` with all of them in one process."""
    place = copied(folder, "serially")
    paths = sorted(place.glob("*.db"))
    took = measured(["maintain", *map(str, paths), "--consolidate", "--quiet"])
    again = measured(["maintain", *map(str, paths), "--consolidate", "--quiet"])
    tell("serially, maintain FILE...", len(paths), took, again)
    return applied(place)


def _ways(folder: Path, without: set[str]) -> Iterator[dict[str, list[str]]]:
    yield fleet(folder, "one worker", ["--workers", "1"])
    if "processes" not in without:
        yield fleet(folder, "two processes", ["--workers", "2"])
    if "shards" not in without:
        yield shards(folder)
    if "ray" not in without:
        yield fleet(folder, "Ray, two workers", ["--workers", "2", "--engine", "ray"])
    if "bucket" not in without:
        with s3() as (address, put, get):
            yield bucket(folder, address, put, get)


def fleet(folder: Path, way: str, options: list[str]) -> dict[str, list[str]]:
    """Do the nights of a folder."""
    place = copied(folder, way.replace(" ", "-").replace(",", ""))
    command = ["fleet", "maintain", str(place), "--consolidate", "--json", *options]
    took, again = measured(command), measured(command)
    tell(way, len(list(place.glob("*.db"))), took, again)
    refuse_other_receipts(place)
    return applied(place)


def shards(folder: Path) -> dict[str, list[str]]:
    """Do them in two shards, side by side."""
    place = copied(folder, "shards")
    command = ["fleet", "maintain", str(place), "--consolidate", "--workers", "1", "--json"]
    began, before = time.monotonic(), _processor()
    running = [
        subprocess.Popen([*_COMMAND, *command, "--shard", f"{at}/2"], stdout=subprocess.DEVNULL)  # noqa: S603 - our own
        for at in range(2)
    ]
    codes = [one.wait() for one in running]
    took = time.monotonic() - began, _processor() - before, {"codes": codes}
    tell("two shards", len(list(place.glob("*.db"))), took, None)
    refuse_other_receipts(place)
    return applied(place)


def bucket(
    folder: Path, address: str, put: Callable[[Path], None], get: Callable[[Path], None]
) -> dict[str, list[str]]:
    """Do them in a bucket on loopback."""
    paths = sorted((folder / "files").glob("*.db"))
    for path in paths:
        put(path)
    command = ["fleet", "maintain", address, "--consolidate", "--workers", "1", "--json"]
    took, again = measured(command), measured(command)
    tell("bucket on loopback, one worker", len(paths), took, again)
    place = copied(folder, "bucket")
    for path in place.glob("*.db"):
        get(path)
    return applied(place)


@contextmanager
def s3() -> Iterator[tuple[str, Callable[[Path], None], Callable[[Path], None]]]:
    """Provide a bucket of moto's: its address, and how files get there and back."""
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "5599"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.environ |= {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:5599",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }
    from urllib.error import URLError
    from urllib.request import Request, urlopen

    from slowwave.store.fleet.object_store import Objects

    try:
        for _ in range(100):
            try:
                urlopen(Request("http://127.0.0.1:5599/fleet", method="PUT"))
                break
            except URLError:
                time.sleep(0.2)
        objects = Objects("s3://fleet")
        yield (
            "s3://fleet",
            lambda path: objects.write(path.name, path.read_bytes()),
            lambda path: _got(objects, path),
        )
    finally:
        server.terminate()
        server.wait()


def _got(objects: Any, path: Path) -> None:
    path.write_bytes(objects.read(path.name))


Took = tuple[float, float, dict[str, Any]]


def measured(arguments: list[str]) -> Took:
    """Run a command, and return seconds by the clock, of the processor, and what it says."""
    began, before = time.monotonic(), _processor()
    ended = subprocess.run([*_COMMAND, *arguments], capture_output=True, text=True, check=False)  # noqa: S603 - our own
    if ended.returncode:
        sys.exit(f"{' '.join(arguments[:2])} ended with {ended.returncode}: {ended.stderr}")
    said = json.loads(ended.stdout) if ended.stdout.startswith("{") else {}
    return time.monotonic() - began, _processor() - before, said


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tell(way: str, files: int, first: Took, second: Took | None) -> None:
    """Print a row of the table."""
    cells = [way, f"{first[0]:.1f}", f"{first[1]:.1f}", f"{1000 * first[1] / files:.0f}"]
    if second is not None:
        cells += [f"{second[0]:.1f}", f"{second[1]:.1f}", f"{1000 * second[1] / files:.1f}"]
        cells.append(str(second[2].get("became", "")))
    say(f"| {' | '.join(cells)} |")


def say(line: str) -> None:
    """Write a line at once: the whole takes a while."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def copied(folder: Path, name: str) -> Path:
    """Copy the files as they were made."""
    return Path(shutil.copytree(folder / "files", folder / name))


def applied(folder: Path) -> dict[str, list[str]]:
    """Return the proposals that were applied in each file."""
    return {path.name: _keys(path) for path in sorted(folder.glob("*.db"))}


def _keys(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        sql = "SELECT key FROM proposals WHERE state = 'applied' ORDER BY key"
        return [row[0] for row in db.execute(sql)]


def refuse_other_receipts(place: Path) -> None:
    """End if the receipts tell other runs than the files hold."""
    archive = Archive(str(place / _RECEIPTS))
    told: dict[str, list[str]] = {}
    for night in archive.nights():
        for one in archive.receipts(night):
            told.setdefault(one.key, []).extend(one.runs)
    for path in place.glob("*.db"):
        with closing(sqlite3.connect(path)) as db:
            runs = [row[0] for row in db.execute("SELECT id FROM runs ORDER BY id")]
        if sorted(told.get(path.name, [])) != runs:
            sys.exit(f"{path.name} has other runs than its receipts tell.")


if __name__ == "__main__":
    main()
