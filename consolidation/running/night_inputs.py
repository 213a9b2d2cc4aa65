"""The inputs of a night, which its stages take."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import Writer


@dataclass(frozen=True)
class NightInputs:
    """The inputs of a night: the file, the options, and its embedder and writer."""

    path: Path
    options: CycleOptions
    embedder: Embedder
    writer: Writer
    # The time of the whole night.
    now: datetime
    progress: Progress = field(default_factory=Progress)
    # Whether to return what a night would do, and to write nothing.
    dry_run: bool = False
    # How many runs share this machine.
    workers: int = 1
