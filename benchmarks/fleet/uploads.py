"""An agent puts its object while the night has it: nothing of what it put is lost."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from slowwave.extensions.fleet.store.archive import Archive
from slowwave.extensions.fleet.store.object_store import Changed
from slowwave.store.exchange import import_lines
from slowwave.store.file import checkpoint_log, open_writing

from .bucket import Bucket, bucket
from .commands import measured
from .files import faults_in, paths_in
from .trial import Found, Trial, command

UPLOADS = 100
_NOW = datetime(2026, 3, 11, 12, 0, tzinfo=UTC)


def between(trial: Trial) -> Found:
    """Put so many objects anew, each as soon as the night has got it."""
    paths = paths_in(trial.files)
    wanted = min(UPLOADS, len(paths))
    with bucket("uploads") as there:
        there.fill(paths)
        agent = _Agent(there, _changed(trial, paths), wanted)
        there.on_get = agent.put
        ended = measured(command(there.address, "--workers", "2"), (0, 1, 3))
        place = there.copied_to(trial.folder / "uploads", [path.name for path in paths])
        faults = list(faults_in(place, there.receipts))
        tries = _tries(there.receipts)
    lost = [name for name in agent.put_between if _news(name) not in _texts(place / name)]
    faults += [f"{name}: what its agent put is lost" for name in lost]
    if len(agent.put_between) < wanted:
        faults.append(f"only {len(agent.put_between)} uploads came between get and put")
    if tries[2] + tries[3] < len(agent.put_between):
        faults.append(f"only {tries[2] + tries[3]} files were taken again")
    figures = {
        "uploads between get and put": len(agent.put_between),
        "uploads after the put": agent.refused,
        "lost": len(lost),
        "files taken twice": tries[2],
        "became": ended.said["became"],
    }
    return Found(figures, faults)


def _tries(receipts: str) -> Counter[int]:
    archive = Archive(receipts)
    return Counter(
        receipt.tries for night in archive.nights() for receipt in archive.receipts(night)
    )


class _Agent:
    """Who puts each object once, over what it has put itself, until enough came in between."""

    def __init__(self, there: Bucket, changed: dict[str, Path], wanted: int) -> None:
        self._there = there
        self._changed = changed
        self._wanted = wanted
        self._versions = {item.key: item.version for item in there.objects.list()}
        self.put_between: list[str] = []
        self.refused = 0

    def put(self, key: str) -> None:
        """Put an object anew, as the night gets it."""
        if len(self.put_between) == self._wanted or key not in self._changed:
            return
        path = self._changed.pop(key)
        try:
            self._there.objects.replace(key, path, self._versions[key])
            self.put_between.append(key)
        except Changed:
            self.refused += 1


def _news(name: str) -> str:
    return f"The door code of {name.removesuffix('.db')} is {4000 + len(name)}."


def _changed(trial: Trial, paths: list[Path]) -> dict[str, Path]:
    """Make what the agent is going to put: its file with one memory more."""
    folder = trial.folder / "to-upload"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path in paths:
        changed = Path(shutil.copy(path, folder))
        with open_writing(changed) as file:
            import_lines(file, [json.dumps({"content": _news(path.name)}).encode()], _NOW)
        checkpoint_log(changed)
    return {path.name: folder / path.name for path in paths}


def _texts(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as db:
        return {row[0] for row in db.execute("SELECT content FROM memories")}
