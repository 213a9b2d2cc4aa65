"""The input of a measurement of a fleet's nights, and its result."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .commands import Measurement
from .files import Applied, fresh_copy, paths_in

RECEIPTS = ".slowwave-receipts"


@dataclass(frozen=True)
class Result:
    """The result of a measurement."""

    # By name, in the order of printing.
    figures: dict[str, Any] = field(default_factory=dict)
    # A sentence for each thing that is wrong.
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Trial:
    """The files that each measurement copies, and its working folder."""

    folder: Path
    # The number of nights per measurement; the fastest counts, since noise only adds time.
    repeats: int

    @property
    def files(self) -> Path:
        """The folder of the original files."""
        return self.folder / "files"

    @property
    def count(self) -> int:
        """The number of files."""
        return len(paths_in(self.files))

    def copy(self, name: str) -> Path:
        """Copy the files into a folder of this name."""
        return fresh_copy(self.files, self.folder / name)

    @property
    def expected(self) -> Applied:
        """The proposals that serial nights applied."""
        applied: Applied = json.loads((self.folder / "expected.json").read_text())
        return applied

    def expect(self, applied: Applied) -> None:
        """Save the proposals that serial nights applied."""
        (self.folder / "expected.json").write_text(json.dumps(applied))


def command(source: Path | str, *options: str) -> list[str]:
    """Return the command for a night of a fleet."""
    return ["fleet", "maintain", str(source), "--consolidate", "--json", *options]


def two_shards(source: Path | str, *options: str) -> list[list[str]]:
    """Return the commands for a night in two shards with one worker each."""
    return [command(source, "--workers", "1", "--shard", f"{at}/2", *options) for at in range(2)]


def count_outcomes(shards: Sequence[Measurement]) -> Counter[str]:
    """Return the number of files per outcome, over all shards."""
    counts: Counter[str] = Counter()
    for shard in shards:
        counts.update(shard.output.get("became", {}))
    return counts


def fastest(nights: Sequence[Sequence[Measurement]]) -> Measurement:
    """Return the night with the least processor time."""
    return min((night[0] for night in nights), key=lambda night: night.processor)
