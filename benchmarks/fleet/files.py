"""The files of a fleet, which every measurement copies, and checks of them after a night."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from fixtures.night import FLAVOURS, lines, load, with_duplicates
from slowwave.extensions.fleet.store.archive import Archive
from slowwave.store.check import check_file
from slowwave.store.exchange import import_lines
from slowwave.store.file import create_file, open_reading, open_writing

_NOW = datetime(2026, 3, 10, 3, 0, tzinfo=UTC)
# The keys of applied proposals, by file name.
Applied = dict[str, list[str]]


def make_files(folder: Path, count: int, memories: int) -> None:
    """Create files with memories of the three nights; with 48 each, texts repeat after 62 files."""
    new = folder.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    rows = [line.encode() for flavour in FLAVOURS for line in with_duplicates(lines(load(flavour)))]
    for number in range(count):
        path = new / f"agent-{number:06d}.db"
        create_file(path)
        lines_of_file = [rows[(number * memories + at) % len(rows)] for at in range(memories)]
        with open_writing(path) as file:
            import_lines(file, lines_of_file, _NOW)
    new.rename(folder)


def fresh_copy(files: Path, place: Path) -> Path:
    """Copy the files to a place, which is emptied before."""
    shutil.rmtree(place, ignore_errors=True)
    return Path(shutil.copytree(files, place))


def paths_in(folder: Path) -> list[Path]:
    """Return the memory files of a folder."""
    return sorted(folder.glob("*.db"))


def applied_in(folder: Path) -> Applied:
    """Return the keys of the proposals applied in each file, with repetitions."""
    sql = "SELECT key FROM proposals WHERE state = 'applied' ORDER BY key"
    return {path.name: _column(path, sql) for path in paths_in(folder)}


def faults_in(folder: Path, receipts: str) -> Iterator[str]:
    """Yield damage, proposals that were applied twice, and runs without a receipt."""
    runs_by_key = _runs(receipts)
    for path in paths_in(folder):
        with open_reading(path) as file:
            yield from (
                f"{path.name}: {problem.name}: {problem.detail}"
                for problem in check_file(file).problems
            )
        counts = Counter(_column(path, "SELECT key FROM proposals WHERE state = 'applied'"))
        twice = sum(count > 1 for count in counts.values())
        if twice:
            yield f"{path.name}: {twice} proposals were applied twice"
        runs = _column(path, "SELECT id FROM runs ORDER BY id")
        if sorted(runs_by_key.get(path.name, [])) != runs:
            yield f"{path.name}: its runs differ from those in its receipts"


def differences(applied: Applied, expected: Applied) -> Iterator[str]:
    """Yield the files in which other proposals were applied."""
    for name in sorted(applied.keys() | expected.keys()):
        if applied.get(name) != expected.get(name):
            yield f"{name}: the applied proposals differ from those of serial nights"


def _runs(receipts: str) -> dict[str, list[str]]:
    """Return the runs of each file, according to the receipts of all nights."""
    archive = Archive(receipts)
    runs: dict[str, list[str]] = {}
    for night in archive.nights():
        for receipt in archive.receipts(night):
            runs.setdefault(receipt.key, []).extend(receipt.runs)
    return runs


def _column(path: Path, sql: str) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return [row[0] for row in db.execute(sql)]
