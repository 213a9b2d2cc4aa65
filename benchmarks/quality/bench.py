"""What every section is given: where the data is, the embedder, and somebody to tell."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .vectors import KeptVectors

ROOT = Path(__file__).resolve().parents[2]
QUALITY = ROOT / "fixtures" / "quality"

Json = dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """One run of the benchmark."""

    # The folder of the shared data, None where there is none.
    data: Path | None
    # Small samples: to see that everything runs, not to measure.
    quick: bool
    embedder: KeptVectors
    # Hears how far it is.
    say: Callable[[str], None]
    # litellm's name of a model and where it is served; None without one.
    model: str | None = None
    api_base: str | None = None

    def shared(self, name: str) -> list[Json] | None:
        """Return the records of a file of the shared data, None if it is not there."""
        if self.data is None or not (self.data / name).is_file():
            return None
        lines = (self.data / name).read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines if line]

    def fixture(self, name: str, table: str) -> list[Json]:
        """Return the rows of one of our own labeled files."""
        rows: list[Json] = tomllib.loads((QUALITY / name).read_text("utf-8"))[table]
        return rows
