"""What a way of doing a fleet's nights is given, and what is found of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .commands import Took
from .files import Applied, fresh_copy, paths_in

RECEIPTS = ".slowwave-receipts"


@dataclass(frozen=True)
class Found:
    """What one way came to."""

    # In the order in which they are told: what was counted or measured, by name.
    figures: dict[str, Any] = field(default_factory=dict)
    # In a sentence each; none if all is as it should be.
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Trial:
    """The files that each way begins with, and where it works."""

    folder: Path
    # How often each measurement is made: the smallest counts, since nothing makes one too small.
    repeats: int

    @property
    def files(self) -> Path:
        """Where the files lie as they were made."""
        return self.folder / "files"

    @property
    def count(self) -> int:
        """How many there are."""
        return len(paths_in(self.files))

    def copy(self, name: str) -> Path:
        """Copy the files for a way of this name."""
        return fresh_copy(self.files, self.folder / name)

    @property
    def expected(self) -> Applied:
        """What was applied where each file had its night by itself."""
        found: Applied = json.loads((self.folder / "expected.json").read_text())
        return found

    def expect(self, applied: Applied) -> None:
        """Keep what was applied where each file had its night by itself."""
        (self.folder / "expected.json").write_text(json.dumps(applied))


def command(source: Path | str, *options: str) -> list[str]:
    """Return the command of a fleet's night."""
    return ["fleet", "maintain", str(source), "--consolidate", "--json", *options]


def two_shards(source: Path | str, *options: str) -> list[list[str]]:
    """Return the commands of a night in two shards, a worker each."""
    return [command(source, "--workers", "1", "--shard", f"{at}/2", *options) for at in range(2)]


def became(took: Sequence[Took]) -> dict[str, int]:
    """Return what became of the files, over all shards."""
    sums: dict[str, int] = {}
    for item in took:
        for name, count in item.said.get("became", {}).items():
            sums[name] = sums.get(name, 0) + count
    return sums


def smallest(nights: Sequence[Sequence[Took]]) -> Took:
    """Return the night that took the least processor time."""
    return min((night[0] for night in nights), key=lambda took: took.processor)
