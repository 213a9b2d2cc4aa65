"""Agents replace their objects during a night: none of their changes may be lost."""

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
from .commands import measure
from .files import faults_in, paths_in
from .trial import Result, Trial, command

UPLOADS = 100
_NOW = datetime(2026, 3, 11, 12, 0, tzinfo=UTC)


def between(trial: Trial) -> Result:
    """Replace objects, each right after the night downloads it."""
    paths = paths_in(trial.files)
    goal = min(UPLOADS, len(paths))
    with bucket("uploads") as remote:
        remote.upload(paths)
        agent = _Agent(remote, _make_changed(trial, paths), goal)
        remote.on_get = agent.replace
        night = measure(command(remote.address, "--workers", "2"), (0, 1, 3))
        folder = remote.download(trial.folder / "uploads", [path.name for path in paths])
        faults = list(faults_in(folder, remote.receipts))
        tries = _tries(remote.receipts)
    lost = [name for name in agent.replaced if _new_text(name) not in _texts(folder / name)]
    faults += [f"{name}: the change of its agent is lost" for name in lost]
    if len(agent.replaced) < goal:
        faults.append(f"only {len(agent.replaced)} uploads were between download and upload")
    if tries[2] + tries[3] < len(agent.replaced):
        faults.append(f"only {tries[2] + tries[3]} files were retried")
    figures = {
        "uploads between the night's download and upload": len(agent.replaced),
        "uploads that were too late": agent.refused,
        "lost": len(lost),
        "files retried once": tries[2],
        "became": night.output["became"],
    }
    return Result(figures, faults)


def _tries(receipts: str) -> Counter[int]:
    archive = Archive(receipts)
    return Counter(
        receipt.tries for night in archive.nights() for receipt in archive.receipts(night)
    )


class _Agent:
    """Replaces each object once, unless the night was faster, until enough were replaced."""

    def __init__(self, remote: Bucket, changed: dict[str, Path], goal: int) -> None:
        self._objects = remote.objects
        self._changed = changed
        self._goal = goal
        self._versions = {entry.key: entry.version for entry in remote.objects.list()}
        self.replaced: list[str] = []
        self.refused = 0

    def replace(self, key: str) -> None:
        """Replace an object that the night downloads."""
        if len(self.replaced) == self._goal or key not in self._changed:
            return
        path = self._changed.pop(key)
        try:
            self._objects.replace(key, path, self._versions[key])
            self.replaced.append(key)
        except Changed:
            self.refused += 1


def _new_text(name: str) -> str:
    return f"The door code of {name.removesuffix('.db')} is {4000 + len(name)}."


def _make_changed(trial: Trial, paths: list[Path]) -> dict[str, Path]:
    """Create the files that agents upload, each with an additional memory."""
    folder = trial.folder / "to-upload"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path in paths:
        changed = Path(shutil.copy(path, folder))
        with open_writing(changed) as file:
            import_lines(file, [json.dumps({"content": _new_text(path.name)}).encode()], _NOW)
        checkpoint_log(changed)
    return {path.name: folder / path.name for path in paths}


def _texts(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as db:
        return {row[0] for row in db.execute("SELECT content FROM memories")}
